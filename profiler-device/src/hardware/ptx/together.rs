//! What lanes ask to find out whether they do the same together, and the record that they then share.

use core::arch::asm;

use super::{active_mask, convergence_guard};

/// Where a region begins: nothing here.
#[derive(Clone, Copy)]
pub(crate) struct Place;

impl Place {
    /// That of a site in the caller.
    #[inline(always)]
    pub(crate) const fn of(_site: u32) -> Self {
        Self
    }

    /// Which lanes begin the region together.
    #[inline(always)]
    pub(crate) fn active_mask(self) -> u32 {
        active_mask()
    }
}

/// Which lanes end a region here that they began with all others: `began` is which lanes were active when
/// this lane began it, `present` which there are, or 0 for a lane that parted before. What a lane for which
/// the two differ gets is nothing.
///
/// The others ask for the mask of the lanes in which the predicate holds ("Parallel Synchronization and
/// Communication Instructions: activemask"), so that all of them see the same one.
#[inline(always)]
pub(crate) fn ending_together(began: u32, present: u32, _begin: Place) -> u32 {
    convergence_guard();
    let mask: u32;
    // SAFETY: reads which lanes are active. Not `nomem`, so that it stays where it is written.
    unsafe {
        asm!(
            "{{ .reg .pred %p_began;",
            "setp.eq.u32 %p_began, {began}, {present};",
            "@%p_began activemask.b32 {mask}; }}",
            began = in(reg32) began,
            present = in(reg32) present,
            mask = out(reg32) mask,
            options(nostack, preserves_flags),
        );
    }
    mask
}

/// What follows from [`ending_together`]: whether all lanes began the region together and end it so, and
/// what `present` is from now on: 0 where this lane parts from others with which it began.
///
/// The answer is the same for all lanes that are here: the mask of a lane that did not ask does not count,
/// as its predicate is the third operand of the comparison.
#[inline(always)]
pub(crate) fn all_together(ending: u32, began: u32, mut present: u32) -> (bool, u32) {
    let both: u32;
    // SAFETY: arithmetic alone. Not `pure`, so that it stays behind the stamp.
    unsafe {
        asm!(
            "{{ .reg .pred %p_began, %p_both, %p_parts;",
            "setp.eq.u32 %p_began, {began}, {present};",
            "setp.eq.and.u32 %p_both|%p_parts, {ending}, {present}, %p_began;",
            "@%p_parts mov.u32 {present}, 0;",
            "selp.u32 {both}, 1, 0, %p_both; }}",
            ending = in(reg32) ending,
            began = in(reg32) began,
            present = inlateout(reg32) present,
            both = lateout(reg32) both,
            options(nostack, preserves_flags),
        );
    }
    (both != 0, present)
}

/// One more than `count` where `condition` holds: one instruction, of which LLVM and ptxas make three.
#[inline(always)]
pub(crate) fn count_if(condition: bool, mut count: u32) -> u32 {
    // SAFETY: arithmetic alone.
    unsafe {
        asm!(
            "{{ .reg .pred %p_counts; setp.ne.u32 %p_counts, {condition}, 0;",
            "@%p_counts add.u32 {count}, {count}, 1; }}",
            condition = in(reg32) u32::from(condition),
            count = inlateout(reg32) count,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    count
}

/// Whether all lanes of `present` are here and pass the same value
/// ("Parallel Synchronization and Communication Instructions: activemask", "match.sync").
#[inline(always)]
pub(crate) fn are_alike(value: u64, present: u32, _begin: Place) -> bool {
    convergence_guard();
    let all: u32;
    // SAFETY: all lanes that the mask names come here.
    unsafe {
        asm!(
            "{{ .reg .pred %p_alike; .reg .b32 %r_active, %r_lanes;",
            "activemask.b32 %r_active;",
            "match.all.sync.b64 %r_lanes|%p_alike, {value}, %r_active;",
            "setp.eq.and.u32 %p_alike, %r_active, {present}, %p_alike;",
            "selp.u32 {all}, 1, 0, %p_alike; }}",
            value = in(reg64) value,
            present = in(reg32) present,
            all = lateout(reg32) all,
            options(nostack, preserves_flags),
        );
    }
    all != 0
}

/// [`super::store_unit_if`] of a range, whose kind is that of a shared one where `shared` holds.
///
/// # Safety
///
/// As there.
#[inline(always)]
pub(crate) unsafe fn store_range_if(
    condition: bool,
    shared: bool,
    address: u64,
    data: u64,
    tag: u32,
    ticks: u64,
) -> u32 {
    let stamp: u32;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "{{ .reg .pred %p_store, %p_shared; .reg .b32 %r_stamp<5>;",
            "setp.ne.u32 %p_store, {condition}, 0;",
            "setp.ne.u32 %p_shared, {shared}, 0;",
            "mov.b64 {{%r_stamp0, %r_stamp1}}, {data};",
            "mov.b64 {{%r_stamp2, %r_stamp3}}, {ticks};",
            "shl.b32 %r_stamp3, %r_stamp3, 24;",
            "add.u32 %r_stamp4, %r_stamp3, {tag};",
            // Added to the stamp and not chosen beforehand: one instruction in place of three.
            "@%p_shared add.u32 %r_stamp4, %r_stamp4, {shares};",
            "@%p_store st.global.v4.b32 [{address}], {{%r_stamp0, %r_stamp1, %r_stamp2, %r_stamp4}};",
            "mov.b32 {stamp}, %r_stamp4; }}",
            condition = in(reg32) u32::from(condition),
            shared = in(reg32) u32::from(shared),
            shares = const profiler_wire::record::SHARES,
            address = in(reg64) address,
            data = in(reg64) data,
            tag = in(reg32) tag,
            ticks = in(reg64) ticks,
            stamp = lateout(reg32) stamp,
            options(nostack, preserves_flags),
        );
    }
    stamp
}
