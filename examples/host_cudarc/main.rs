//! A program of `cudarc` whose kernels record: an annotated one, and one that NVRTC compiles when the program runs.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

use std::path::PathBuf;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg, sys as driver,
};
use cudarc::nvrtc::{Ptx, compile_ptx, sys as nvrtc};
use profiler_host::Profiler;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The quickstart's kernels, which the build script compiled; empty where there was no compiler for the GPU.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/quickstart_kernels.ptx"));

const ROW_SUMS: &str = r#"
extern "C" __global__ void row_sums(const float *in, float *out, int columns) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += in[blockIdx.x * columns + i];
    part[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"#;

fn main() -> Result {
    let out = PathBuf::from(std::env::args().next_back().unwrap_or_default());
    let out = if out.is_dir() { out } else { PathBuf::from("target/profiles") };
    // SAFETY: it only looks for the library.
    let has_gpu = unsafe { driver::is_culib_present() } && CudaContext::device_count().is_ok();
    if PTX.is_empty() || !has_gpu {
        println!("no NVIDIA GPU, or no compiler for it when this was built");
        return Ok(());
    }
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    std::fs::create_dir_all(&out)?;

    let module = context.load_module(Ptx::from_src(PTX))?;
    let vector_add = module.load_function("vector_add")?;
    let session = Profiler::builder().build()?.attach(&vector_add, PTX)?;
    add(&stream, &vector_add)?;
    let trace = session.finish()?;
    println!("{}\n", trace.stats());
    trace.write_perfetto(out.join("vector_add.pftrace"))?;

    // SAFETY: as above.
    if !unsafe { nvrtc::is_culib_present() } {
        println!("no NVRTC, which compiles the other kernel");
        return Ok(());
    }
    // A kernel that nobody annotated: its loops and waits are to record.
    let compiled = compile_ptx(ROW_SUMS)?.to_src();
    let ptx = profiler_ptx::instrument(&compiled, &profiler_ptx::Options::default())?.text;
    let module = context.load_module(Ptx::from_src(&ptx))?;
    let row_sums = module.load_function("row_sums")?;
    let session = Profiler::builder().build()?.attach(&row_sums, &ptx)?;
    sum_rows(&stream, &row_sums)?;
    let trace = session.finish()?;
    println!("{}", trace.stats());
    trace.write_perfetto(out.join("row_sums.pftrace"))?;
    Ok(())
}

/// Adds two vectors by 64 blocks.
fn add(stream: &Arc<CudaStream>, kernel: &CudaFunction) -> Result {
    let n = 1_u32 << 20;
    let ones = stream.clone_htod(&vec![1.0_f32; n as usize])?;
    let mut sum = stream.alloc_zeros::<f32>(n as usize)?;
    let mut block_sums = stream.alloc_zeros::<f32>(64)?;
    let config = LaunchConfig { grid_dim: (64, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(kernel);
    launch.arg(&ones).arg(&ones).arg(&mut sum).arg(&mut block_sums).arg(&n);
    // SAFETY: these are the kernel's parameters, and the vectors have n numbers, the sums one for each block.
    unsafe { launch.launch(config) }?;
    assert!(stream.clone_dtoh(&sum)?.iter().all(|sum| *sum == 2.0));
    Ok(())
}

/// Sums 512 rows, a block for each.
fn sum_rows(stream: &Arc<CudaStream>, kernel: &CudaFunction) -> Result {
    let columns = 4096_i32;
    let ones = stream.clone_htod(&vec![1.0_f32; 512 * columns as usize])?;
    let mut sums = stream.alloc_zeros::<f32>(512)?;
    let config =
        LaunchConfig { grid_dim: (512, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(kernel);
    launch.arg(&ones).arg(&mut sums).arg(&columns);
    // SAFETY: these are the kernel's parameters, and there is a row and a sum for each block.
    unsafe { launch.launch(config) }?;
    assert!(stream.clone_dtoh(&sums)?.iter().all(|sum| *sum == 4096.0));
    Ok(())
}
