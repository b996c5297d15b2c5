//! Images that the program loads: PTX is rewritten on its way to the driver.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;

use profiler_ptx::{ImageError, Recording};
use profiler_wire::site::fnv1a;
use profiler_wire::symbol::DESCRIPTOR_PREFIX;

use crate::driver::{self, Code, Handle, SUCCESS};
use crate::session::{self, Image, guarded, lock};

const FATBIN: u32 = 0xba55_ed50;
const FATBIN_WRAPPER: u32 = 0x4662_43b1;
const FATBIN_HEADER_BYTES: usize = 16;
/// Of an ELF file of 64 bits.
pub(crate) const ELF_HEADER_BYTES: usize = 64;
const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");

/// What an image is loaded as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Module,
    Library,
}

/// The most threads that a block can have.
const THREADS_MAX: u32 = 1024;
/// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`.
const MAX_THREADS_PER_BLOCK: c_int = 0;

/// Loads an image, rewritten if it is PTX that is to record. `load` loads what it is given.
///
/// # Safety
///
/// `image` must be what the driver takes for one, and `loaded` null or the program's place for a handle.
pub(crate) unsafe fn load(
    image: *const c_void,
    kind: Kind,
    loaded: *mut Handle,
    load: impl Fn(*mut Handle, *const c_void) -> Code,
) -> Code {
    let Some(session) = session::get().filter(|_| !loaded.is_null()) else {
        return load(loaded, image);
    };
    // Other threads go on launching meanwhile.
    let recording = lock(session).recording.clone();
    let prepared = |threads: &[(String, u32)]| {
        // SAFETY: the caller's.
        guarded(|| prepare(&recording, unsafe { bytes_of(image) }, threads)).unwrap_or_default()
    };
    let one = |image: *const c_void| {
        let mut handle = ptr::null_mut();
        match load(&raw mut handle, image) {
            SUCCESS => Ok(handle),
            code => Err(code),
        }
    };
    let rewritten = |it: &Prepared| it.text.as_ref().map(|text| one(text.as_ptr().cast()));
    let mut it = prepared(&[]);
    let mut result = rewritten(&it);
    let mut others = Vec::new();
    if let Some(Ok(handle)) = result {
        let narrower = narrower(kind, handle, &it.kernels, &mut others, || one(image).ok());
        if !narrower.is_empty() {
            others.push(handle as usize);
            it = prepared(&narrower);
            result = rewritten(&it);
        }
    }
    it.image.others = others;
    let code = match result {
        None => load(loaded, image),
        Some(Ok(handle)) => {
            // SAFETY: the caller's: it is not null.
            unsafe { *loaded = handle };
            SUCCESS
        }
        Some(Err(code)) => {
            let reason = format!("the driver refused the rewritten PTX (error {code})");
            it.image.reason = Some(reason);
            load(loaded, image)
        }
    };
    if code == SUCCESS {
        // SAFETY: the driver, or this function, has written the handle.
        guarded(|| lock(session).loaded(unsafe { *loaded }, it.image));
    }
    code
}

/// The kernels whose blocks could have more threads before they were rewritten, as they took fewer registers, and how
/// many.
fn narrower(
    kind: Kind,
    rewritten: Handle,
    kernels: &[String],
    others: &mut Vec<usize>,
    load: impl FnOnce() -> Option<Handle>,
) -> Vec<(String, u32)> {
    let threads = |handle| kernels.iter().map(move |kernel| kind.threads(handle, kernel));
    if threads(rewritten).all(|threads| threads == THREADS_MAX) {
        return Vec::new();
    }
    let Some(original) = load() else { return Vec::new() };
    others.push(original as usize);
    let pairs = threads(rewritten).zip(threads(original)).zip(kernels);
    let narrower = pairs.filter(|((with, without), _)| with < without);
    narrower.map(|((_, without), kernel)| (kernel.clone(), without)).collect()
}

impl Kind {
    /// How many threads a block of a kernel can have; the most if the driver does not say it.
    fn threads(self, handle: Handle, kernel: &str) -> u32 {
        let Ok(name) = CString::new(kernel) else { return THREADS_MAX };
        let (mut threads, mut device) = (0, 0);
        // SAFETY: the handle was just loaded, the name is a string, and the pointers are to live variables.
        let code = unsafe {
            match self {
                Self::Module => driver::handle(|function| {
                    driver::module_get_function(function, handle, name.as_ptr())
                })
                .map(|function| {
                    driver::func_get_attribute(&raw mut threads, MAX_THREADS_PER_BLOCK, function)
                }),
                Self::Library => driver::handle(|kernel| {
                    driver::library_get_kernel(kernel, handle, name.as_ptr())
                })
                .map(|kernel| {
                    // Without a context it is the first device's.
                    driver::ctx_get_device(&raw mut device);
                    let threads = &raw mut threads;
                    driver::kernel_get_attribute(threads, MAX_THREADS_PER_BLOCK, kernel, device)
                }),
            }
        };
        let known = u32::try_from(threads).ok().filter(|_| code == Some(SUCCESS));
        known.unwrap_or(THREADS_MAX)
    }

