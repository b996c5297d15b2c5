//! The intrinsics of profiler-device and profiler-kernel, called by kernels whose results a test
//! compares on both back ends.
//!
//! Each kernel writes some numbers a thread, those of thread 0 of the grid first.
//!
//! # Safety
//!
//! The pointers that a kernel gets must be valid for what it reads and writes: one number a thread of the grid, where
//! it says nothing else.
#![allow(clippy::missing_safety_doc, reason = "it is said above, for all kernels")]

use profiler_device::{
    hardware, profile_anchor, profile_names, profile_region, profiled, region_end, region_start,
};
use profiler_kernel::shared::{dynamic_shared, dynamic_shared_bytes};
use profiler_kernel::{atomic, copy, mbarrier, shared_array, thread, warp};

use crate::write;

shared_array!(static HANDED: [u32; 32]);
shared_array!(static SUMS: [u32; 64]);
shared_array!(static BYTES: [u8; 32], align = 1);
shared_array!(static HALVES: [u16; 32]);
shared_array!(static SIGNED: [i32; 32]);
shared_array!(static FLOATS: [f32; 32]);
shared_array!(static WIDE: [u64; 32]);
shared_array!(static WIDE_SIGNED: [i64; 32]);
shared_array!(static DOUBLES: [f64; 32]);
shared_array!(static COPIED: [u32; 128], align = 16);
shared_array!(static PHASES: [u64; 1]);

/// Numbers that a thread of [`registers`] writes.
pub const REGISTERS: usize = 28;
/// Numbers that a thread of [`clocks`] writes.
pub const CLOCKS: usize = 6;
/// Numbers that a thread of [`warps`] writes.
pub const WARPS: usize = 10;
/// Numbers that a thread of [`blocks`] writes.
pub const BLOCKS: usize = 12;
/// Numbers that a thread of [`pins`] writes.
pub const PINS: usize = 15;

fn thread_of_grid() -> usize {
    let [x, y, z] = hardware::block_index();
    let [width, height, _] = hardware::grid_dim();
    let block = (z * height + y) * width + x;
    let [x, y, z] = hardware::block_dim();
    (block * x * y * z + thread::thread_rank()) as usize
}

/// What the special registers say, by both crates.
#[profiled]
pub unsafe extern "ptx-kernel" fn registers(output: *mut u32) {
    let [tx, ty, tz] = hardware::thread_index();
    let [bx, by, bz] = hardware::block_index();
    let [tw, th, td] = hardware::block_dim();
    let [bw, bh, bd] = hardware::grid_dim();
    let of_device = [tx, ty, tz, bx, by, bz, tw, th, td, bw, bh, bd];
    let of_kernel = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
    ];
    let mut numbers = [0; REGISTERS];
    let mut at = 0;
    while at < 12 {
        (numbers[at], numbers[12 + at]) = (of_device[at], of_kernel[at]);
        at += 1;
    }
    numbers[24] = hardware::lane_id();
    numbers[25] = warp::lane_id();
    numbers[26] = hardware::warp_index();
    numbers[27] = warp::warp_id();
    // SAFETY: the caller's.
    unsafe { write(output, thread_of_grid(), numbers) };
}

/// Two readings of each clock, the SM and the launch.
#[profiled]
pub unsafe extern "ptx-kernel" fn clocks(output: *mut u64) {
    let (clock, timer) = (hardware::clock64(), hardware::globaltimer());
    let mut later = hardware::globaltimer();
    while later == timer {
        later = hardware::globaltimer();
    }
    let numbers = [
        clock,
        hardware::clock64(),
        timer,
        later,
        u64::from(hardware::sm_id()),
        hardware::grid_id(),
    ];
    // SAFETY: the caller's.
    unsafe { write(output, thread_of_grid(), numbers) };
}

