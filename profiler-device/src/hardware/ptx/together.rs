//! What lanes ask to find out whether they do the same together, and the record that they then share.

use super::super::place::Place;
use super::super::side;
use super::{reg32, reg64};

/// What is asked at a region's end: who is there, and then, where it has a value, whose is the same.
pub(crate) const WHO_IS_THERE: u8 = 0;
pub(crate) const WHOSE_VALUE_IS_ALIKE: u8 = 1;

ptx! {
    /// Which lanes end a region here that they began with all others: `began` is which lanes were active
    /// when this lane began it, `present` which there are, or 0 for a lane that parted before. What a lane
    /// for which the two differ gets is nothing.
    ///
    /// The others ask for the mask of the lanes in which the predicate holds ("Parallel Synchronization and
    /// Communication Instructions: activemask"), so that all of them see the same one.
    vote fn ending_together(began: u32 as reg32, present: u32 as reg32) out (mask as reg32) -> u32 {
        "{{ .reg .pred %p_began;",
        "setp.eq.u32 %p_began, {began}, {present};",
        "@%p_began activemask.b32 {mask}; }}"
        => mask
    }

    /// What follows from [`ending_together`]: whether all lanes began the region together and end it so,
    /// and what `present` is from now on: 0 where this lane parts from others with which it began.
    ///
    /// The answer is the same for all lanes that are here: the mask of a lane that did not ask does not
    /// count, as its predicate is the third operand of the comparison. Not `pure`, so that it stays behind
    /// the stamp.
    ordered fn all_together(ending: u32 as reg32, began: u32 as reg32)
        through (present as reg32) lateout (both as reg32) -> (bool, u32)
    {
        "{{ .reg .pred %p_began, %p_both, %p_parts;",
        "setp.eq.u32 %p_began, {began}, {present};",
        "setp.eq.and.u32 %p_both|%p_parts, {ending}, {present}, %p_began;",
        "@%p_parts mov.u32 {present}, 0;",
        "selp.u32 {both}, 1, 0, %p_both; }}"
        => (both != 0, present)
    }

    /// One more than `count` where `condition` holds: one instruction, of which LLVM and ptxas make three.
    pure fn count_if(condition: bool as reg32) through (count as reg32) -> u32 {
        "{{ .reg .pred %p_counts; setp.ne.u32 %p_counts, {condition}, 0;",
        "@%p_counts add.u32 {count}, {count}, 1; }}"
        => count
    }

    /// Whether all lanes of `present` are here and pass the same value
    /// ("Parallel Synchronization and Communication Instructions: activemask", "match.sync").
    vote fn are_alike(value: u64 as reg64, present: u32 as reg32) lateout (all as reg32) -> bool {
        "{{ .reg .pred %p_alike; .reg .b32 %r_active, %r_lanes;",
        "activemask.b32 %r_active;",
        "match.all.sync.b64 %r_lanes|%p_alike, {value}, %r_active;",
        "setp.eq.and.u32 %p_alike, %r_active, {present}, %p_alike;",
        "selp.u32 {all}, 1, 0, %p_alike; }}"
        => all != 0
    }

    /// [`store_unit_if`](super::store_unit_if) of a range, whose kind is that of a shared one where `shared`
    /// holds.
    ///
    /// # Safety
    ///
    /// As there.
    memory fn store_range_if(
        condition: bool as reg32, shared: bool as reg32, address: u64 as reg64, data: u64 as reg64,
        tag: u32 as reg32, ticks: u64 as reg64
    ) lateout (stamp as reg32) const (shares = profiler_wire::record::SHARES) -> u32 {
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
        "mov.b32 {stamp}, %r_stamp4; }}"
        => stamp
    }
}
