//! Matrix products of a warp group, which only sm_90a has.

use core::arch::asm;

use profiler_device::{profile_region, profiled};
use profiler_kernel::thread;

kernels! {
    /// A product of a warp group: issued in one region, waited for in the next.
    /// `output` must be valid for four numbers a thread of one warp group; both descriptors must be
    /// those of matrices in shared memory (PTX ISA, "Matrix-Descriptor format").
    fn group_product(output: *mut [f32; 4], a: u64, b: u64) {
        let mut sums = [0.0_f32; 4];
        profile_region!("issue", pin = sums, {
            // SAFETY: the whole warp group comes here; the accumulators are left alone until the wait.
            unsafe { start(&mut sums, a, b) };
        });
        profile_region!("complete", pin = sums, {
            // SAFETY: the whole warp group comes here; memory is taken to change.
            unsafe { asm!("wgmma.wait_group.sync.aligned 0;", options(nostack)) };
        });
        // SAFETY: this thread's numbers.
        unsafe { *output.add(thread::thread_idx_x() as usize) = sums };
    }

    /// A product of a warp group whose sums the end stamp waits for.
    fn group_product_waited(output: *mut [f32; 4], a: u64, b: u64) {
        let sums = profile_region!("product", wait, {
            let mut sums = [0.0_f32; 4];
            // SAFETY: the whole warp group comes here; the accumulators are left alone until the wait.
            unsafe { start(&mut sums, a, b) };
            // SAFETY: as above; memory is taken to change.
            unsafe { asm!("wgmma.wait_group.sync.aligned 0;", options(nostack)) };
            sums
        });
        // SAFETY: this thread's numbers.
        unsafe { *output.add(thread::thread_idx_x() as usize) = sums };
    }
}

/// Starts one product and closes it into a group.
///
/// # Safety
///
/// All threads of a warp group come here, and the descriptors are those of matrices.
#[inline(always)]
unsafe fn start(sums: &mut [f32; 4], a: u64, b: u64) {
    let [s0, s1, s2, s3] = sums;
    // SAFETY: the caller's promise; memory is taken to change.
    unsafe {
        asm!(
            "wgmma.fence.sync.aligned;",
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
            "{{{s0}, {s1}, {s2}, {s3}}}, {a}, {b}, 1, 1, 1, 0, 0;",
            "wgmma.commit_group.sync.aligned;",
            s0 = inout(reg32) *s0,
            s1 = inout(reg32) *s1,
            s2 = inout(reg32) *s2,
            s3 = inout(reg32) *s3,
            a = in(reg64) a,
            b = in(reg64) b,
            options(nostack),
        );
    }
}
