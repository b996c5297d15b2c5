//! A profiled kernel in PTX, written by hand from the wire contract, so that the tests of sessions on
//! the GPU need no compiler for it.

use std::fmt::Write;

use profiler_wire::descriptor::{CLAIM_STRIDE, FLAG_CLAIMED, SHARDS_PER_SM, offset};
use profiler_wire::header::{EXIT_MARK, MAGIC};
use profiler_wire::record::tag;
use profiler_wire::site::{ID_OFFSET, SiteEntry, SiteKind};
use profiler_wire::symbol::{DESCRIPTOR, SITE_STATIC};
use profiler_wire::{RecordKind, WIRE_VERSION};

const KERNEL_SITE: u32 = 1;
const REGION_SITE: u32 = 2;

const fn entry(kind: SiteKind, name: &'static str, line: u32) -> SiteEntry<'static> {
    SiteEntry::new(kind, name, "record.ptx", "tests", line, 1)
}

/// A site entry in PTX. The name must have six letters, so that all entries have one length.
fn site(kind: SiteKind, name: &'static str, id: u32) -> String {
    const LENGTH: usize = entry(SiteKind::Region, "region", 1).encoded_len();
    let mut bytes = entry(kind, name, id).encode::<LENGTH>();
    bytes[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&id.to_le_bytes());
    let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
    let length = bytes.len();
    format!(
        ".visible .global .align 1 .b8 _R{SITE_STATIC}{id}[{length}] = {{{}}};\n",
        list.join(", ")
    )
}

/// The module. Its kernel `record(out: *mut u32, regions: u32)` takes blocks of one warp; each adds
/// one to its element of `out` and, where a session is attached, records that many regions. The
/// kernel `fail()` traps.
pub(crate) fn ptx() -> String {
    let field = |offset: u32| format!("{DESCRIPTOR}+{offset}");
    let mut text = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    writeln!(text, ".visible .const .align 16 .b8 {DESCRIPTOR}[128];").expect("to a string");
    text += &site(SiteKind::Kernel, "record", KERNEL_SITE);
    text += &site(SiteKind::Region, "region", REGION_SITE);
    write!(
        text,
        r"
.visible .entry record(.param .u64 p_out, .param .u32 p_regions) {{
    .reg .pred p, q;
    .reg .b32 a, b, c, sm, block, slot, count, n, regions;
    .reg .b64 x, y, z, t, buffer, header, unit;
    mov.u32 a, %tid.x;
    setp.ne.u32 p, a, 0;
    @p ret;
    mov.u32 block, %ctaid.x;
    ld.param.u64 x, [p_out];
    cvta.to.global.u64 x, x;
    mul.wide.u32 y, block, 4;
    add.u64 x, x, y;
    atom.global.add.u32 a, [x], 1;
    ld.const.u32 a, [{version}];
    setp.ne.u32 p, a, {WIRE_VERSION};
    @p ret;
    ld.param.u32 regions, [p_regions];
    ld.const.u32 count, [{slot_count}];
    mov.u32 sm, %smid;
    ld.const.u32 a, [{flags}];
    and.b32 a, a, {FLAG_CLAIMED};
    setp.ne.u32 p, a, 0;
    @p bra CLAIM;
    ld.const.u32 a, [{slot_base}];
    add.u32 slot, a, block;
    bra FOUND;
CLAIM:
    ld.const.u32 b, [{sm_count}];
    sub.u32 a, b, 1;
    min.u32 n, sm, a;
    mul.lo.u32 b, b, {SHARDS_PER_SM};
    mov.u32 a, %warpid;
    rem.u32 a, a, {SHARDS_PER_SM};
    mad.lo.u32 n, n, {SHARDS_PER_SM}, a;
    ld.const.u64 x, [{claims}];
    ld.const.u32 a, [{slots_per_shard}];
    cvt.u64.u32 t, a;
    mul.lo.u32 slot, n, a;
    setp.eq.u32 p, a, 0;
    @p bra POOL;
    mul.wide.u32 y, n, {CLAIM_STRIDE};
    add.u64 y, x, y;
    atom.global.add.u64 z, [y], 1;
    cvt.u32.u64 a, z;
    add.u32 slot, slot, a;
    setp.lt.u64 p, z, t;
    @p bra FOUND;
POOL:
    mul.wide.u32 y, b, {CLAIM_STRIDE};
    add.u64 y, x, y;
    atom.global.add.u64 z, [y], 1;
    cvt.u32.u64 a, z;
    ld.const.u32 slot, [{pool_start}];
    add.u32 slot, slot, a;
FOUND:
    setp.lt.u32 p, slot, count;
    @p bra RECORD;
    ld.const.u64 x, [{lost}];
    atom.global.add.u64 y, [x], 1;
    cvt.u64.u32 z, regions;
    atom.global.add.u64 y, [x+8], z;
    ret;
RECORD:
    ld.const.u64 header, [{headers}];
    mul.wide.u32 y, slot, 128;
    add.u64 header, header, y;
    mov.u64 x, %clock64;
    mov.u64 y, %globaltimer;
    st.global.v2.u64 [header], {{x, y}};
    mov.u64 x, {identity};
    mov.u64 y, %gridid;
    st.global.v2.u64 [header+16], {{x, y}};
    cvt.u64.u32 x, block;
    mov.u32 a, %nctaid.x;
    cvt.u64.u32 y, a;
    or.b64 y, y, {one_by_one};
    st.global.v2.u64 [header+32], {{x, y}};
    cvt.u64.u32 x, sm;
    shl.b64 x, x, 40;
    mov.u32 a, %ntid.x;
    or.b32 a, a, {shape};
    cvt.u64.u32 y, a;
    or.b64 x, x, y;
    mov.u64 y, 0;
    st.global.v2.u64 [header+48], {{x, y}};
    ld.const.u64 buffer, [{records}];
    ld.const.u32 a, [{shift}];
    cvt.u64.u32 y, slot;
    shl.b64 y, y, a;
    add.u64 buffer, buffer, y;
    mov.u32 n, 0;
LOOP:
    setp.ge.u32 p, n, regions;
    @p bra DONE;
    ld.const.u32 a, [{mask}];
    shl.b32 c, n, 4;
    and.b32 a, c, a;
    ld.const.u32 b, [{limit}];
    setp.lt.u32 q, c, b;
    cvt.u64.u32 unit, a;
    add.u64 unit, buffer, unit;
    mov.u64 x, %clock64;
    mov.u64 y, %clock64;
    mov.b64 {{a, b}}, y;
    shl.b32 b, b, 24;
    add.u32 b, b, {tag};
    mov.b64 y, {{a, b}};
    @q st.global.v2.u64 [unit], {{x, y}};
    add.u32 n, n, 1;
    bra LOOP;
DONE:
    mov.u64 x, %clock64;
    mov.u64 y, %globaltimer;
    st.global.v2.u64 [header+64], {{x, y}};
    cvt.u64.u32 x, regions;
    mov.u64 y, {EXIT_MARK};
    st.global.v2.u64 [header+80], {{x, y}};
    ret;
}}
.visible .entry fail() {{
    trap;
}}
",
        version = field(offset::VERSION),
        flags = field(offset::FLAGS),
        headers = field(offset::HEADERS),
        records = field(offset::RECORDS),
        mask = field(offset::RECORD_MASK),
        limit = field(offset::RECORD_LIMIT),
        shift = field(offset::RECORD_SHIFT),
        slot_count = field(offset::SLOT_COUNT),
        slot_base = field(offset::SLOT_BASE),
        sm_count = field(offset::SM_COUNT),
        slots_per_shard = field(offset::SLOTS_PER_SHARD),
        claims = field(offset::CLAIMS),
        pool_start = field(offset::POOL_START),
        lost = field(offset::LOST),
        identity = u64::from(MAGIC | WIRE_VERSION) | u64::from(KERNEL_SITE) << 32,
        one_by_one = (1_u64 << 32) | (1 << 48),
        shape = (1_u32 << 11) | (1 << 22),
        tag = tag(RecordKind::Range, REGION_SITE),
    )
    .expect("to a string");
    text
}
