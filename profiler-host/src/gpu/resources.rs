//! What a kernel of a module of the user's own takes of an SM.

use cust::function::Function;
use profiler_trace::KernelResources;

use super::driver;
use crate::error::Error;
use crate::launch::Extent;

/// What a kernel takes of an SM, and how many of its blocks fit one, launched in blocks of this shape
/// and with so many bytes of dynamic shared memory. [`Backend::resources`](crate::Backend::resources)
/// says the same of a back end's kernels.
///
/// Annotations take registers, and a session, attached or not, changes nothing in that: the function
/// of the same name in a module that was compiled without annotations says what the kernel takes
/// without. [`ResourceEffect`](crate::ResourceEffect) compares the two.
///
/// ```no_run
/// # use cust::module::Module;
/// # fn say(module: &Module) -> Result<(), Box<dyn std::error::Error>> {
/// let resources = profiler_host::kernel_resources(&module.get_function("gemm")?, 256, 0)?;
/// println!("{} registers, {} blocks an SM", resources.registers, resources.blocks_per_sm);
/// # Ok(()) }
/// ```
///
/// No block fits where a launch would be refused: of more threads than the kernel's launch bounds or
/// the device allow, or with more dynamic shared memory than the function is allowed, which is what
/// 48 KiB leave beside its static shared memory, unless the program has raised it.
///
/// # Errors
///
/// What CUDA says.
pub fn kernel_resources(
    function: &Function<'_>,
    block: impl Into<Extent>,
    dynamic_shared_bytes: u32,
) -> Result<KernelResources, Error> {
    driver::resources(function.to_raw(), block.into(), dynamic_shared_bytes)
}
