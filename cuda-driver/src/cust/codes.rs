//! The driver's result codes: their names, and texts in place of the driver's own.

use std::ffi::{CStr, c_char};
use std::mem::transmute;
use std::ptr::NonNull;

use cust_raw::CUresult;

use crate::library::Entry;

/// Lists the result codes that cust_raw knows, each with its name.
macro_rules! result_codes {
    ($($code:ident),* $(,)?) => {
        const CODES: &[(CUresult, &CStr)] = &[$(
            (CUresult::$code, $crate::library::name!($code)),
        )*];
    };
}

result_codes! {
    CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED,
    CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_PROFILER_DISABLED, CUDA_ERROR_PROFILER_NOT_INITIALIZED,
    CUDA_ERROR_PROFILER_ALREADY_STARTED, CUDA_ERROR_PROFILER_ALREADY_STOPPED,
    CUDA_ERROR_STUB_LIBRARY, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_DEVICE_NOT_LICENSED, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_CONTEXT,
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT, CUDA_ERROR_MAP_FAILED, CUDA_ERROR_UNMAP_FAILED,
    CUDA_ERROR_ARRAY_IS_MAPPED, CUDA_ERROR_ALREADY_MAPPED, CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUDA_ERROR_ALREADY_ACQUIRED, CUDA_ERROR_NOT_MAPPED, CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
    CUDA_ERROR_NOT_MAPPED_AS_POINTER, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_UNSUPPORTED_LIMIT,
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, CUDA_ERROR_INVALID_PTX,
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUDA_ERROR_JIT_COMPILATION_DISABLED, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
    CUDA_ERROR_INVALID_SOURCE, CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_READY,
    CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT, CUDA_ERROR_TOO_MANY_PEERS,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, CUDA_ERROR_MPS_CONNECTION_FAILED,
    CUDA_ERROR_MPS_RPC_FAILURE, CUDA_ERROR_MPS_SERVER_NOT_READY, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_MERGE,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CUDA_ERROR_CAPTURED_EVENT, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUDA_ERROR_TIMEOUT,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, CUDA_ERROR_EXTERNAL_DEVICE, CUDA_ERROR_UNKNOWN,
}

/// The code in the enumeration; `CUDA_ERROR_UNKNOWN` if it lacks it.
#[inline]
pub(crate) fn known(code: u32) -> CUresult {
    if code == CUresult::CUDA_SUCCESS as u32 {
        return CUresult::CUDA_SUCCESS;
    }
    CODES
        .iter()
        .find(|(known, _)| *known as u32 == code)
        .map_or(CUresult::CUDA_ERROR_UNKNOWN, |(known, _)| *known)
}

/// The code's name, as cuda.h spells it.
fn name(code: CUresult) -> &'static CStr {
    CODES.iter().find(|(known, _)| *known == code).map_or(c"CUDA_ERROR_UNKNOWN", |(_, name)| name)
}

/// The text of a code, if the driver has none.
fn text(code: CUresult) -> &'static CStr {
    match code {
        CUresult::CUDA_ERROR_NO_DEVICE => {
            c"no CUDA driver or no CUDA device was found (CUDA_ERROR_NO_DEVICE)"
        }
        other => name(other),
    }
}

type TextFunction = unsafe extern "C" fn(CUresult, *mut *const c_char) -> u32;
type DeclaredFunction = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;
const _: DeclaredFunction = cust_raw::cuGetErrorString;
const _: DeclaredFunction = cust_raw::cuGetErrorName;

/// Asks the driver for a text and falls back to ours.
///
/// # Safety
///
/// `entry` is that of `cuGetErrorString` or `cuGetErrorName`; `target` is null or may be written.
unsafe fn text_from(
    entry: &Entry,
    fallback: fn(CUresult) -> &'static CStr,
    error: CUresult,
    target: *mut *const c_char,
) -> CUresult {
    if target.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    if let Ok(address) = entry.resolve() {
        // SAFETY: the caller vouches for the entry, and both functions have this signature, with
        // u32 for the enumeration that comes back.
        let function = unsafe { transmute::<NonNull<()>, TextFunction>(address) };
        // SAFETY: the target may be written, as the caller vouches.
        if unsafe { function(error, target) } == CUresult::CUDA_SUCCESS as u32 {
            return CUresult::CUDA_SUCCESS;
        }
    }
    // SAFETY: the target is not null and may be written, as the caller vouches; the text is static.
    unsafe { target.write(fallback(error).as_ptr()) };
    CUresult::CUDA_SUCCESS
}

// Without a driver these two still give a text: `cust` takes their failure for a formatting error,
// which makes `to_string` on any of its errors panic.

// SAFETY: callers give what the driver's documentation of the function asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: CUresult, target: *mut *const c_char) -> CUresult {
    static ENTRY: Entry = Entry::new(c"cuGetErrorString");
    // SAFETY: the entry is that of cuGetErrorString; the caller vouches for the target, as the
    // driver's documentation asks.
    unsafe { text_from(&ENTRY, text, error, target) }
}

// SAFETY: callers give what the driver's documentation of the function asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: CUresult, target: *mut *const c_char) -> CUresult {
    static ENTRY: Entry = Entry::new(c"cuGetErrorName");
    // SAFETY: the entry is that of cuGetErrorName; the caller vouches for the target, as the
    // driver's documentation asks.
    unsafe { text_from(&ENTRY, name, error, target) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_code_survives_and_others_become_unknown() {
        for (code, _) in CODES {
            assert_eq!(known(*code as u32), *code);
        }
        for code in [9, 99, 226, 717_717, u32::MAX] {
            assert_eq!(known(code), CUresult::CUDA_ERROR_UNKNOWN, "{code}");
        }
    }

    #[test]
    fn every_code_has_a_text_with_and_without_a_driver() {
        for (code, _) in CODES {
            for function in [cust_raw::cuGetErrorString, cust_raw::cuGetErrorName] {
                let mut text = std::ptr::null();
                // SAFETY: the pointer is to a live variable.
                let answer = unsafe { function(*code, &raw mut text) };
                assert_eq!(answer, CUresult::CUDA_SUCCESS);
                // SAFETY: the function succeeded, so it stored a static text that ends in zero.
                assert!(!unsafe { CStr::from_ptr(text) }.is_empty());
            }
        }
    }

    #[test]
    fn a_null_target_is_refused() {
        // SAFETY: null is what the function is documented to refuse.
        let answer =
            unsafe { cust_raw::cuGetErrorName(CUresult::CUDA_SUCCESS, std::ptr::null_mut()) };
        assert_eq!(answer, CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}
