//! Maps of matrices for the tensor memory accelerator, made by the driver.
//!
//! `cust_raw` declares the driver's interface of CUDA 11.3, which is older than tensor maps, so that
//! the function is asked of the driver by its name. Facts from the CUDA driver API,
//! "cuTensorMapEncodeTiled".

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::{self, NonNull};

use cust_raw::CUresult;
use profiler_kernel::tma::TensorMap;

/// The version of CUDA that brought tensor maps.
const CUDA_VERSION: c_int = 12_000;
/// `CU_TENSOR_MAP_DATA_TYPE_BFLOAT16`.
const BF16: u32 = 9;
/// `CU_TENSOR_MAP_SWIZZLE_128B`.
const SWIZZLE_128: u32 = 3;
/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`: what is fetched into the L2 cache at a time.
const FETCH_256: u32 = 3;
/// `CU_TENSOR_MAP_INTERLEAVE_NONE`, and `CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE`, which fills what lies
/// outside with zeros.
const NONE: u32 = 0;

/// Bytes of an element.
const ELEMENT: u64 = 2;
/// What addresses and rows must be multiples of, in bytes.
const ALIGNMENT: u64 = 16;
/// What columns must be a multiple of, so that rows are aligned.
const COLUMNS_MULTIPLE: u64 = ALIGNMENT / ELEMENT;
/// The most rows of a box.
const BOX_ROWS_MAX: u32 = 256;
/// Columns of a box with the 128-byte swizzle.
const BOX_COLUMNS_MAX: u32 = 64;

type EncodeTiled = unsafe extern "C" fn(
    map: *mut TensorMap,
    data_type: u32,
    rank: u32,
    address: *mut c_void,
    extents: *const u64,
    strides: *const u64,
    box_extents: *const u32,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    fetch: u32,
    fill: u32,
) -> c_int;

/// Why there is no map.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TensorMapError {
    #[error(
        "the CUDA driver has no tensor maps (cuTensorMapEncodeTiled: {0:?}); install a driver for \
         CUDA 12 or later"
    )]
    OldDriver(CUresult),
    #[error("the address {0:#x} of a matrix is not a multiple of {ALIGNMENT} bytes; align it")]
    Address(u64),
    #[error(
        "a matrix of {0} columns of bf16 has rows that are not multiples of {ALIGNMENT} bytes; \
         choose a multiple of {COLUMNS_MULTIPLE}"
    )]
    Columns(u32),
    #[error(
        "a box of {0} x {1} elements does not fit: give 1 to {BOX_ROWS_MAX} rows and 1 to \
         {BOX_COLUMNS_MAX} columns"
    )]
    Box(u32, u32),
    #[error("the driver refuses a tensor map (cuTensorMapEncodeTiled gives code {0})")]
    Refused(c_int),
}

/// A matrix of bf16 in device memory, stored row by row without gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) address: *const u16,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
}

impl Matrix {
    fn address(self) -> u64 {
        self.address.addr() as u64
    }

    /// Whether there can be a map of the matrix with such a box.
    fn check(self, (rows, columns): (u32, u32)) -> Result<(), TensorMapError> {
        if !self.address().is_multiple_of(ALIGNMENT) {
            return Err(TensorMapError::Address(self.address()));
        }
        if !(u64::from(self.columns) * ELEMENT).is_multiple_of(ALIGNMENT) {
            return Err(TensorMapError::Columns(self.columns));
        }
        if !(1..=BOX_ROWS_MAX).contains(&rows) || !(1..=BOX_COLUMNS_MAX).contains(&columns) {
            return Err(TensorMapError::Box(rows, columns));
        }
        Ok(())
    }
}

/// The driver's function.
#[derive(Clone, Copy)]
pub(crate) struct Encoder(EncodeTiled);

impl Encoder {
    /// Asks the driver, which must have been started.
    pub(crate) fn find() -> Result<Self, TensorMapError> {
        let mut address: *mut c_void = ptr::null_mut();
        // SAFETY: the name ends in zero, and the pointer is to a live variable.
        let code = unsafe {
            cust_raw::cuGetProcAddress(
                c"cuTensorMapEncodeTiled".as_ptr(),
                &raw mut address,
                CUDA_VERSION,
                0,
            )
        };
        let found = NonNull::new(address).filter(|_| code == CUresult::CUDA_SUCCESS);
        let found = found.ok_or(TensorMapError::OldDriver(code))?;
        // SAFETY: the driver gives its function of this name, whose signature is the one above;
        // enumerations are 32 bits wide.
        Ok(Self(unsafe { transmute::<NonNull<c_void>, EncodeTiled>(found) }))
    }

    /// A map of the matrix, copied in boxes of `rows` x `columns` elements that lie in shared memory
    /// with the 128-byte swizzle.
    pub(crate) fn encode(
        self,
        matrix: Matrix,
        (rows, columns): (u32, u32),
    ) -> Result<TensorMap, TensorMapError> {
        matrix.check((rows, columns))?;
        let extents = [u64::from(matrix.columns), u64::from(matrix.rows)];
        let row_bytes = extents[0] * ELEMENT;
        let box_extents = [columns, rows];
        let mut map = TensorMap::new([0; 16]);
        // SAFETY: the map is a live variable of the size and alignment of the driver's; the arrays
        // have as many elements as the rank asks for. The matrix's address is stored, not followed.
        let code = unsafe {
            (self.0)(
                &raw mut map,
                BF16,
                2,
                matrix.address.cast_mut().cast(),
                extents.as_ptr(),
                &raw const row_bytes,
                box_extents.as_ptr(),
                [1, 1].as_ptr(),
                NONE,
                SWIZZLE_128,
                FETCH_256,
                NONE,
            )
        };
        if code == 0 { Ok(map) } else { Err(TensorMapError::Refused(code)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_map_is_refused_with_help() {
        let at = |address: usize, columns: u32| Matrix {
            address: ptr::without_provenance(address),
            rows: 5,
            columns,
        };
        assert_eq!(at(256, 64).check((128, 64)), Ok(()));
        assert_eq!(at(256, 8).check((256, 64)), Ok(()));
        for (matrix, extents, words) in [
            (at(8, 64), (128, 64), "multiple of 16 bytes"),
            (at(256, 60), (128, 64), "choose a multiple of 8"),
            (at(256, 64), (257, 64), "1 to 256 rows"),
            (at(256, 64), (128, 65), "1 to 64 columns"),
            (at(256, 64), (0, 64), "1 to 256 rows"),
        ] {
            let error = matrix.check(extents).expect_err("there is no such map").to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
