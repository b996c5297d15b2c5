//! The parts of a record: a stamp, an address, a store.

use super::super::side;
use super::{reg32, reg64};

/// Functions that read a clock once two words are there.
///
/// The predicate holds whatever they are (no magnitude is less than a negated one, and a comparison with a NaN
/// that is "or unordered" holds too), but ptxas 13.0 does not know that, also where it knows that a word is small
/// or zero. An integer comparison does not do: of a `u8` it knows how that ends.
macro_rules! stamps_after {
    ($($name:ident: $register:literal;)+) => {
        ptx! {$(
            ordered fn $name(first: u32 as reg32, second: u32 as reg32) out (ticks as reg64) -> u64 {
                "{{ .reg .pred %p_there; .reg .f32 %f_word<2>;",
                "mov.b32 %f_word0, {first};",
                "abs.f32 %f_word0, %f_word0;",
                "mov.b32 %f_word1, {second};",
                "abs.f32 %f_word1, %f_word1;",
                "neg.f32 %f_word1, %f_word1;",
                "setp.leu.f32 %p_there, %f_word1, %f_word0;",
                "mov.u64 {ticks}, 0;",
                concat!("@%p_there mov.u64 {ticks}, %", $register, "; }}")
                => ticks
            }
        )+}
    };
}

stamps_after! {
    clock64_after: "clock64";
    globaltimer_after: "globaltimer";
}

