//! A context of the program's: what this library has in it.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use profiler_wire::descriptor::{block_magic, offset};
use profiler_wire::spool::Entry;

use crate::driver::{self, Handle, SUCCESS};
use crate::module::Memory;

/// Switches records of a module on or off, and reads the time.
const SWITCH: &CStr = c"\
.version 7.0
.target sm_70
.address_size 64
.visible .entry profiler_switch(
	.param .u64 descriptor, .param .u64 version_and_flags, .param .u32 slot_base, .param .u64 stamp,
	.param .u64 block_magic, .param .u32 block_stride
)
{
	.reg .pred %p;
	.reg .b32 %base, %stride;
	.reg .b64 %descriptor, %value, %stamp, %time, %magic;
	ld.param.u64 %descriptor, [descriptor];
	ld.param.u64 %value, [version_and_flags];
	ld.param.u32 %base, [slot_base];
	ld.param.u64 %stamp, [stamp];
	ld.param.u64 %magic, [block_magic];
	ld.param.u32 %stride, [block_stride];
	setp.ne.u64 %p, %descriptor, 0;
	@%p st.global.u32 [%descriptor+40], %base;
	@%p st.global.u64 [%descriptor+120], %magic;
	@%p st.global.u32 [%descriptor+88], %stride;
	@%p st.global.u64 [%descriptor], %value;
	mov.u64 %time, %globaltimer;
	st.relaxed.sys.global.u64 [%stamp], %time;
	ret;
}
";

/// Launches of which the time can be on its way at once.
const STAMPS: usize = 4096;
/// `CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP`.
const MAPPED: u32 = 3;

/// Pairs of times, in pages of their own.
#[repr(align(65536))]
struct Stamps {
    pairs: [[u64; 2]; STAMPS],
}
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// What this library has in a context. It stays until the program ends.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) context: Handle,
    /// The number in the file.
    pub(crate) number: u32,
    pub(crate) sm_count: u32,
    /// A stream of its own, which waits for no other.
    pub(crate) stream: Handle,
    pub(crate) switcher: Switcher,
    /// Pairs of times that the GPU writes. They are the process's own memory, and stay when the context goes.
    stamps: *mut [u64; 2],
    free: Vec<u32>,
    /// Memory that modules have left.
    pub(crate) unused: Vec<Memory>,
    /// Bytes for records that are left.
    pub(crate) memory: u64,
}

// SAFETY: the driver's handles and the host's memory are those of the process, not of a thread.
unsafe impl Send for Context {}

/// What launches the kernel that switches records and reads the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switcher {
    kernel: Handle,
    /// Where the GPU finds the times.
    stamps: u64,
}

/// What is written to a module's descriptor; an address of 0 stands for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switch {
    pub(crate) descriptor: u64,
    /// The version and the flags.
    pub(crate) value: [u32; 2],
    pub(crate) slot_base: u32,
    /// Every how many-th block records.
    pub(crate) stride: u32,
}

// The kernel has their places.
const _: () = assert!(offset::VERSION == 0 && offset::FLAGS == 4 && offset::SLOT_BASE == 40);
const _: () = assert!(offset::BLOCK_MAGIC == 120 && offset::BLOCK_STRIDE == 88);

