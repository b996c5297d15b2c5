//! Kernels whose parameters or names a launch might get wrong.

use profiler_device::{Recorder, profile_region, profiled, recorder};
use profiler_kernel::thread;

/// Takes references and slices. Each thread adds one element of `input` to one of `output`, and doubles
/// one of `raw`; thread 0 counts.
///
/// # Safety
///
/// `raw` must be valid, and each slice has an element for each thread.
#[profiled]
#[allow(improper_ctypes_definitions, reason = "Rust launches it")]
pub unsafe extern "ptx-kernel" fn of_slices(
    output: &mut [u32],
    count: &mut u32,
    input: &[u32],
    raw: *mut [u32],
) {
    let index = thread::index_1d() as usize;
    profile_region!("add", { output[index] += input[index] });
    // SAFETY: the caller's promise; no other thread has this element.
    unsafe { *raw.cast::<u32>().add(index) *= 2 };
    if index == 0 {
        *count += 1;
    }
}

macro_rules! many {
    ($($parameter:ident)*) => {
        /// Has 32 parameters, and writes their sum, each times the one before.
        ///
        /// # Safety
        ///
        /// `output` must be valid for a number.
        #[profiled]
        #[allow(clippy::too_many_arguments, reason = "so many are the test")]
        pub unsafe extern "ptx-kernel" fn of_many(output: *mut u64, $($parameter: u32),*) {
            let mut sum = 0;
            $(sum = sum * 2 + u64::from($parameter);)*
            // SAFETY: the caller's promise.
            unsafe { *output = sum };
        }
    };
}
many! {
    p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16
    p17 p18 p19 p20 p21 p22 p23 p24 p25 p26 p27 p28 p29 p30 p31
}

/// Multiplies `N` numbers.
#[profiled]
unsafe fn scale<T, const N: usize>(prof: Recorder<'_>, data: *mut T, factor: T)
where
    T: Copy + core::ops::Mul<Output = T>,
{
    for index in 0..N {
        profile_region!("scale one");
        // SAFETY: the caller gives a pointer to N numbers.
        unsafe { *data.add(index) = *data.add(index) * factor };
    }
}

macro_rules! scale_kernels {
    ($($name:ident: $type:ty, $n:literal;)*) => {$(
        /// An instance of a generic function.
        ///
        /// # Safety
        ///
        /// `data` must be valid for as many numbers.
        #[profiled]
        pub unsafe extern "ptx-kernel" fn $name(data: *mut $type, factor: $type) {
            // SAFETY: the caller's promise.
            unsafe { scale::<$type, $n>(recorder!(), data, factor) }
        }
    )*};
}
scale_kernels! {
    scale_f32_4: f32, 4;
    scale_u64_2: u64, 2;
}
