//! The matrices, where the kernel finds them, and whether their product is right.

use example_kernels::hopper_gemm::{
    Maps, REFERENCE_TILE, STORE_COLUMNS, STORE_ROWS, TILE_K, TILE_M, TILE_N, bf16_to_f32,
    f32_to_bf16, reference,
};
use profiler_examples::{Check, Failure};
use profiler_host::{Backend, Buffer, launch};

use crate::tensor_map::{Encoder, Matrix};

/// A is m x k, B is k x n and given transposed, C is m x n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extents {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
}

impl Extents {
    /// Operations of the product; a multiplication and an addition count as two.
    pub(crate) fn operations(self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }

    /// Tiles of C.
    pub(crate) fn tiles(self) -> u32 {
        self.m.div_ceil(TILE_M) * self.n.div_ceil(TILE_N)
    }
}

/// Two matrices and room for their product, on the host and on the GPU.
pub(crate) struct Problem<'b> {
    pub(crate) extents: Extents,
    a: Vec<u16>,
    b: Vec<u16>,
    a_buffer: Buffer<'b, u16>,
    b_buffer: Buffer<'b, u16>,
    c_buffer: Buffer<'b, u16>,
    maps: Buffer<'b, u64>,
}

impl<'b> Problem<'b> {
    /// Matrices of -1, 0 and 1, whose product is exact in bf16 while K is a few hundred.
    pub(crate) fn of_integers(backend: &'b Backend, extents: Extents) -> Result<Self, Failure> {
        Self::new(backend, extents, |random| f32::from(random.i8(-1..=1)))
    }

    /// Matrices of numbers spread evenly from -1/2 to 1/2.
    pub(crate) fn random(backend: &'b Backend, extents: Extents) -> Result<Self, Failure> {
        Self::new(backend, extents, |random| random.f32() - 0.5)
    }

    fn new(
        backend: &'b Backend,
        extents: Extents,
        mut element: impl FnMut(&mut fastrand::Rng) -> f32,
    ) -> Result<Self, Failure> {
        let Extents { m, n, k } = extents;
        let mut random = fastrand::Rng::with_seed(1);
        let mut elements = |rows: u32| -> Vec<u16> {
            let count = rows as usize * k as usize;
            std::iter::repeat_with(|| f32_to_bf16(element(&mut random))).take(count).collect()
        };
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
        // The product's buffer is zeroed in this back end's stream, and another may launch in its own.
        backend.synchronize()?;
        Ok(Self { extents, a, b, a_buffer, b_buffer, c_buffer, maps })
    }

    /// The maps of A, B and C, in global memory.
    pub(crate) fn maps(&self) -> *const Maps {
        self.maps.as_ptr().cast()
    }

    /// Compares all of C with sums on the host. Elements are integers, and must be those.
    pub(crate) fn check_exactly(&self) -> Result<Check, Failure> {
        let Extents { n, k, .. } = self.extents;
        let (n, k) = (n as usize, k as usize);
        let wide = |elements: &[u16]| -> Vec<f32> {
            elements.iter().map(|&bits| bf16_to_f32(bits)).collect()
        };
        let (a, b) = (wide(&self.a), wide(&self.b));
        let c = self.c_buffer.read()?;
        let pairs = c.iter().enumerate().map(|(index, &c)| {
            let (a, b) = (&a[index / n * k..][..k], &b[index % n * k..][..k]);
            let sum: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            (f64::from(bf16_to_f32(c)), f64::from(sum))
        });
        Ok(Check::absolute(
            "elements of C from factors of integers, which must be exact",
            pairs,
            0.0,
        ))
    }

    /// Compares all of C with the product of a simple kernel, and `samples` elements with sums in
    /// f64 on the host. Errors are parts of C's root mean square; `error_max` is accepted.
    pub(crate) fn check(
        &self,
        backend: &Backend,
        samples: usize,
        error_max: f64,
    ) -> Result<Vec<Check>, Failure> {
        let Extents { m, n, k } = self.extents;
        let mut simple = backend.zeroed::<f32>(m as usize * n as usize)?;
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
        let simple = simple.read()?;
        let c = self.c_buffer.read()?;
        // Numbers spread evenly from -1/2 to 1/2 have a mean square of 1/12.
        let root_mean_square = f64::from(k).sqrt() / 12.0;
        let scaled = |result: u16, wanted: f64| {
            (f64::from(bf16_to_f32(result)) / root_mean_square, wanted / root_mean_square)
        };
        let all = c.iter().zip(&simple).map(|(&c, &simple)| scaled(c, f64::from(simple)));
        let mut random = fastrand::Rng::with_seed(2);
        let chosen = std::iter::repeat_with(|| random.usize(..c.len())).take(samples);
        let sampled = chosen.map(|index| scaled(c[index], self.sum(index)));
        Ok(vec![
            Check::absolute(
                "elements of C, beside a simple kernel's, as parts of C's root mean square",
                all,
                error_max,
            ),
            Check::absolute(
                "chosen elements of C, beside sums in f64, as parts of C's root mean square",
                sampled,
                error_max,
            ),
        ])
    }

    /// An element of C, by its index, in f64.
    fn sum(&self, index: usize) -> f64 {
        let (n, k) = (self.extents.n as usize, self.extents.k as usize);
        let (a, b) = (&self.a[index / n * k..][..k], &self.b[index % n * k..][..k]);
        let wide = |bits: u16| f64::from(bf16_to_f32(bits));
        a.iter().zip(b).map(|(&a, &b)| wide(a) * wide(b)).sum()
    }
}
