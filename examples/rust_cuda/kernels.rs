//! Profiled kernels for Rust-CUDA's compiler. Here they are type-checked for the host, against
//! `cuda_std`; `docs/examples/rust_cuda.md` has the host program and what it takes to run them.
#![cfg_attr(target_os = "cuda", no_std)]
#![allow(
    improper_ctypes_definitions,
    reason = "Rust-CUDA passes a slice as two parameters, pointer and length, and documents it"
)]

use cuda_std::{kernel, thread};
use profiler_device::{profile_region, profiled};

/// `sum[i] = a[i] + b[i]`. `#[kernel]` stands above `#[profiled]`.
///
/// # Safety
///
/// `sum` must be valid for as many numbers as `a` and `b` have.
#[kernel]
#[profiled]
pub unsafe fn add(a: &[f32], b: &[f32], sum: *mut f32) {
    let index = thread::index_1d() as usize;
    if index < a.len() && index < b.len() {
        let (x, y) = profile_region!("load", wait, { (a[index], b[index]) });
        // SAFETY: the index is below the length of a.
        profile_region!("store", { unsafe { *sum.add(index) = x + y } });
    }
}

/// `data[i] *= factor`. `#[profiled]` stands above `#[kernel]`: the order makes no difference.
///
/// # Safety
///
/// `data` must be valid for `length` numbers.
#[profiled(by = elected)]
#[kernel]
pub unsafe fn scale(data: *mut f32, length: usize, factor: f32) {
    let index = thread::index_1d() as usize;
    if index < length {
        profile_region!("scale", value = 4, unit = "bytes");
        // SAFETY: the index is below the length.
        unsafe { *data.add(index) *= factor };
    }
}

#[cfg(test)]
mod tests {
    type Add = unsafe extern "C" fn(&[f32], &[f32], *mut f32);
    type Scale = unsafe extern "C" fn(*mut f32, usize, f32);

    /// What `#[kernel]` makes of a function, `#[profiled]` leaves alone, above it as below.
    #[test]
    fn both_orders_of_the_attributes_give_a_kernel() {
        let (add, scale): (Add, Scale) = (super::add, super::scale);
        assert_ne!(add as usize, scale as usize);
    }
}
