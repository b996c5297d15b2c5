//! Launches that are type-checked against the kernel's twin and run on either back end.

use std::ffi::c_void;

/// Blocks of a grid or threads of a block, in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(pub [u32; 3]);

impl From<u32> for Extent {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Extent {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Extent {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Extent {
    fn from(extent: [u32; 3]) -> Self {
        Self(extent)
    }
}

#[cfg(feature = "cuda")]
impl From<cust::function::GridSize> for Extent {
    fn from(grid: cust::function::GridSize) -> Self {
        Self([grid.x, grid.y, grid.z])
    }
}

#[cfg(feature = "cuda")]
impl From<cust::function::BlockSize> for Extent {
    fn from(block: cust::function::BlockSize) -> Self {
        Self([block.x, block.y, block.z])
    }
}

/// Shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid.
    pub grid: Extent,
    /// Threads of a block.
    pub block: Extent,
    /// Bytes of dynamic shared memory of a block.
    pub dynamic_shared_bytes: u32,
}

impl Shape {
    /// Puts a shape together from anything that is an extent.
    #[must_use]
    pub fn new(
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
        dynamic_shared_bytes: u32,
    ) -> Self {
        Self { grid: grid.into(), block: block.into(), dynamic_shared_bytes }
    }
}

/// A kernel's twin, by which launches are type-checked: an `unsafe fn` of up to 16 parameters that
/// can be copied. Used by [`launch!`](crate::launch).
pub trait Kernel: Copy {
    /// The parameters, as a tuple.
    type Arguments: Copy;

    /// Calls the twin.
    ///
    /// # Safety
    ///
    /// What the kernel asks of its arguments; and where it asks the emulator something, a thread
    /// of the emulator must be running.
    unsafe fn call(self, arguments: Self::Arguments);