    pub(crate) fn unload(self, handle: Handle) {
        // SAFETY: nobody but this library has the handle.
        unsafe {
            match self {
                Self::Module => driver::module_unload(handle),
                Self::Library => driver::library_unload(handle),
            }
        };
    }
}

/// What is loaded in the place of an image.
#[derive(Debug, Default)]
struct Prepared {
    text: Option<CString>,
    /// The kernels that were rewritten and have no bound of their own.
    kernels: Vec<String>,
    image: Image,
}

/// What is loaded in the place of an image of these bytes.
fn prepare(recording: &Recording, bytes: Option<&[u8]>, threads: &[(String, u32)]) -> Prepared {
    let Some(bytes) = bytes else {
        return Prepared::refused("its image is of a kind that is not known".to_owned());
    };
    let ptx = match newest_ptx(bytes) {
        Ok(ptx) => ptx,
        Err(reason) => return Prepared::refused(reason),
    };
    if ptx.contains(DESCRIPTOR_PREFIX) {
        let hash = fnv1a(ptx.as_bytes());
        let hash = recording.keep(hash, &ptx).map_or(0, |_| hash);
        return Prepared { image: Image { hash, ..Image::default() }, ..Prepared::default() };
    }
    match recording.rewrite(&ptx, threads) {
        Ok(None) => Prepared::default(),
        Ok(Some(out)) => {
            let reason = out.kernels.iter().find_map(|kernel| kernel.reason.clone());
            let is_kept = recording.keep(out.hash, &out.text).is_ok();
            let text = CString::new(out.text).ok().filter(|_| is_kept);
            let kernels = out.kernels.into_iter();
            let kernels = kernels.filter(|it| it.reason.is_none() && !it.is_bounded);
            let kernels = kernels.map(|kernel| kernel.name).collect();
            Prepared { text, kernels, image: Image { reason, ..Image::default() } }
        }
        Err(error) => Prepared::refused(error.to_string()),
    }
}

impl Prepared {
    fn refused(reason: String) -> Self {
        Self { image: Image { reason: Some(reason), ..Image::default() }, ..Self::default() }
    }
}

/// The PTX for the newest GPU that this machine's can run.
fn newest_ptx(bytes: &[u8]) -> Result<String, String> {
    let images = profiler_ptx::images(bytes).map_err(|error| match error {
        ImageError::NoPtx => "its module holds machine code and no PTX".to_owned(),
        error => error.to_string(),
    })?;
    let (major, minor) = driver::capability(0);
    let arch = 10 * major + minor;
    let fitting = images.into_iter().filter(|image| image.arch <= arch);
    let newest = fitting.max_by_key(|image| image.arch).map(|image| image.ptx);
    newest.ok_or_else(|| format!("its module has PTX for newer GPUs than sm_{arch} alone"))
}

/// The bytes of an image: the driver is given no length, but each kind of image says it itself.
///
/// # Safety
///
/// `image` must be what the driver takes for one, and stay as it is for as long as the bytes are used.
unsafe fn bytes_of<'i>(image: *const c_void) -> Option<&'i [u8]> {
    if image.is_null() {
        return None;
    }
    // SAFETY: the caller's; every image has so many bytes, text with its zero too.
    let magic = unsafe { image.cast::<u32>().read_unaligned() };
    let first = |bytes: usize| {
        // SAFETY: the image says that it has so many bytes.
        unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) }
    };
    match magic {
        FATBIN_WRAPPER => {
            // SAFETY: a wrapper has two numbers of 4 bytes and then the address of a fatbin.
            let fatbin = unsafe { image.cast::<*const c_void>().add(1).read_unaligned() };
            if fatbin.is_null() || ptr::eq(fatbin, image) {
                return None;
            }
            // SAFETY: as above.
            unsafe { bytes_of(fatbin) }
        }
        FATBIN => {
            let header = first(FATBIN_HEADER_BYTES);
            let length = u64::from_le_bytes(header[8..16].try_into().ok()?);
            let start = usize::from(u16::from_le_bytes([header[6], header[7]]));
            Some(first(start.checked_add(usize::try_from(length).ok()?)?))
        }
        // Whatever is in it, it is machine code.
        ELF => Some(first(ELF_HEADER_BYTES)),
        _ => {
            // SAFETY: what is none of the others is text that ends with a zero.
            let text = unsafe { CStr::from_ptr(image.cast()) };
            Some(text.to_bytes())
        }
    }
}
