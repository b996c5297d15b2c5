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

/// A kernel's twin, by which launches are type-checked: an `unsafe fn` of up to 32 parameters, none of
/// which must be dropped. Used by [`launch!`](crate::launch).
#[diagnostic::on_unimplemented(
    message = "`launch!` takes kernels of at most 32 parameters: give some of them as one, a \
               `#[repr(C)]` structure",
    label = "more than 32 parameters"
)]
pub trait Kernel: Copy {
    /// The parameters, as a tuple.
    type Arguments;

    /// Calls the twin with a copy of the arguments, bit by bit, as each thread of a GPU has one.
    ///
    /// # Safety
    ///
    /// The arguments must be what the kernel asks for; all threads have the same, references too. If the
    /// kernel asks the emulator something, the caller must be a thread of the emulator.
    unsafe fn call(self, arguments: &Self::Arguments);

    /// Gives pointers to the arguments, in order.
    fn with_pointers<R>(
        arguments: &mut Self::Arguments,
        use_them: impl FnOnce(&mut [*mut c_void]) -> R,
    ) -> R;
}

/// Holds what is asked of each argument's type against one of them.
const fn check_argument<T>() {
    assert!(
        size_of::<T>() > 0,
        "a kernel takes no argument without a size: none is a parameter in PTX, and it would shift those after it"
    );
    assert!(
        !std::mem::needs_drop::<T>(),
        "each thread of a kernel has a copy of its arguments: give it a reference or a pointer to what must be dropped"
    );
}

macro_rules! kernels {
    ($($name:ident)*) => {
        impl<$($name),*> Kernel for unsafe fn($($name),*) {
            type Arguments = ($($name,)*);

            // SAFETY: callers see to what the trait's function asks for.
            #[allow(non_snake_case, reason = "the arguments are named like their types")]
            unsafe fn call(self, ($($name,)*): &Self::Arguments) {
                $(const { check_argument::<$name>() };)*
                // SAFETY: the arguments are there to be read, and nothing of them is dropped, here or
                // elsewhere; the caller vouches for what the kernel does with a copy.
                unsafe { self($(std::ptr::read($name)),*) }
            }

            #[allow(non_snake_case, reason = "the arguments are named like their types")]
            fn with_pointers<R>(
                ($($name,)*): &mut Self::Arguments,
                use_them: impl FnOnce(&mut [*mut c_void]) -> R,
            ) -> R {
                $(const { check_argument::<$name>() };)*
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

kernels_of_all_lengths! {
    A B C D E F G H I J K L M N O P A1 B1 C1 D1 E1 F1 G1 H1 I1 J1 K1 L1 M1 N1 O1 P1
}

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
/// # Parameters
///
/// Up to 32, of any type that has a size and need not be dropped. A slice is one parameter, pointer and
/// length: `*mut [T]` takes what `ptr::slice_from_raw_parts_mut` makes of a [`Buffer`](crate::Buffer)'s
/// pointer, and `&mut [T]` or `&[T]` what `slice::from_raw_parts_mut` does. (rustc warns in the device
/// crate that slices have no equivalent in C; `#[allow(improper_ctypes_definitions)]` on the kernel says
/// that its launches are Rust's.) All threads have the same reference, also if it is `&mut`: each
/// must keep to its own elements, as with a pointer.
///
/// ```
/// # use profiler_host::{Backend, BackendChoice, launch};
/// mod kernels {
///     pub unsafe fn double(data: &mut [u32]) {
///         let [thread, ..] = profiler_emulator::thread_index();
///         data[thread as usize] *= 2;
///     }
/// }
///
/// # fn main() -> Result<(), profiler_host::Error> {
/// # let backend = Backend::choose(BackendChoice::Emulator, None)?;
/// let mut data = backend.zeroed::<u32>(32)?;
/// data.write(&[21; 32])?;
/// let (pointer, length) = (data.as_mut_ptr(), data.len());
/// // SAFETY: the buffer lives until the kernel has ended, of which each thread has one element.
/// unsafe {
///     launch!(backend, kernels::double<<<1, 32>>>(std::slice::from_raw_parts_mut(pointer, length)))
/// }?;
/// assert_eq!(data.read()?, [42; 32]);
/// # Ok(()) }
/// ```
///
/// A kernel that was to own something would drop it once in each thread, so it does not compile:
///
/// ```compile_fail
/// # use profiler_host::{Backend, BackendChoice, launch};
/// unsafe fn kernel(_text: String) {}
///
/// # fn main() -> Result<(), profiler_host::Error> {
/// # let backend = Backend::choose(BackendChoice::Emulator, None)?;
/// // SAFETY: it touches nothing.
/// unsafe { launch!(backend, kernel<<<1, 32>>>(String::new())) }?;
/// # Ok(()) }
/// ```
///
/// # Generic kernels
///
/// rustc gives a generic kernel no entry that a host could find in the PTX. Make the work a generic
/// device function, and a kernel of each instance by a macro:
///
/// ```
/// # use profiler_host::{Backend, BackendChoice, launch};
/// mod kernels {
///     use profiler_device::{Recorder, profile_region, profiled, recorder};
///
///     #[profiled]
///     unsafe fn scale<T: Copy + core::ops::Mul<Output = T>, const N: usize>(
///         prof: Recorder<'_>,
///         data: *mut T,
///         factor: T,
///     ) {
///         for index in 0..N {
///             profile_region!("scale one");
///             // SAFETY: the caller gives a pointer to N elements.
///             unsafe { *data.add(index) = *data.add(index) * factor };
///         }
///     }
///
///     macro_rules! scale_kernels {
///         ($($name:ident: $type:ty, $n:literal;)*) => {$(
///             /// # Safety
///             ///
///             /// `data` must be valid for as many elements.
///             #[profiled]
///             pub unsafe extern "ptx-kernel" fn $name(data: *mut $type, factor: $type) {
///                 // SAFETY: the caller's promise.
///                 unsafe { scale::<$type, $n>(recorder!(), data, factor) }
///             }
///         )*};
///     }
///     scale_kernels! {
///         scale_f32_4: f32, 4;
///         scale_u64_2: u64, 2;
///     }
/// }
///
/// # fn main() -> Result<(), profiler_host::Error> {
/// # let backend = Backend::choose(BackendChoice::Emulator, None)?;
/// let mut data = backend.zeroed::<u64>(2)?;
/// data.write(&[3, 5])?;
/// // SAFETY: one thread has both elements.
/// unsafe { launch!(backend, kernels::scale_u64_2<<<1, 1>>>(data.as_mut_ptr(), 2)) }?;
/// assert_eq!(data.read()?, [6, 10]);
/// # Ok(()) }
/// ```
///
/// # What it does
///
/// On the GPU the module's function with the name of the path's last segment is launched, in the
/// backend's stream; the call does not wait for it. On the emulator the twin has run when the call
/// returns.
///
/// # Safety
///
/// The expansion calls an unsafe function, so that it stands in an `unsafe` block, which vouches
/// for what the kernel asks for: pointers that are valid for what it reads and writes with this
/// shape and until the kernel has ended, no data races.
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
    (@path $target:tt [$($path:tt)*] > <<< $($rest:tt)*) => {
        ::core::compile_error!(
            "a generic kernel has no entry in the PTX that a launch could name: make the work a generic \
             device function, and a kernel of each instance by a macro, as \"Generic kernels\" in the \
             documentation of `launch!` shows, and launch that kernel"
        )
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
