use profiler_host::{Backend, BackendChoice, Profiler, include_ptx, launch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = Backend::choose(BackendChoice::Auto, include_ptx!("kernels"))?;
    println!("running on {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    let (rows, columns) = if backend.is_gpu() { (2112, 4096) } else { (16, 512) };
    let matrix = backend.upload(&vec![1.0_f32; (rows * columns) as usize])?;
    let mut sums = backend.zeroed::<f32>(rows as usize)?;
    // Eight warps a block, one row each.
    let (grid, block) = (rows / 8, 256);

    let profiler = Profiler::builder().for_grid(grid, block, 1).build()?;
    let mut session = backend.session(&profiler)?;
    // A `.capture` holds everything that was recorded; `profiler` reads it later, anywhere.
    session.export_on_drop("sum_rows.capture")?;
    // SAFETY: the matrix has rows * columns numbers and sums one for each row.
    unsafe {
        launch!(session, kernels::sum_rows<<<grid, block>>>(matrix.as_ptr(), sums.as_mut_ptr(), columns))
    }?;
    let trace = session.finish()?;

    assert!(sums.read()?.iter().all(|&sum| sum == columns as f32));
    trace.write_perfetto("sum_rows.pftrace")?;
    println!("{}", trace.stats());
    Ok(())
}
