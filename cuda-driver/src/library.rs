//! Finds the driver's library and its functions.

use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

use crate::sys::{self, CUresult};

/// The name under which the driver's installer registers the library.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// Why the CUDA driver cannot be used. [`is_absence`](Self::is_absence) tells a missing driver or device
/// from a failing one. `Debug` is the text of `Display`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The library could not be loaded.
    #[error(
        "no CUDA driver: {library} could not be loaded ({reason}); install the NVIDIA driver, or \
         in a container start it with GPU support"
    )]
    NoLibrary {
        /// The library's name.
        library: &'static str,
        /// The message of the dynamic loader.
        reason: String,
    },
    /// The library is the CUDA toolkit's stub, which programs are linked with if there is no driver. Images
    /// for containers have it under the driver's name.
    #[error(
        "no CUDA driver: {library} is the CUDA toolkit's stub, which stands in for the driver while \
         a program is linked; install the NVIDIA driver, or in a container start it with GPU \
         support, and take the toolkit's folder `stubs` out of LD_LIBRARY_PATH"
    )]
    StubLibrary {
        /// The library's name.
        library: &'static str,
    },
    /// The driver is there but refused to start.
    #[error(
        "the CUDA driver did not start: {0}; `nvidia-smi` says whether the kernel module is loaded \
         and fits the library"
    )]
    Init(&'static str),
    /// The driver started but could not count its devices.
    #[error(
        "the CUDA driver started, but counting its devices failed: {0}; `nvidia-smi` says whether it \
         works"
    )]
    Count(&'static str),
    /// The driver runs but shows no device.
    #[error(
        "the CUDA driver shows no device; check `nvidia-smi -L` and the environment variable \
         CUDA_VISIBLE_DEVICES"
    )]
    NoDevice,
}

impl std::fmt::Debug for DriverError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl DriverError {
    /// Whether there is no driver or no device, so that a program may go on without; false if a driver is
    /// there and fails.
    #[must_use]
    pub const fn is_absence(&self) -> bool {
        match self {
            Self::NoLibrary { .. } | Self::StubLibrary { .. } | Self::NoDevice => true,
            Self::Init(_) | Self::Count(_) => false,
        }
    }
}

/// Checks that the CUDA driver is installed, starts, and shows a device.
///
/// # Errors
///
/// The reason, and what to do about it.
pub fn driver_available() -> Result<(), DriverError> {
    library()?;
    // SAFETY: cuInit takes no pointer; 0 is the only value its documentation allows.
    succeeded(unsafe { sys::cuInit(0) }, DriverError::Init)?;
    let mut count: c_int = 0;
    // SAFETY: the pointer is to a live c_int, which the driver writes before it returns.
    let code = unsafe { sys::cuDeviceGetCount(&raw mut count) };
    succeeded(code, DriverError::Count)?;
    if count > 0 { Ok(()) } else { Err(DriverError::NoDevice) }
}

/// The error of a result code: a missing device or a stub by its own variant, any other by `failed`.
fn succeeded(
    code: CUresult,
    failed: impl FnOnce(&'static str) -> DriverError,
) -> Result<(), DriverError> {
    match code {
        CUresult::CUDA_SUCCESS => Ok(()),
        CUresult::CUDA_ERROR_NO_DEVICE => Err(DriverError::NoDevice),
        CUresult::CUDA_ERROR_STUB_LIBRARY => Err(DriverError::StubLibrary { library: LIBRARY }),
        other => Err(failed(other.name())),
    }
}

/// The driver's library, loaded once and never unloaded.
fn library() -> Result<&'static Library, DriverError> {
    static DRIVER: OnceLock<Result<Library, String>> = OnceLock::new();
    let loaded = DRIVER.get_or_init(|| {
        // SAFETY: loading runs the library's initialisers; the driver's are made to be run in any
        // process that uses CUDA, on any thread, and it is never unloaded.
        unsafe { Library::new(LIBRARY) }.map_err(|error| error.to_string())
    });
    loaded
        .as_ref()
        .map_err(|reason| DriverError::NoLibrary { library: LIBRARY, reason: reason.clone() })
}

/// A function of the driver, with its address once it was looked up.
pub(crate) struct Entry {
    name: &'static CStr,
    /// Null until the function was found.
    address: AtomicPtr<()>,
}

impl Entry {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The function's address, or the result code to answer in its place.
    #[inline]
    pub(crate) fn resolve(&self) -> Result<NonNull<()>, CUresult> {
        // Acquire: who sees the address sees what loading the library wrote, whoever loaded it.
        match NonNull::new(self.address.load(Ordering::Acquire)) {
            Some(address) => Ok(address),
            None => self.look_up(),
        }
    }

    #[cold]
    fn look_up(&self) -> Result<NonNull<()>, CUresult> {
        let library = library().map_err(|_| CUresult::CUDA_ERROR_NO_DEVICE)?;
        // SAFETY: only the symbol's address is taken here; the type is that of a pointer, which
        // any symbol's address has.
        let symbol = unsafe { library.get::<*mut ()>(self.name) };
        let address = symbol.ok().and_then(|symbol| NonNull::new(*symbol));
        let address = address.ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)?;
        // Two threads may both come here; they store the same address. Release: see `resolve`.
        self.address.store(address.as_ptr(), Ordering::Release);
        Ok(address)
    }
}

/// An identifier as a text that ends in zero.
macro_rules! name {
    ($name:ident) => {{
        const NAME: &str = concat!(stringify!($name), "\0");
        match std::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("an identifier holds no zero byte"),
        }
    }};
}
pub(crate) use name;

#[cfg(test)]
mod tests {
    use super::*;

    /// The error if `cuInit` answers so.
    fn refused(code: CUresult) -> DriverError {
        succeeded(code, DriverError::Init).expect_err("it is no success")
    }

    #[test]
    fn what_is_not_there_is_told_from_what_fails() {
        assert_eq!(succeeded(CUresult::CUDA_SUCCESS, DriverError::Init), Ok(()));
        let nothing = [CUresult::CUDA_ERROR_NO_DEVICE, CUresult::CUDA_ERROR_STUB_LIBRARY];
        for code in nothing {
            assert!(refused(code).is_absence(), "{code:?}");
        }
        assert_eq!(refused(CUresult::CUDA_ERROR_NO_DEVICE), DriverError::NoDevice);
        let no_library = DriverError::NoLibrary { library: LIBRARY, reason: String::new() };
        assert!(no_library.is_absence());
        let failing = [
            CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
            CUresult::CUDA_ERROR_SYSTEM_NOT_READY,
            CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            CUresult::CUDA_ERROR_INVALID_DEVICE,
            CUresult::CUDA_ERROR_UNKNOWN,
        ];
        for code in failing {
            assert!(!refused(code).is_absence(), "{code:?}");
        }
    }

    #[test]
    fn what_failed_is_said_by_its_name() {
        let name = "CUDA_ERROR_NOT_INITIALIZED";
        for failed in [DriverError::Init, DriverError::Count] {
            let error = succeeded(CUresult::CUDA_ERROR_NOT_INITIALIZED, failed);
            let error = error.expect_err("it is no success");
            assert_eq!(error, failed(name));
            assert!(error.to_string().contains(name) && !error.is_absence(), "{error}");
        }
        let stub = refused(CUresult::CUDA_ERROR_STUB_LIBRARY).to_string();
        assert!(stub.contains(LIBRARY) && stub.contains("`stubs`"), "{stub}");
    }
}
