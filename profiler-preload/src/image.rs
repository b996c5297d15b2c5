//! Images that the program loads: PTX is rewritten on its way to the driver.

use std::ffi::{CStr, CString, c_void};
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

/// Loads an image, rewritten if it is PTX that is to record. `load` loads what it is given, `handle` gives the
/// handle that was loaded.
///
/// # Safety
///
/// `image` must be what the driver takes for one.
pub(crate) unsafe fn load(
    image: *const c_void,
    mut load: impl FnMut(*const c_void) -> Code,
    handle: impl FnOnce() -> Handle,
) -> Code {
    let Some(session) = session::get() else { return load(image) };
    // Other threads go on launching meanwhile.
    let recording = lock(session).recording.clone();
    // SAFETY: the caller's.
    let prepared = guarded(|| prepare(&recording, unsafe { bytes_of(image) }));
    let prepared = prepared.unwrap_or_default();
    let mut known = prepared.image;
    let code = match &prepared.text {
        None => load(image),
        Some(text) => match load(text.as_ptr().cast()) {
            SUCCESS => SUCCESS,
            code => {
                known.reason = Some(format!("the driver refused the rewritten PTX (error {code})"));
                load(image)
            }
        },
    };
    if code == SUCCESS {
        guarded(|| lock(session).loaded(handle(), known));
    }
    code
}

/// What is loaded in the place of an image.
#[derive(Debug, Default)]
struct Prepared {
    text: Option<CString>,
    image: Image,
}

/// What is loaded in the place of an image of these bytes.
fn prepare(recording: &Recording, bytes: Option<&[u8]>) -> Prepared {
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
        return Prepared { text: None, image: Image { hash, reason: None } };
    }
    match recording.rewrite(&ptx) {
        Ok(None) => Prepared::default(),
        Ok(Some(out)) => {
            let reason = out.kernels.iter().find_map(|kernel| kernel.reason.clone());
            let is_kept = recording.keep(out.hash, &out.text).is_ok();
            let text = CString::new(out.text).ok().filter(|_| is_kept);
            Prepared { text, image: Image { hash: 0, reason } }
        }
        Err(error) => Prepared::refused(error.to_string()),
    }
}

impl Prepared {
    fn refused(reason: String) -> Self {
        Self { text: None, image: Image { hash: 0, reason: Some(reason) } }
    }
}

/// The PTX for the newest GPU that this machine's can run.
fn newest_ptx(bytes: &[u8]) -> Result<String, String> {
    let images = profiler_ptx::images(bytes).map_err(|error| match error {
        ImageError::NoPtx => "its module holds machine code and no PTX".to_owned(),
        error => error.to_string(),
    })?;
    let mut capability = [0; 2];
    for (value, attribute) in capability.iter_mut().zip([75, 76]) {
        // SAFETY: the pointer is to a live variable.
        unsafe { driver::device_get_attribute(value, attribute, 0) };
    }
    let arch = u32::try_from(10 * capability[0] + capability[1]).unwrap_or(0);
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
