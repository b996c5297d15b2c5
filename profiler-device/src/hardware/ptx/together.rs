//! What lanes ask to find out whether they do the same together, and the record that they then share.

use profiler_wire::RecordKind;
use profiler_wire::record::tag;

use super::super::place::Place;
use super::super::side;
use super::{reg32, reg64};

/// What is added to the tag of a [`RecordKind::RangeWatched`] to make it that of a [`RecordKind::RangeParted`],
/// and then, in 32 bits that wrap, that of a [`RecordKind::RangeShared`].
const PARTS: u32 = tag(RecordKind::RangeParted, 0) - tag(RecordKind::RangeWatched, 0);
const SHARES_OF_PARTED: u32 =
    tag(RecordKind::RangeShared, 0).wrapping_sub(tag(RecordKind::RangeParted, 0));

/// What is asked at a region's end: who is there, then, of a token's, whether all end the same one, and, where it
/// has a value, whose is the same.
pub(crate) const WHO_IS_THERE: u8 = 0;
pub(crate) const WHICH_REGION_ENDS: u8 = 1;
pub(crate) const WHOSE_VALUE_IS_ALIKE: u8 = 2;

ptx! {
    /// All lanes that the warp has, which `present` says, if they begin a region here together; otherwise none.
    vote fn beginning_together(present: u32 as reg32) out (began as reg32) -> u32 {
        "{{ .reg .pred %p_parted;",
        "activemask.b32 {began};",
        "setp.ne.u32 %p_parted, {began}, {present};",
        "@%p_parted mov.u32 {began}, 0; }}"
        => began
    }

    /// Whether all lanes that the warp has are here, and none has parted from others before: `present` is which
    /// there are, or 0 for a lane that has. All that are here get the same answer, as the mask lacks lanes that have.
    vote fn all_present(present: u32 as reg32) lateout (all as reg32) -> bool {
        "{{ .reg .pred %p_whole; .reg .b32 %r_whole;",
        "mov.u32 %r_whole, 0;",
        "setp.ne.u32 %p_whole, {present}, 0;",
        "@%p_whole activemask.b32 %r_whole;",
        "setp.eq.and.u32 %p_whole, %r_whole, {present}, %p_whole;",
        "selp.u32 {all}, 1, 0, %p_whole; }}"
        => all != 0
    }

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

    /// [`all_together`] of what may end in any order, by which no lane parts from others.
    ordered fn both_together(ending: u32 as reg32, began: u32 as reg32, present: u32 as reg32)
        lateout (both as reg32) -> bool
    {
        "{{ .reg .pred %p_began, %p_both;",
        "setp.eq.u32 %p_began, {began}, {present};",
        "setp.eq.and.u32 %p_both, {ending}, {present}, %p_began;",
        "selp.u32 {both}, 1, 0, %p_both; }}"
        => both != 0
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

    /// Whether all lanes that are here pass the same value. (What ptxas 13.0 knows to be the same in all lanes, as a
    /// reading of the clock that they took together, it asks nothing for: no instruction is left.)
    vote fn is_one_value(value: u64 as reg64) lateout (one as reg32) -> bool {
        "{{ .reg .pred %p_alike; .reg .b32 %r_active, %r_lanes;",
        "activemask.b32 %r_active;",
        "match.all.sync.b64 %r_lanes|%p_alike, {value}, %r_active;",
        "selp.u32 {one}, 1, 0, %p_alike; }}"
        => one != 0
    }

    /// Whether all lanes of `present` are here, `began` is that in each, and each passes the same two words
    /// ("Parallel Synchronization and Communication Instructions: activemask", "match.sync"). All that are here
    /// get the same answer.
    ///
    /// Nothing of it is predicated: ptxas 13.0 then leaves out what it knows to be the same in all lanes, where
    /// it makes several branches of a predicated `match`.
    vote fn are_one(first: u64 as reg64, second: u64 as reg64, began: u32 as reg32, present: u32 as reg32)
        lateout (all as reg32) -> bool
    {
        "{{ .reg .pred %p_first, %p_second, %p_began; .reg .b32 %r_active, %r_lanes;",
        "activemask.b32 %r_active;",
        "match.all.sync.b64 %r_lanes|%p_first, {first}, %r_active;",
        "match.all.sync.b64 %r_lanes|%p_second, {second}, %r_active;",
        "match.all.sync.b32 %r_lanes|%p_began, {began}, %r_active;",
        "setp.eq.and.u32 %p_first, %r_active, {present}, %p_first;",
        "setp.eq.and.u32 %p_second, %r_active, {present}, %p_second;",
        "setp.eq.and.u32 %p_began, {began}, {present}, %p_began;",
        "selp.u32 {all}, 1, 0, %p_began;",
        "selp.u32 {all}, {all}, 0, %p_first;",
        "selp.u32 {all}, {all}, 0, %p_second; }}"
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

    /// [`publish_unit_if`](super::publish_unit_if) of a region that lanes may share, which began at `begin`: a
    /// [`RecordKind::RangeShared`] where it is `shared`, otherwise a [`RecordKind::RangeParted`] where all lanes
    /// began it `together`, and of others a [`RecordKind::RangeWatched`], whose tag is given.
    ///
    /// The choices are written out, as LLVM branches for them, and ptxas then keeps the halves of the begin
    /// apart: to copy them, it waits for the clock behind each begin.
    ///
    /// # Safety
    ///
    /// As there.
    memory fn publish_range_if(
        condition: bool as reg32, shared: bool as reg32, together: bool as reg32, address: u64 as reg64,
        begin: u64 as reg64, tag: u32 as reg32, ticks: u64 as reg64
    ) lateout (stamp as reg32) const (parts = PARTS, shares = SHARES_OF_PARTED) -> u32 {
        "{{ .reg .pred %p_store, %p_shared, %p_together; .reg .b32 %r_unit<5>; .reg .b64 %rd_unit<2>;",
        "setp.ne.u32 %p_store, {condition}, 0;",
        "setp.ne.u32 %p_shared, {shared}, 0;",
        "setp.ne.u32 %p_together, {together}, 0;",
        "mov.b64 {{%r_unit0, %r_unit1}}, {begin};",
        "shl.b32 %r_unit2, %r_unit1, 24;",
        "selp.u32 %r_unit2, %r_unit1, %r_unit2, %p_together;",
        "mov.b64 %rd_unit0, {{%r_unit0, %r_unit2}};",
        "mov.b64 {{%r_unit3, %r_unit4}}, {ticks};",
        "shl.b32 %r_unit4, %r_unit4, 24;",
        "add.u32 %r_unit4, %r_unit4, {tag};",
        "@%p_together add.u32 %r_unit4, %r_unit4, {parts};",
        "@%p_shared add.u32 %r_unit4, %r_unit4, {shares};",
        "mov.b64 %rd_unit1, {{%r_unit3, %r_unit4}};",
        "@%p_store st.relaxed.sys.global.v2.b64 [{address}], {{%rd_unit0, %rd_unit1}};",
        "mov.b32 {stamp}, %r_unit4; }}"
        => stamp
    }
}
