//! Matrix operations of a warp and their number formats, on the CPU twin.
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use profiler_emulator as emulator;

use crate::mma;
use crate::platform::lane_id;

fn bf16_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_nan() {
        // The one NaN that `cvt` produces.
        return 0x7fff;
    }
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

pub(crate) fn pack_bf16(low: f32, high: f32) -> u32 {
    bf16_bits(low) | bf16_bits(high) << 16
}

fn f16_bits(value: f32) -> u32 {
    if value.is_nan() {
        // The one NaN that `cvt` produces.
        return 0x7fff;
    }
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let rounded = if magnitude >= 65536.0_f32.to_bits() {
        // Infinity.
        0x7c00
    } else if magnitude >= SMALLEST_F16.to_bits() {
        let rebased = magnitude - (REBIAS << 23);
        (rebased + 0xfff + (rebased >> 13 & 1)) >> 13
    } else {
        // The last bit of a half is 2^-24, the unit of subnormal numbers: the addition rounds to it.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5_f32.to_bits()
    };
    bits >> 16 & 0x8000 | rounded
}

/// The smallest f16 that is not subnormal: 2^-14.
const SMALLEST_F16: f32 = f32::from_bits((127 - 14) << 23);
/// The difference of the exponents' biases, of f32 and f16.
const REBIAS: u32 = 127 - 15;

pub(crate) fn pack_f16(low: f32, high: f32) -> u32 {
    f16_bits(low) | f16_bits(high) << 16
}

pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    let value = if magnitude < 0x7c00 {
        // Exact for subnormal numbers too.
        f32::from_bits(magnitude << 13) * f32::from_bits((127 + REBIAS) << 23)
    } else {
        f32::from_bits(0x7f80_0000 | magnitude << 13)
    };
    if bits & 0x8000 == 0 { value } else { -value }
}

/// The bits of an f32 that tf32 does not have.
const BELOW_TF32: u32 = (1 << 13) - 1;

pub(crate) fn f32_to_tf32(value: f32) -> u32 {
    if value.is_nan() {
        // Its payload may lie in the bits that go.
        return f32::NAN.to_bits();
    }
    (value.to_bits() + (1 << 12)) & !BELOW_TF32
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn split(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// A product whose factors have `PER_WORD` numbers in a word, of which `number` gives the one of an index, and
/// thus 8 times `PER_WORD` along K.
fn product<const PER_WORD: usize>(
    a: [u32; 4],
    b: [u32; 2],
    c: [f32; 4],
    number: impl Fn(u32, usize) -> f32,
) -> [f32; 4] {
    let given = [join(a[0], a[1]), join(a[2], a[3]), join(b[0], b[1])];
    let lanes = emulator::warp_exchange_words(u32::MAX, given);
    // Of an index along K: which half of the words, which of four lanes, which number in the word.
    let place = |k: usize| (k / (4 * PER_WORD), k % (4 * PER_WORD) / PER_WORD, k % PER_WORD);
    let a_at = |row: usize, k: usize| {
        let (half, lane, index) = place(k);
        number(split(lanes[row % 8 * 4 + lane][half])[row / 8], index)
    };
    let b_at = |k: usize, column: usize| {
        let (half, lane, index) = place(k);
        number(split(lanes[column * 4 + lane][2])[half], index)
    };
    let lane = lane_id() as usize;
    core::array::from_fn(|index| {
        let (row, column) = (lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2);
        (0..8 * PER_WORD).fold(c[index], |sum, k| a_at(row, k).mul_add(b_at(k, column), sum))
    })
}

fn half_of(word: u32, index: usize) -> u16 {
    (word >> (16 * index)) as u16
}

pub(crate) unsafe fn mma_m16n8k16_bf16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    product::<2>(a, b, c, |word, index| mma::bf16_to_f32(half_of(word, index)))
}

pub(crate) unsafe fn mma_m16n8k16_f16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    product::<2>(a, b, c, |word, index| f16_to_f32(half_of(word, index)))
}

pub(crate) unsafe fn mma_m16n8k8_tf32(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    product::<1>(a, b, c, |word, _| f32::from_bits(word & !BELOW_TF32))
}

/// The rows that the lanes of the warp gave, 8 elements each.
///
/// # Safety
///
/// `row` is readable, 16 bytes.
unsafe fn exchange_rows(row: *const u8) -> [[u16; 8]; 32] {
    assert!(row.addr().is_multiple_of(16), "a row of ldmatrix at {row:?} must be aligned to 16");
    // SAFETY: the caller's promise. The row is read before the lanes meet, since a lane that goes
    // on may change it.
    let words = unsafe { row.cast::<[u64; 2]>().read() };
    emulator::warp_exchange_words(u32::MAX, words)
        .map(|words| core::array::from_fn(|index| (words[index / 4] >> (16 * (index % 4))) as u16))
}

fn pair(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

pub(crate) unsafe fn ldmatrix_x4(row: *const u8) -> [u32; 4] {
    // SAFETY: the caller's promise.
    let rows = unsafe { exchange_rows(row) };
    let lane = lane_id() as usize;
    let (g, t) = (lane / 4, lane % 4);
    core::array::from_fn(|matrix| {
        let row = rows[matrix * 8 + g];
        pair(row[2 * t], row[2 * t + 1])
    })
}

pub(crate) unsafe fn ldmatrix_x4_trans(row: *const u8) -> [u32; 4] {
    // SAFETY: the caller's promise.
    let rows = unsafe { exchange_rows(row) };
    let lane = lane_id() as usize;
    let (g, t) = (lane / 4, lane % 4);
    core::array::from_fn(|matrix| {
        pair(rows[matrix * 8 + 2 * t][g], rows[matrix * 8 + 2 * t + 1][g])
    })
}

pub(crate) unsafe fn stmatrix_x4(row: *mut u8, parts: [u32; 4]) {
    assert!(row.addr().is_multiple_of(16), "a row of stmatrix at {row:?} must be aligned to 16");
    let given = [join(parts[0], parts[1]), join(parts[2], parts[3])];
    let lanes = emulator::warp_exchange_words(u32::MAX, given);
    // This lane's row is row `lane % 8` of matrix `lane / 8`, which four lanes hold.
    let lane = lane_id() as usize;
    let (matrix, first) = (lane / 8, lane % 8 * 4);
    let pairs: [u32; 4] = core::array::from_fn(|t| split(lanes[first + t][matrix / 2])[matrix % 2]);
    // SAFETY: the caller gives 16 writable bytes, aligned, which only this lane writes.
    unsafe { row.cast::<[u32; 4]>().write(pairs) };
}