/// Elections, votes and shuffles; blocks are whole warps.
#[profiled]
pub unsafe extern "ptx-kernel" fn warps(output: *mut u32) {
    let lane = warp::lane_id();
    let value = 3 * lane + 1;
    let mut numbers = [0; WARPS];
    // SAFETY: all lanes come to each of these calls.
    unsafe {
        numbers[0] = warp::shuffle(warp::ALL_LANES, value, 7);
        numbers[1] = warp::shuffle_xor(warp::ALL_LANES, value, 9);
        numbers[2] = warp::shuffle_down(warp::ALL_LANES, value, 4);
        numbers[3] = warp::ballot(warp::ALL_LANES, lane.is_multiple_of(3));
        numbers[4] = u32::from(warp::any(warp::ALL_LANES, lane == 9))
            + 2 * u32::from(warp::all(warp::ALL_LANES, lane != 9));
        numbers[5] = warp::reduce(value, |left, right| left + right);
        warp::sync_warp(warp::ALL_LANES);
    }
    if lane < 8 {
        numbers[6] = hardware::active_mask();
        numbers[7] = warp::active_mask();
        numbers[8] = u32::from(hardware::elect());
    } else {
        numbers[6] = hardware::active_mask();
        numbers[7] = warp::active_mask();
        numbers[8] = 2 * u32::from(hardware::elect());
    }
    // SAFETY: all lanes come here.
    unsafe { warp::sync_warp(warp::ALL_LANES) };
    numbers[9] = lane;
    // SAFETY: the caller's.
    unsafe { write(output, thread_of_grid(), numbers) };
}

/// Barriers and shared memory; blocks have two warps, and four bytes of dynamic shared memory a
/// thread.
#[profiled]
pub unsafe extern "ptx-kernel" fn blocks(output: *mut u32) {
    const FULL: u32 = 1;
    let (rank, lane) = (thread::thread_rank(), warp::lane_id());
    let (own, next) = (lane as usize, ((lane + 1) % 32) as usize);
    let mut numbers = [0; BLOCKS];
    // SAFETY: all threads come to `sync_threads`. `HANDED` is written by the first warp before it
    // arrives, and read by the second after the barrier. Everything else has an element for each
    // thread, or is of the first warp alone, and is read after a barrier.
    unsafe {
        SUMS.write(rank as usize, rank * rank);
        let dynamic = dynamic_shared().cast::<u32>();
        dynamic.add(rank as usize).write_volatile(rank + 100);
        if rank < 32 {
            BYTES.write(own, lane as u8);
            HALVES.write(own, 1000 + lane as u16);
            SIGNED.write(own, -(lane as i32));
            FLOATS.write(own, lane as f32 + 0.5);
            WIDE.write(own, u64::from(lane) << 40);
            WIDE_SIGNED.write(own, -(i64::from(lane) << 40));
            DOUBLES.write(own, f64::from(lane) + 0.25);
        }
        thread::sync_threads();
        let other = 63 - rank as usize;
        numbers[0] = SUMS.read(other);
        numbers[1] = SUMS.as_mut_ptr().cast::<u32>().add(other).read_volatile();
        numbers[2] = dynamic.add(other).read_volatile();
        numbers[3] = dynamic_shared_bytes();
        numbers[4] = BYTES.read(next).into();
        numbers[5] = HALVES.read(next).into();
        numbers[6] = SIGNED.read(next).unsigned_abs();
        numbers[7] = (FLOATS.read(next) * 2.0) as u32;
        numbers[8] = (WIDE.read(next) >> 40) as u32;
        numbers[9] = (WIDE_SIGNED.read(next).unsigned_abs() >> 40) as u32;
        numbers[10] = (DOUBLES.read(next) * 4.0) as u32;
        if rank < 32 {
            HANDED.write(own, 7 * lane);
            thread::block_fence();
            thread::barrier_arrive(FULL, 64);
        } else {
            thread::barrier_sync(FULL, 64);
            numbers[11] = HANDED.read(next);
        }
        write(output, thread_of_grid(), numbers);
    }
}

