//! The matrices, where the kernel finds them, and whether their product is right.

use example_kernels::hopper_gemm::{
    Maps, REFERENCE_TILE, STORE_COLUMNS, STORE_ROWS, TILE_K, TILE_M, TILE_N, bf16_to_f32,
    f32_to_bf16, reference,
};
use profiler_host::{Backend, Buffer, launch};

use super::tensor_map::{Encoder, Matrix};

/// The first warp of each warp group: one for each role.
pub(crate) const ROLES: u32 = 0b1_0001_0001;

/// Extents that are no multiples of tiles: they show that what lies outside is left alone.
const SMALL: [u32; 3] = [520, 776, 328];
const FULL: [u32; 3] = [8192; 3];
/// The most that an element of C may differ from the reference, as a part of C's root mean square:
/// C is rounded to bf16, with an error of up to 2^-8 of an element, and the largest of so many
/// elements is six or seven times the root mean square.
const ERROR_MAX: f64 = 0.03;
/// Elements of C that are checked against sums in f64.
const SAMPLES: usize = 512;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Two matrices and room for their product, on the host and on the GPU: A is m x k, B is k x n and given
/// transposed, C is m x n.
pub(crate) struct Problem<'b> {
    /// m, n and k.
    pub(crate) extents: [u32; 3],
    is_exact: bool,
    a: Vec<u16>,
    b: Vec<u16>,
    a_buffer: Buffer<'b, u16>,
    b_buffer: Buffer<'b, u16>,
    c_buffer: Buffer<'b, u16>,
    maps: Buffer<'b, u64>,
}

impl<'b> Problem<'b> {
    /// If it is small, matrices of -1, 0 and 1, whose product is exact in bf16 while K is a few hundred;
    /// otherwise of numbers spread evenly from -1/2 to 1/2.
    pub(crate) fn new(backend: &'b Backend, small: bool) -> Result<Self> {
        let extents = if small { SMALL } else { FULL };
        let [m, n, k] = extents;
        let mut random = fastrand::Rng::with_seed(1);
        let mut element = || if small { f32::from(random.i8(-1..=1)) } else { random.f32() - 0.5 };
        let mut elements =
            |rows: u32| -> Vec<u16> { (0..rows * k).map(|_| f32_to_bf16(element())).collect() };
        let (a, b) = (elements(m), elements(n));
        let (a_buffer, b_buffer) = (backend.upload(&a)?, backend.upload(&b)?);
        let c_buffer = backend.zeroed::<u16>(m as usize * n as usize)?;
        let encoder = Encoder::find()?;
        let matrix = |buffer: &Buffer<'_, u16>, rows, columns| Matrix {
            address: buffer.as_ptr(),
            rows,
            columns,
        };
        let maps: Maps = [
            encoder.encode(matrix(&a_buffer, m, k), (TILE_M, TILE_K))?,
            encoder.encode(matrix(&b_buffer, n, k), (TILE_N, TILE_K))?,
            encoder.encode(matrix(&c_buffer, m, n), (STORE_ROWS, STORE_COLUMNS))?,
        ];
        let words: Vec<u64> = maps.iter().flat_map(|map| map.words()).collect();
        let maps = backend.upload(&words)?;
        Ok(Self { extents, is_exact: small, a, b, a_buffer, b_buffer, c_buffer, maps })
    }

    /// The maps of A, B and C, in global memory.
    pub(crate) fn maps(&self) -> *const Maps {
        self.maps.as_ptr().cast()
    }

    /// Panics if the product is wrong. A small one must be exact. Of a large one all elements are compared
    /// with the product of a simple kernel, and some with sums in f64.
    pub(crate) fn check(&self, backend: &Backend) -> Result {
        let c = self.c_buffer.read()?;
        if self.is_exact {
            for (index, &result) in c.iter().enumerate() {
                self.compare(index, result, self.sum(index), 0.0);
            }
            return Ok(());
        }
        let [m, n, k] = self.extents;
        // Numbers spread evenly from -1/2 to 1/2 have a mean square of 1/12.
        let error_max = ERROR_MAX * f64::from(k).sqrt() / 12.0;
        let mut simple = backend.zeroed::<f32>(c.len())?;
        let (a, b, to) = (self.a_buffer.as_ptr(), self.b_buffer.as_ptr(), simple.as_mut_ptr());
        let grid = (n.div_ceil(REFERENCE_TILE), m.div_ceil(REFERENCE_TILE));
        // SAFETY: the buffers hold matrices of these extents, aligned to 256 bytes; maps were made
        // of the same, so that K is a multiple of 8; the grid covers C.
        unsafe {
            launch!(
                backend,
                reference<<<grid, (REFERENCE_TILE, REFERENCE_TILE)>>>(a, b, to, m, n, k)
            )
        }?;
        for (index, (&result, expected)) in c.iter().zip(simple.read()?).enumerate() {
            self.compare(index, result, expected.into(), error_max);
        }
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..SAMPLES {
            let index = random.usize(..c.len());
            self.compare(index, c[index], self.sum(index), error_max);
        }
        Ok(())
    }

    fn compare(&self, index: usize, result: u16, expected: f64, error_max: f64) {
        let (n, result) = (self.extents[1] as usize, f64::from(bf16_to_f32(result)));
        assert!(
            (result - expected).abs() <= error_max,
            "row {}, column {}: {result} instead of {expected}",
            index / n,
            index % n
        );
    }

    /// An element of C, by its index, in f64.
    fn sum(&self, index: usize) -> f64 {
        let [_, n, k] = self.extents.map(|extent| extent as usize);
        let (a, b) = (&self.a[index / n * k..][..k], &self.b[index % n * k..][..k]);
        let wide = |bits: u16| f64::from(bf16_to_f32(bits));
        a.iter().zip(b).map(|(&a, &b)| wide(a) * wide(b)).sum()
    }
}
