use profiler_host::{Backend, BackendChoice, Profiler, launch};

/// Runs the kernel on the CPU emulator, with or without a GPU.
#[test]
fn rows_are_summed() -> Result<(), profiler_host::Error> {
    let (rows, columns) = (8, 512);
    let backend = Backend::choose(BackendChoice::Emulator, None)?;
    let matrix = backend.upload(&vec![1.0_f32; rows * columns as usize])?;
    let mut sums = backend.zeroed::<f32>(rows)?;
    let mut session = backend.session(&Profiler::builder().build()?)?;
    // SAFETY: the matrix has rows * columns numbers and sums one for each row.
    unsafe {
        launch!(session, kernels::sum_rows<<<1, 256>>>(matrix.as_ptr(), sums.as_mut_ptr(), columns))
    }?;
    let trace = session.finish()?;
    assert_eq!(sums.read()?, vec![columns as f32; rows]);
    assert_eq!(trace.lost(), 0);
    Ok(())
}
