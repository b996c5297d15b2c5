use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;
use profiler_host::Profiler;

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // SAFETY: it only looks for the driver's library.
    let has_gpu = unsafe { sys::is_culib_present() } && CudaContext::device_count().is_ok();
    if PTX.is_empty() || !has_gpu {
        println!(
            "no NVIDIA GPU, or no compiler for GPUs when this was built; `cargo test` needs neither"
        );
        return Ok(());
    }
    let (rows, columns) = (2112, 4096_u32);
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_src(PTX))?;
    let sum_rows = module.load_function("sum_rows")?;
    let matrix = stream.clone_htod(&vec![1.0_f32; (rows * columns) as usize])?;
    let mut sums = stream.alloc_zeros::<f32>(rows as usize)?;

    // Of cudarc a kernel stands for its module. Every launch until `finish` records.
    let mut session = Profiler::builder().build()?.attach(&sum_rows, PTX)?;
    // A `.capture` holds everything that was recorded; `profiler` reads it later, anywhere.
    session.export_on_drop("sum_rows.capture")?;
    // Eight warps a block, one row each.
    let config =
        LaunchConfig { grid_dim: (rows / 8, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(&sum_rows);
    launch.arg(&matrix).arg(&mut sums).arg(&columns);
    // SAFETY: the matrix has rows * columns numbers and sums one for each row.
    unsafe { launch.launch(config) }?;
    let trace = session.finish()?;

    assert!(stream.clone_dtoh(&sums)?.iter().all(|&sum| sum == columns as f32));
    trace.write_perfetto("sum_rows.pftrace")?;
    println!("{}", trace.stats());
    Ok(())
}
