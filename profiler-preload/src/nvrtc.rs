//! NVRTC compiles programs to machine code if it is asked for that; here it gives PTX in its place, which the driver
//! takes too, and which is rewritten on its way there.
//!
//! Programs that are linked with NVRTC get the functions of this library, as it is loaded first. Others ask
//! [`dlsym`].
#![allow(non_snake_case, reason = "they are NVRTC's names")]
#![allow(clippy::missing_safety_doc, reason = "NVRTC's documentation has it")]

use core::arch::naked_asm;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::driver;
use crate::session::{self, guarded};

type Code = c_int;
type Program = *mut c_void;

const SUCCESS: Code = 0;

/// The loader's own `dlsym`.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// The library whose functions are stood in for: the first one that a program asked.
static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// Programs that were compiled to PTX in the place of machine code.
static PROGRAMS: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// Finds a symbol as the loader does, but for the functions of this module. It jumps to the loader's, which looks at
/// where it was called from.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn dlsym() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {own}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "mov r11, qword ptr [rip + {real}]",
        "jmp r11",
        "2:",
        "ret",
        own = sym own,
        real = sym REAL,
    )
}

/// The function of this module with a name, if it stands in for the library's. Null for all others.
unsafe extern "C" fn own(library: *mut c_void, name: *const c_char) -> *mut c_void {
    if REAL.load(Ordering::Relaxed).is_null() {
        let versions = [c"GLIBC_2.34", c"GLIBC_2.2.5"];
        let found = versions.iter().find_map(|version| {
            // SAFETY: the names end with a zero.
            let found =
                unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
            (!found.is_null()).then_some(found)
        });
        REAL.store(found.unwrap_or(none as *mut c_void), Ordering::Relaxed);
    }
    if name.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the caller gives the name to the loader.
    let function = match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"nvrtcCompileProgram" => nvrtcCompileProgram as *mut c_void,
        b"nvrtcGetCUBINSize" => nvrtcGetCUBINSize as *mut c_void,
        b"nvrtcGetCUBIN" => nvrtcGetCUBIN as *mut c_void,
        _ => return ptr::null_mut(),
    };
    // Of a library that lacks it, it lacks here too; and of two libraries only one is stood in for.
    let is_pseudo = library == libc::RTLD_DEFAULT || library == libc::RTLD_NEXT;
    // SAFETY: as above.
    let has_it = || !unsafe { real(library, name) }.is_null();
    if is_pseudo || session::get().is_none() || !has_it() {
        return ptr::null_mut();
    }
    let known =
        LIBRARY.compare_exchange(ptr::null_mut(), library, Ordering::Relaxed, Ordering::Relaxed);
    if known.is_ok() || known == Err(library) { function } else { ptr::null_mut() }
}

extern "C" fn none() -> *mut c_void {
    ptr::null_mut()
}

/// A symbol of a library, by the loader.
unsafe fn real(library: *mut c_void, name: *const c_char) -> *mut c_void {
    type Find = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    // SAFETY: `own` has stored the loader's function, or one that takes less and gives null.
    let find = unsafe { std::mem::transmute::<*mut c_void, Find>(REAL.load(Ordering::Relaxed)) };
    // SAFETY: the caller's.
    unsafe { find(library, name) }
}

