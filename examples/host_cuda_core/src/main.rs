//! A program of NVIDIA's `cuda-core` whose kernel records.

use std::ffi::c_void;
use std::path::PathBuf;

use cuda_core::{CudaContext, DeviceBuffer, launch_kernel_on_stream};
use profiler_host::{Profiler, RawModule};

/// The quickstart's kernels, which the build script compiled.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/quickstart_kernels.ptx"));

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::args().next_back().unwrap_or_default());
    let out = if out.is_dir() { out } else { PathBuf::from("target/profiles") };
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let module = context.load_module_from_ptx_src(PTX)?;
    let vector_add = module.load_function("vector_add")?;

    // SAFETY: it is the handle of this module, which stays loaded until `module` is dropped, after the session's end.
    let recorded = unsafe { RawModule::new(module.cu_module().cast()) };
    let session = Profiler::builder().build()?.attach(&recorded, PTX)?;

    let (n, grid) = (1_u32 << 20, 64);
    let ones = DeviceBuffer::from_host(&stream, &vec![1.0_f32; n as usize])?;
    let sum = DeviceBuffer::<f32>::zeroed(&stream, n as usize)?;
    let block_sums = DeviceBuffer::<f32>::zeroed(&stream, grid as usize)?;
    let (mut a, mut b) = (ones.cu_deviceptr(), ones.cu_deviceptr());
    let (mut to, mut to_sums) = (sum.cu_deviceptr(), block_sums.cu_deviceptr());
    let mut count = n;
    let mut arguments: [*mut c_void; 5] = [
        (&raw mut a).cast(),
        (&raw mut b).cast(),
        (&raw mut to).cast(),
        (&raw mut to_sums).cast(),
        (&raw mut count).cast(),
    ];
    // SAFETY: these are the kernel's parameters, and the vectors have n numbers, the sums one for each block.
    unsafe {
        launch_kernel_on_stream(&vector_add, (grid, 1, 1), (256, 1, 1), 0, &stream, &mut arguments)?;
    }
    assert!(sum.to_host_vec(&stream)?.iter().all(|sum| *sum == 2.0));

    let trace = session.finish()?;
    println!("{}", trace.stats());
    std::fs::create_dir_all(&out)?;
    trace.write_perfetto(out.join("vector_add.pftrace"))?;
    Ok(())
}