/// Tickets for all threads, and a number that block 0 hands to all others.
/// `output` must be valid for two numbers a thread, and `counter` for three, all 0. All blocks must
/// be on the GPU at once.
#[profiled]
pub unsafe extern "ptx-kernel" fn counters(output: *mut u32, counter: *mut u32) {
    // SAFETY: the counter and the flag are only changed by atomics; the number between them is
    // written before the flag is released, and read after it was acquired.
    unsafe {
        let ticket = atomic::atomic_add_u32(counter, 1);
        let (number, flag) = (counter.add(1), counter.add(2));
        if thread_of_grid() == 0 {
            number.write_volatile(4711);
            thread::device_fence();
            atomic::store_release_u32(flag, 1);
        }
        atomic::spin_until(|| atomic::load_acquire_u32(flag) == 1);
        write(output, thread_of_grid(), [ticket, number.read_volatile()]);
    }
}

/// Values of every type that can be pinned, which become others within a region.
/// `input` must be valid for one number a thread, and `output` for [`PINS`].
#[profiled]
pub unsafe extern "ptx-kernel" fn pins(input: *const f32, output: *mut u64) {
    // SAFETY: the caller's.
    unsafe {
        let x = *input.add(thread_of_grid());
        let (mut from, mut to) = (input, output);
        let (mut a, mut b) = (x as u8, -x as i8);
        let (mut c, mut d) = (x as u16, -x as i16);
        let (mut e, mut f, mut g) = (x as u32, -x as i32, x);
        let (mut h, mut i, mut j) = (x as u64, -x as i64, f64::from(x));
        let (mut k, mut l) = (x as usize, [-x as isize; 2]);
        profile_region!(
            "all",
            value = -x as i16,
            pin = (from, to, a, b, c, d, e, f, g, h, i, j, k, l),
            {
                a = a.wrapping_mul(200);
                b = b.wrapping_mul(100);
                c = c.wrapping_mul(60_000);
                d = d.wrapping_mul(30_000);
                e = e.wrapping_mul(4_000_000_000);
                f = f.wrapping_mul(2_000_000_000);
                g *= 0.1;
                h = h.wrapping_mul(u64::MAX - 5);
                i = i.wrapping_mul(i64::MAX - 5);
                j *= 0.1;
                k = k.wrapping_mul(usize::MAX - 7);
                l = [l[1].wrapping_mul(isize::MAX - 7), l[0]];
                (from, to) = (from.wrapping_add(1), to.wrapping_add(thread_of_grid()));
            }
        );
        let numbers = [
            a.into(),
            b as u64,
            c.into(),
            d as u64,
            e.into(),
            f as u64,
            g.to_bits().into(),
            h,
            i as u64,
            j.to_bits(),
            k as u64,
            l[0] as u64,
            l[1] as u64,
            from.offset_from(input) as u64,
            to.offset_from(output) as u64,
        ];
        write(output, thread_of_grid(), numbers);
    }
}

/// Copies of 16 bytes by one warp, waited for as a group and by an mbarrier.
/// `source` must be valid for 128 numbers and aligned to 16 bytes, `output` for two numbers a thread.
#[profiled]
pub unsafe extern "ptx-kernel" fn copies(source: *const u32, output: *mut u32) {
    let lane = warp::lane_id() as usize;
    let barrier = PHASES.as_mut_ptr().cast::<u64>();
    // SAFETY: one warp. Each lane copies 16 bytes of its own, and reads those of another one only
    // once all have been waited for; nobody copies while it is read. The mbarrier is initialised
    // before it is used, and all 32 lanes arrive.
    unsafe {
        let target = COPIED.as_mut_ptr().cast::<u32>();
        copy::cp_async_16(target.add(4 * lane).cast(), source.add(4 * lane).cast());
        copy::cp_async_commit();
        copy::cp_async_wait::<0>();
        thread::sync_threads();
        let first = target.add(127 - lane).read_volatile();
        if lane == 0 {
            mbarrier::init(barrier, 64);
        }
        thread::sync_threads();
        copy::cp_async_16(target.add(4 * lane).cast(), source.add(4 * (31 - lane)).cast());
        copy::cp_async_arrive(barrier);
        mbarrier::arrive(barrier);
        mbarrier::wait_parity_or_trap(barrier, 0, 1_000_000_000);
        let second = target.add(127 - lane).read_volatile();
        thread::sync_threads();
        if lane == 0 {
            mbarrier::invalidate(barrier);
        }
        write(output, lane, [first, second]);
    }
}