impl Context {
    /// Makes what is needed in a context, which must be current. `None` if the driver refuses something.
    pub(crate) fn new(context: Handle, number: u32, memory: u64) -> Option<(Self, Entry)> {
        let (mut device, mut version) = (0, 0);
        // SAFETY: the pointers are to live variables.
        let codes = unsafe {
            [driver::ctx_get_device(&raw mut device), driver::driver_get_version(&raw mut version)]
        };
        if codes != [SUCCESS; 2] {
            return None;
        }
        let mut name = [0_u8; 256];
        // SAFETY: the buffer has the size that is given.
        unsafe { driver::device_get_name(name.as_mut_ptr().cast(), name.len() as c_int, device) };
        let name = CStr::from_bytes_until_nul(&name).map(CStr::to_string_lossy).unwrap_or_default();
        // SAFETY: the text ends with a zero; no option is given.
        let library = driver::handle(|library| unsafe {
            let none = ptr::null_mut();
            driver::library_load_data(
                library,
                SWITCH.as_ptr().cast(),
                none,
                none.cast(),
                0,
                none,
                none.cast(),
                0,
            )
        })?;
        // SAFETY: the library was just loaded.
        let switch = driver::handle(|kernel| unsafe {
            driver::library_get_kernel(kernel, library, c"profiler_switch".as_ptr())
        })?;
        // SAFETY: the pointer is to a live variable.
        let stream =
            driver::handle(|stream| unsafe { driver::stream_create(stream, NON_BLOCKING) })?;
        let stamps = Box::leak(Box::new(Stamps { pairs: [[0; 2]; STAMPS] }));
        let stamps = &raw mut stamps.pairs;
        let mut of_gpu = 0;
        // SAFETY: so many bytes are there for ever, in pages of their own; the pointer is to a live variable.
        let codes = unsafe {
            [
                driver::mem_host_register(stamps.cast(), size_of::<Stamps>(), MAPPED),
                driver::mem_host_address(&raw mut of_gpu, stamps.cast(), 0),
            ]
        };
        if codes != [SUCCESS; 2] {
            return None;
        }
        let (mut free, mut total) = (0, 0);
        // SAFETY: as above.
        unsafe { driver::mem_get_info(&raw mut free, &raw mut total) };
        let sm_count = driver::attribute(driver::SM_COUNT, device);
        let entry = Entry::Device {
            name: name.into_owned(),
            capability: driver::capability(device),
            sm_count,
            driver: u32::try_from(version).unwrap_or(0),
        };
        let context = Self {
            context,
            number,
            sm_count,
            stream,
            switcher: Switcher { kernel: switch, stamps: of_gpu },
            stamps: stamps.cast(),
            free: (0..STAMPS as u32).rev().collect(),
            unused: Vec::new(),
            // The program has to have most of it.
            memory: memory.min(free as u64 / 4),
        };
        Some((context, entry))
    }

    /// A free pair of times.
    pub(crate) fn take_stamps(&mut self) -> Option<u32> {
        let index = self.free.pop()?;
        // SAFETY: the pair is in the memory, and no kernel that was launched writes to it any more.
        unsafe { self.stamps.add(index as usize).write_volatile([0; 2]) };
        Some(index)
    }

    /// Whether a pair has its second time.
    pub(crate) fn has_ended(&self, index: u32) -> bool {
        // SAFETY: the pair is in the memory. The GPU writes each half at once.
        unsafe { self.stamps.add(index as usize).read_volatile()[1] != 0 }
    }

    /// The times of a pair, once both are there. The pair is free then.
    pub(crate) fn read_stamps(&mut self, index: u32) -> Option<[u64; 2]> {
        // SAFETY: the pair is in the memory. The GPU writes each half at once.
        let stamps = unsafe { self.stamps.add(index as usize).read_volatile() };
        if stamps.contains(&0) {
            return None;
        }
        self.free.push(index);
        Some(stamps)
    }
}

impl Switcher {
    /// Lets the stream write the time, and before that what switches a module. Says whether the driver took it.
    pub(crate) fn launch(
        self,
        stream: Handle,
        is_per_thread: bool,
        switch: Switch,
        stamps: u32,
        is_end: bool,
    ) -> bool {
        let Switch { mut descriptor, value: [version, flags], mut slot_base, mut stride } = switch;
        let mut value = u64::from(version) | u64::from(flags) << 32;
        let mut stamp = self.stamps + u64::from(stamps) * 16 + u64::from(is_end) * 8;
        let mut magic = block_magic(stride);
        let mut parameters: [*mut c_void; 6] = [
            (&raw mut descriptor).cast(),
            (&raw mut value).cast(),
            (&raw mut slot_base).cast(),
            (&raw mut stamp).cast(),
            (&raw mut magic).cast(),
            (&raw mut stride).cast(),
        ];
        let launch = if is_per_thread { driver::launch_kernel_ptsz } else { driver::launch_kernel };
        let (kernel, parameters) = (self.kernel, parameters.as_mut_ptr());
        // SAFETY: the kernel has these parameters, which are copied by the call, and both addresses are its to
        // write to.
        let code =
            unsafe { launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, ptr::null_mut()) };
        code == SUCCESS
    }
}