    /// Gives pointers to the arguments, in order.
    fn with_pointers<R>(
        arguments: &mut Self::Arguments,
        use_them: impl FnOnce(&mut [*mut c_void]) -> R,
    ) -> R;
}

macro_rules! kernels {
    ($($name:ident)*) => {
        impl<$($name: Copy),*> Kernel for unsafe fn($($name),*) {
            type Arguments = ($($name,)*);

            // SAFETY: callers see to what the trait's function asks for.
            #[allow(non_snake_case, reason = "the arguments are named like their types")]
            unsafe fn call(self, ($($name,)*): Self::Arguments) {
                // SAFETY: the caller vouches for the arguments.
                unsafe { self($($name),*) }
            }

            #[allow(non_snake_case, reason = "the arguments are named like their types")]
            fn with_pointers<R>(
                ($($name,)*): &mut Self::Arguments,
                use_them: impl FnOnce(&mut [*mut c_void]) -> R,
            ) -> R {
                // A parameter without a size is none in PTX, and would shift those behind it.
                $(const { assert!(size_of::<$name>() > 0, "kernels take no empty arguments") };)*
                use_them(&mut [$((&raw mut *$name).cast::<c_void>()),*])
            }
        }
    };
}

macro_rules! kernels_of_all_lengths {
    () => { kernels!(); };
    ($first:ident $($rest:ident)*) => {
        kernels!($first $($rest)*);
        kernels_of_all_lengths!($($rest)*);
    };
}

kernels_of_all_lengths!(A B C D E F G H I J K L M N O P);

/// Launches a kernel: `launch!(target, path::kernel<<<grid, block, dynamic_shared_bytes>>>(..))`.
///
/// `target` is a [`Session`](crate::Session), or a [`Backend`](crate::Backend) for a run without
/// profiling. `grid` and `block` are a `u32`, or a tuple or array of them ([`Extent`]); the third
/// number may be left out. The arguments are checked against the kernel's twin on both back ends.
///
/// `cust` has a macro of the same name that calls itself by its bare name, so that it needs that
/// name for itself: in a file that uses both, `use cust::launch;` and write `profiler_host::launch!`
/// in full.
///
/// On the GPU the module's function with the name of the path's last segment is launched, in the
/// backend's stream; the call does not wait for it. On the emulator the twin has run when the call
/// returns.
///
/// # Safety
///
/// The expansion calls an unsafe function, so that it stands in an `unsafe` block, which vouches
/// for what the kernel asks for: pointers that are valid for what it reads and writes with this
/// shape, no data races.
///
/// # Errors
///
/// No such kernel, a shape that the device refuses, and on the emulator a panic, deadlock or
/// livelock in the kernel.
///
/// ```
/// use profiler_host::{Backend, BackendChoice, launch};
///
/// mod kernels {
///     pub unsafe fn fill(out: *mut u32, value: u32) {
///         let [thread, ..] = profiler_emulator::thread_index();
///         unsafe { *out.add(thread as usize) = value };
///     }
/// }
///
/// # fn main() -> Result<(), profiler_host::Error> {
/// let backend = Backend::choose(BackendChoice::Emulator, None)?;
/// let mut out = backend.zeroed::<u32>(64)?;
/// // SAFETY: 64 threads each write one of 64 elements.
/// unsafe { launch!(backend, kernels::fill<<<1, 64>>>(out.as_mut_ptr(), 7)) }?;
/// assert_eq!(out.read()?, [7; 64]);
/// # Ok(()) }
/// ```
#[macro_export]
macro_rules! launch {
    ($target:expr, $($launch:tt)*) => {
        $crate::__launch!(@path [$target] [] $($launch)*)
    };
}

/// The steps of [`launch!`]: reads the kernel's path, then what stands between the brackets.
#[doc(hidden)]
#[macro_export]
macro_rules! __launch {
    (@path $target:tt [$($path:tt)*] $last:ident <<< $grid:expr, $($rest:tt)*) => {
        $crate::__launch!(@block $target [$($path)* $last] $last [$grid] [] $($rest)*)
    };
    (@path $target:tt [$($path:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__launch!(@path $target [$($path)* $next] $($rest)*)
    };
    (@block $target:tt $path:tt $last:ident $grid:tt [$($block:tt)+] >>> $arguments:tt) => {
        $crate::__launch!(@call $target $path $last $grid [$($block)+] [0] $arguments)
    };
    (@block $target:tt $path:tt $last:ident $grid:tt [$($block:tt)+] , $($rest:tt)*) => {
        $crate::__launch!(@shared $target $path $last $grid [$($block)+] [] $($rest)*)
    };
    (@block $target:tt $path:tt $last:ident $grid:tt [$($block:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__launch!(@block $target $path $last $grid [$($block)* $next] $($rest)*)
    };
    (@shared $target:tt $path:tt $last:ident $grid:tt $block:tt [$($s:tt)+] >>> $arguments:tt) => {
        $crate::__launch!(@call $target $path $last $grid $block [$($s)+] $arguments)
    };
    (@shared $target:tt $path:tt $last:ident $grid:tt $block:tt [$($s:tt)*] $n:tt $($rest:tt)*) => {
        $crate::__launch!(@shared $target $path $last $grid $block [$($s)* $n] $($rest)*)
    };
    (@path $target:tt [$($path:tt)*]) => {
        $crate::__launch!(@help)
    };
    (@block $target:tt $path:tt $last:ident $grid:tt [$($block:tt)*]) => {
        $crate::__launch!(@help)
    };
    (@shared $target:tt $path:tt $last:ident $grid:tt $block:tt [$($shared:tt)*]) => {
        $crate::__launch!(@help)
    };
    (@help) => {
        ::core::compile_error!(
            "a launch is `launch!(session, path::to::kernel<<<grid, block>>>(arguments, ..))`, or \
             `<<<grid, block, bytes of shared memory>>>`"
        )
    };
    (@call [$target:expr] [$($path:tt)+] $last:ident [$grid:expr] [$block:expr] [$shared:expr]
        ($($argument:expr),* $(,)?)) => {
        $target.launch_kernel(
            $crate::plain_name(::core::stringify!($last)),
            $crate::Shape::new($grid, $block, $shared),
            {
                // A coercion rather than a cast: it makes the arguments' types those of the kernel.
                let kernel: unsafe fn($($crate::__infer!($argument)),*) = $($path)+;
                kernel
            },
            ($($argument,)*),
        )
    };
}

/// A kernel's name as its module has it, without what makes an identifier of a keyword.
///
/// ```
/// assert_eq!(profiler_host::plain_name("r#match"), "match");
/// ```
#[doc(hidden)]
#[must_use]
pub fn plain_name(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// The type of an argument, left to the compiler.
#[doc(hidden)]
#[macro_export]
macro_rules! __infer {
    ($argument:expr) => {
        _
    };
}

/// The PTX that the build script wrote as `NAME.ptx`; `None` if that is empty, because no compiler
/// for the GPU was found.
#[macro_export]
macro_rules! include_ptx {
    ($name:literal) => {
        $crate::non_empty(::core::include_str!(::core::concat!(
            ::core::env!("OUT_DIR"),
            "/",
            $name,
            ".ptx"
        )))
    };
}

/// The text, unless there is none.
#[doc(hidden)]
#[must_use]
pub const fn non_empty(text: &'static str) -> Option<&'static str> {
    if text.is_empty() { None } else { Some(text) }
}
