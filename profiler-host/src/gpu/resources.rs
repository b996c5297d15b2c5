//! The resources of a kernel of a module of the user's own.

use profiler_trace::KernelResources;

use super::driver;
use super::handles::AsFunction;
use crate::error::Error;
use crate::launch::Extent;

/// The resources that a kernel takes of an SM, and the number of its blocks that fit one, in launches with
/// blocks of this shape and so many bytes of dynamic shared memory.
/// [`Backend::resources`](crate::Backend::resources) gives the same for a back end's kernels.
///
/// Annotations take registers, with and without a session. To compare, ask also for the function of the
/// same name in a module compiled without annotations, and give both to
/// [`ResourceEffect`](crate::ResourceEffect).
///
/// ```no_run
/// # fn say(gemm: profiler_host::RawFunction) -> Result<(), profiler_host::Error> {
/// let resources = profiler_host::kernel_resources(&gemm, 256, 0)?;
/// println!("{} registers, {} blocks an SM", resources.registers, resources.blocks_per_sm);
/// # Ok(()) }
/// ```
///
/// No block fits if a launch would be refused: with more threads than the kernel's launch bounds or the
/// device allow, or with more dynamic shared memory than the function may have. That is the rest of 48 KiB
/// beside its static shared memory, unless the program has raised it.
///
/// # Errors
///
/// CUDA errors.
pub fn kernel_resources(
    function: &impl AsFunction,
    block: impl Into<Extent>,
    dynamic_shared_bytes: u32,
) -> Result<KernelResources, Error> {
    // SAFETY: it is used here alone.
    let function = unsafe { function.raw_function() };
    driver::resources(function.as_inner(), block.into(), dynamic_shared_bytes)
}