/// NVRTC's function with a name.
fn nvrtc(name: &CStr) -> Option<*mut c_void> {
    let mut library = LIBRARY.load(Ordering::Relaxed);
    if library.is_null() {
        // The program is linked with it.
        library = libc::RTLD_NEXT;
        // SAFETY: it finds the loader's function first.
        unsafe { own(library, ptr::null()) };
    }
    // SAFETY: the name ends with a zero.
    let found = unsafe { real(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Code;
type Size = unsafe extern "C" fn(Program, *mut usize) -> Code;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> Code;

/// `NVRTC_ERROR_INTERNAL_ERROR`: there is no NVRTC.
const INTERNAL_ERROR: Code = 11;

fn programs<T>(with: impl FnOnce(&mut HashSet<usize>) -> T) -> T {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    with(programs.get_or_insert_default())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcCompileProgram(
    program: Program,
    count: c_int,
    options: *const *const c_char,
) -> Code {
    let Some(compile) = nvrtc(c"nvrtcCompileProgram") else { return INTERNAL_ERROR };
    // SAFETY: NVRTC's function of this name has this type.
    let compile = unsafe { std::mem::transmute::<*mut c_void, Compile>(compile) };
    programs(|programs| programs.remove(&(program as usize)));
    // SAFETY: the caller's.
    let for_ptx = guarded(|| unsafe { options_for_ptx(count, options) }).flatten();
    if let (Some(texts), Some(_), true) = (for_ptx, session::get(), fits_driver()) {
        let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        // SAFETY: the caller's program; the options live until the call returns.
        if unsafe { compile(program, count, pointers.as_ptr()) } == SUCCESS {
            programs(|programs| programs.insert(program as usize));
            return SUCCESS;
        }
    }
    // SAFETY: the caller's.
    unsafe { compile(program, count, options) }
}

/// Whether the driver is as new as NVRTC, and takes its PTX. An older one takes machine code alone.
fn fits_driver() -> bool {
    type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code;
    let Some(version) = nvrtc(c"nvrtcVersion") else { return false };
    let (mut major, mut minor, mut of_driver) = (0, 0, 0);
    // SAFETY: NVRTC's function of this name has this type; the pointers are to live variables.
    unsafe {
        let version = std::mem::transmute::<*mut c_void, Version>(version);
        version(&raw mut major, &raw mut minor) == SUCCESS
            && driver::driver_get_version(&raw mut of_driver) == SUCCESS
            && 1000 * major + 10 * minor <= of_driver
    }
}

/// The options with the architecture of PTX in the place of that of machine code. `None` if they ask for none.
unsafe fn options_for_ptx(count: c_int, options: *const *const c_char) -> Option<Vec<CString>> {
    let count = usize::try_from(count).ok().filter(|_| !options.is_null())?;
    // SAFETY: the caller gives so many options.
    let options = unsafe { std::slice::from_raw_parts(options, count) };
    let mut is_changed = false;
    let mut texts = Vec::new();
    for option in options {
        // SAFETY: each is a string.
        let text = unsafe { CStr::from_ptr(*option) }.to_str().ok()?;
        if text.contains("dlto") || text.contains("-ltoir") {
            return None;
        }
        let changed = ["--gpu-architecture=sm_", "-arch=sm_", "--gpu-architecture sm_", "sm_"]
            .iter()
            .find_map(|start| {
                let arch = text.strip_prefix(start)?;
                Some(format!("{}compute_{arch}", start.trim_end_matches("sm_")))
            });
        is_changed |= changed.is_some();
        texts.push(CString::new(changed.unwrap_or_else(|| text.to_owned())).ok()?);
    }
    is_changed.then_some(texts)
}

/// Calls the function of this name, or the one for PTX if the program was compiled to that.
macro_rules! machine_code {
    ($($name:ident, $type:ident($value:ident: $pointer:ty): $own:literal, $of_ptx:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(program: Program, $value: $pointer) -> Code {
                let is_ptx = programs(|programs| programs.contains(&(program as usize)));
                let Some(function) = nvrtc(if is_ptx { $of_ptx } else { $own }) else {
                    return INTERNAL_ERROR;
                };
                // SAFETY: NVRTC's function of this name has this type.
                let function = unsafe { std::mem::transmute::<*mut c_void, $type>(function) };
                // SAFETY: the caller's.
                unsafe { function(program, $value) }
            }
        )*
    };
}

machine_code! {
    nvrtcGetCUBINSize, Size(size: *mut usize): c"nvrtcGetCUBINSize", c"nvrtcGetPTXSize";
    nvrtcGetCUBIN, Text(text: *mut c_char): c"nvrtcGetCUBIN", c"nvrtcGetPTX";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_asked_for_in_the_place_of_machine_code() {
        let changed = |options: &[&CStr]| {
            let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
            // SAFETY: the options live, and there are so many.
            let texts = unsafe { options_for_ptx(pointers.len() as c_int, pointers.as_ptr()) };
            texts.map(|texts| {
                texts.iter().map(|text| text.to_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
            })
        };
        let options = [c"-I/sm_90", c"--gpu-architecture=sm_90a", c"-DX=sm_1"];
        let wanted = ["-I/sm_90", "--gpu-architecture=compute_90a", "-DX=sm_1"].map(str::to_owned);
        assert_eq!(changed(&options), Some(wanted.to_vec()));
        let options = [c"-arch", c"sm_80"];
        assert_eq!(changed(&options), Some(["-arch", "compute_80"].map(str::to_owned).to_vec()));
        // PTX is asked for already, or code that is linked later.
        assert_eq!(changed(&[c"-arch=compute_90"]), None);
        assert_eq!(changed(&[c"-arch=sm_90", c"-dlto"]), None);
        assert_eq!(changed(&[]), None);
        // SAFETY: there are none.
        assert_eq!(unsafe { options_for_ptx(0, ptr::null()) }, None);
    }
}
