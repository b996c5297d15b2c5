//! The driver's functions: the names under which this library has them, and where the real ones are.

use core::arch::naked_asm;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

use profiler_wire::spool::DRIVER_VARIABLE;

const CUDA_ERROR_NO_DEVICE: c_int = 100;
const CUDA_ERROR_NOT_FOUND: c_int = 500;

/// The real functions, in the order of `NAMES`; null until one is called.
static TABLE: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];

/// Functions that jump to the real ones with all arguments as they are.
macro_rules! forward {
    ($($name:ident = $index:literal,)*) => {
        $(
            #[doc = "Forwards to the driver."]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "it is the driver's name")]
            extern "C" fn $name() {
                naked_asm!(
                    "mov r11, qword ptr [rip + {table} + 8 * {index}]",
                    "test r11, r11",
                    "jz 2f",
                    "jmp r11",
                    "2:",
                    "mov r11d, {index}",
                    "jmp {first}",
                    table = sym TABLE,
                    index = const $index,
                    first = sym first_call,
                )
            }
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Finds the real functions and jumps to the one whose number is in r11. All registers that may hold arguments are
/// as they were.
#[unsafe(naked)]
extern "C" fn first_call() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "push r11",
        "sub rsp, 136",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "call {fill}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 136",
        "pop r11",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "lea r10, [rip + {table}]",
        "mov r11, qword ptr [r10 + 8 * r11]",
        "jmp r11",
        fill = sym fill,
        table = sym TABLE,
    )
}

extern "C" fn no_driver() -> c_int {
    CUDA_ERROR_NO_DEVICE
}

extern "C" fn not_in_this_driver() -> c_int {
    CUDA_ERROR_NOT_FOUND
}

extern "C" fn fill() {
    static FILLED: Once = Once::new();
    FILLED.call_once(|| {
        let path = std::env::var(DRIVER_VARIABLE).ok().and_then(|path| CString::new(path).ok());
        let library = path.map_or(ptr::null_mut(), |path| {
            // SAFETY: loading the driver runs its initialisers, which the program asked for. It is never unloaded.
            unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }
        });
        for (name, entry) in NAMES.iter().zip(&TABLE) {
            let absent: extern "C" fn() -> c_int =
                if library.is_null() { no_driver } else { not_in_this_driver };
            let found = if library.is_null() {
                ptr::null_mut()
            } else {
                // SAFETY: the library is loaded, the name ends with a zero.
                unsafe { libc::dlsym(library, name.as_ptr()) }
            };
            entry.store(
                if found.is_null() { absent as *mut c_void } else { found },
                Ordering::Release,
            );
        }
    });
}

/// A real function. What is not in the driver returns an error.
pub(crate) fn real(index: usize) -> *mut c_void {
    let found = TABLE[index].load(Ordering::Acquire);
    if found.is_null() {
        fill();
        return TABLE[index].load(Ordering::Acquire);
    }
    found
}