ptx! {
    /// Lane 0's `value`, in all lanes of `mask`. It waits for them, so that they need not arrive
    /// together, but all of them and lane 0 among them must arrive ("shfl.sync").
    collective fn broadcast(mask: u32 as reg32, value: u32 as reg32) out (received as reg32) -> u32 {
        "shfl.sync.idx.b32 {received}, {value}, 0, 31, {mask};" => received
    }

    /// A meeting of the warp's lanes, with nothing to wait for. ptxas then knows that no warp is diverged in the
    /// code that follows, and keeps values that all lanes share in uniform registers (docs/how-it-costs.md,
    /// "Entry"). Lanes that a warp does not have, or that have ended, are not waited for.
    collective fn converge() {
        "bar.warp.sync 0xffffffff;"
    }

    /// The 4-byte field of the descriptor, which does not change while a kernel runs, at a byte offset.
    pure fn constant_u32<OFFSET>() out (value as reg32) const (offset = OFFSET) -> u32 {
        concat!("ld.const.u32 {value}, [", profiler_wire::descriptor_symbol!(), "+{offset}];") => value
    }

    /// The 8-byte field.
    pure fn constant_u64<OFFSET>() out (value as reg64) const (offset = OFFSET) -> u64 {
        concat!("ld.const.u64 {value}, [", profiler_wire::descriptor_symbol!(), "+{offset}];") => value
    }

    /// Stores a unit where `condition` holds: data, and the stamp of tag and ticks as
    /// [`profiler_wire::record::stamp`] puts it together; gives the stamp's upper half. Predicated, and not
    /// branched around.
    ///
    /// # Safety
    ///
    /// Where `condition` holds, `address` must be that of 16 bytes of global memory, aligned to 16, that no
    /// other thread writes.
    memory fn store_unit_if(
        condition: bool as reg32, address: u64 as reg64, data: u64 as reg64, tag: u32 as reg32,
        ticks: u64 as reg64
    ) lateout (stamp as reg32) -> u32 {
        "{{ .reg .pred %p_store; .reg .b32 %r_stamp<5>;",
        "setp.ne.u32 %p_store, {condition}, 0;",
        "mov.b64 {{%r_stamp0, %r_stamp1}}, {data};",
        "mov.b64 {{%r_stamp2, %r_stamp3}}, {ticks};",
        // Shift and sum, and not a bitwise or: ptxas makes one LEA of them.
        "shl.b32 %r_stamp3, %r_stamp3, 24;",
        "add.u32 %r_stamp4, %r_stamp3, {tag};",
        "@%p_store st.global.v4.b32 [{address}], {{%r_stamp0, %r_stamp1, %r_stamp2, %r_stamp4}};",
        "mov.b32 {stamp}, %r_stamp4; }}"
        => stamp
    }

    /// As [`store_unit_if`], of a region and its value: the data is the begin's stamp with the value in place of
    /// a tag.
    ///
    /// # Safety
    ///
    /// As there.
    memory fn store_with_value_if(
        condition: bool as reg32, address: u64 as reg64, begin: u64 as reg64, value: u32 as reg32,
        tag: u32 as reg32, ticks: u64 as reg64
    ) lateout (stamp as reg32) -> u32 {
        "{{ .reg .pred %p_store; .reg .b32 %r_stamp<6>;",
        "setp.ne.u32 %p_store, {condition}, 0;",
        "mov.b64 {{%r_stamp0, %r_stamp1}}, {begin};",
        "mov.b64 {{%r_stamp2, %r_stamp3}}, {ticks};",
        "shl.b32 %r_stamp1, %r_stamp1, 24;",
        "add.u32 %r_stamp5, %r_stamp1, {value};",
        "shl.b32 %r_stamp3, %r_stamp3, 24;",
        "add.u32 %r_stamp4, %r_stamp3, {tag};",
        "@%p_store st.global.v4.b32 [{address}], {{%r_stamp0, %r_stamp5, %r_stamp2, %r_stamp4}};",
        "mov.b32 {stamp}, %r_stamp4; }}"
        => stamp
    }

    /// The lower half of a unit's address, `buffer | (cursor & mask)`: the byte in a ring that is aligned to
    /// its size. 0xf8 is the truth table of a | (b & c).
    ///
    /// The instruction is written out for the order of its operands, which ptxas leaves as it stands. On an
    /// H200 `buffer, mask, cursor` takes 3.6 cycles more at 32 warps (docs/how-it-costs.md, "Up to eight
    /// warps"). Not `pure`, so that it stays after the stamp.
    placed fn unit_low(buffer: u32 as reg32, cursor: u32 as reg32, mask: u32 as reg32)
        out (low as reg32) -> u32
    {
        "lop3.b32 {low}, {buffer}, {cursor}, {mask}, 0xf8;" => low
    }

    /// The address whose lower half is `low` and whose upper one is that of `buffer`.
    ///
    /// Nothing of `kept` comes into it (0xf0 is the truth table of the first of three operands), but
    /// ptxas leaves the instruction as it stands: the register of `kept` is taken up to here, and the
    /// upper half is made in this place.
    pure fn unit_address(buffer: u64 as reg64, low: u32 as reg32, kept: u32 as reg32)
        lateout (address as reg64) -> u64
    {
        "{{ .reg .b32 %r_half<3>;",
        "mov.b64 {{%r_half0, %r_half1}}, {buffer};",
        "lop3.b32 %r_half2, %r_half1, {kept}, {kept}, 0xf0;",
        "mov.b64 {address}, {{{low}, %r_half2}}; }}"
        => address
    }

    /// One 16-byte store.
    ///
    /// # Safety
    ///
    /// `address` must be that of 16 bytes of global memory, aligned to 16, that no other thread writes.
    memory fn store_unit(address: u64 as reg64, first: u64 as reg64, second: u64 as reg64) {
        "st.global.v2.u64 [{address}], {{{first}, {second}}};"
    }

    /// One 8-byte store.
    ///
    /// # Safety
    ///
    /// `address` must be that of 8 bytes of global memory, aligned to 8, that no other thread writes.
    memory fn store_word(address: u64 as reg64, word: u64 as reg64) {
        "st.global.u64 [{address}], {word};"
    }

    /// [`store_unit_if`] to memory that the host reads meanwhile: relaxed, at the scope of the system.
    ///
    /// The memory consistency model takes a vector for its elements, stored in no given order, each of
    /// 64 bits whole ("Vector Data-types"). ptxas makes one 16-byte store of them, the very instruction
    /// that it makes of one scalar of type `.b128` (a test of the SASS compares the two), which would need
    /// PTX 8.4 of all modules. The host need not rely on that: see `profiler_wire::header`.
    ///
    /// # Safety
    ///
    /// As for [`store_unit_if`]; and the host reads it by whole words only.
    memory fn publish_unit_if(
        condition: bool as reg32, address: u64 as reg64, data: u64 as reg64, tag: u32 as reg32,
        ticks: u64 as reg64
    ) lateout (stamp as reg32) -> u32 {
        "{{ .reg .pred %p_store; .reg .b32 %r_stamp<3>; .reg .b64 %rd_unit;",
        "setp.ne.u32 %p_store, {condition}, 0;",
        "mov.b64 {{%r_stamp0, %r_stamp1}}, {ticks};",
        "shl.b32 %r_stamp1, %r_stamp1, 24;",
        "add.u32 %r_stamp2, %r_stamp1, {tag};",
        "mov.b64 %rd_unit, {{%r_stamp0, %r_stamp2}};",
        "@%p_store st.relaxed.sys.global.v2.b64 [{address}], {{{data}, %rd_unit}};",
        "mov.b32 {stamp}, %r_stamp2; }}"
        => stamp
    }

    /// [`store_unit`] to memory that the host reads meanwhile: see [`publish_unit_if`].
    ///
    /// # Safety
    ///
    /// As for [`store_unit`]; and the host reads it by whole words only.
    memory fn publish_unit(address: u64 as reg64, first: u64 as reg64, second: u64 as reg64) {
        "st.relaxed.sys.global.v2.b64 [{address}], {{{first}, {second}}};"
    }

    /// [`store_word`] to memory that the host reads meanwhile.
    ///
    /// # Safety
    ///
    /// As for [`store_word`]; and the host reads it as one word only.
    memory fn publish_word(address: u64 as reg64, word: u64 as reg64) {
        "st.relaxed.sys.global.b64 [{address}], {word};"
    }

    /// Whoever on the host sees what this thread publishes after this sees what it published before it.
    ordered fn order_before_host() {
        "fence.acq_rel.sys;"
    }

    /// A relaxed atomic add at GPU scope; the value before it.
    ///
    /// Relaxed does: adds of one scope to one word are morally strong to each other, so that none is lost
    /// and none gets another's number (PTX ISA, "Memory Consistency Model": "Atomicity"), and by neither
    /// claims nor losses is anything published. The host reads counters after the end of the kernel.
    ///
    /// # Safety
    ///
    /// `address` must be that of a counter of 8 bytes in global memory, aligned to 8.
    memory fn atomic_add_u64(address: u64 as reg64, value: u64 as reg64) out (before as reg64) -> u64 {
        "atom.relaxed.gpu.global.add.u64 {before}, [{address}], {value};" => before
    }
}