/// Waits for an arrival that never comes, for a microsecond.
/// `output` must be valid for one number; there must be one thread.
#[profiled]
pub unsafe extern "ptx-kernel" fn waits_in_vain(output: *mut u32) {
    let barrier = PHASES.as_mut_ptr().cast::<u64>();
    // SAFETY: one thread; the mbarrier is initialised first.
    unsafe {
        mbarrier::init(barrier, 1);
        mbarrier::wait_parity_or_trap(barrier, 0, 1000);
        output.write_volatile(1);
    }
}

/// Every form of a record: a region that waits for a load, one with a value, and an anchor.
/// `input` must be valid for one number a thread, and `output` too.
#[profiled(by = thread)]
pub unsafe extern "ptx-kernel" fn records(input: *const f32, output: *mut u32) {
    // SAFETY: the caller's.
    unsafe {
        let x = profile_region!("load", wait, { input.add(thread_of_grid()).read_volatile() });
        profile_anchor!();
        profile_region!("store", value = x, {
            output.add(thread_of_grid()).write_volatile(x.to_bits());
        });
    }
}

/// [`records`] by the global timer.
#[profiled(by = thread, clock = globaltimer)]
pub unsafe extern "ptx-kernel" fn timed_records(input: *const f32, output: *mut u32) {
    // SAFETY: the caller's.
    unsafe {
        let x = profile_region!("load", wait, { input.add(thread_of_grid()).read_volatile() });
        profile_region!("store", value = x, {
            output.add(thread_of_grid()).write_volatile(x.to_bits());
        });
    }
}

profile_names!(LISTED = ["listed", "listed too"]);

/// Regions with values of types of up to 16 bits, in every form that a record of one has; and tokens by thread.
/// `input` must be valid for one number a thread; blocks have a warp.
#[profiled]
pub unsafe extern "ptx-kernel" fn values(input: *const i32) {
    // SAFETY: the caller's; the whole warp is here.
    let (x, of_lane_0) = unsafe {
        let x = input.add(thread_of_grid()).read_volatile();
        (x, warp::shuffle(u32::MAX, x, 0))
    };
    profile_region!("u8", value = x as u8, {});
    profile_region!("i8", value = x as i8, {});
    profile_region!("u16", value = x as u16, {});
    profile_region!("i16", value = x as i16, {});
    profile_region!("bool", value = x < 0, {});
    let ended = region_start!("ended");
    region_end!(ended, value = x as i8);
    let moved = if x < 0 { region_start!("moved") } else { region_start!("moved", track = 7) };
    region_end!(moved, value = x as u16);
    let _ = profile_region!("waits", wait, value = x as i16, { x.wrapping_mul(3) });
    profile_region!("tracked", track = 3, value = x as u16, {});
    profile_region!(LISTED[x & 1], value = x as u8, {});
    profile_region!("elected", by = elected, value = of_lane_0 as i16, {});
    profile_region!("each", by = thread, value = x as i16, {});
    profile_region!("alike", by = thread, value = of_lane_0 as i16, {});
    let all = region_start!("all", by = thread);
    let first = region_start!("first", by = thread);
    let second = region_start!("second", by = thread);
    region_end!(all, value = of_lane_0 as i16);
    // Neighbours end other regions than each other at one place.
    let (now, then) = if x & 1 == 0 { (first, second) } else { (second, first) };
    region_end!(now);
    region_end!(then);
}
