//! What kernels take of an SM, beside what their launch bounds leave them.
#![allow(clippy::print_stdout, reason = "figures for whoever runs the tests on a GPU")]

use std::fmt::Write;

use cust::device::{Device, DeviceAttribute};
use cust::module::Module;
use profiler_host::{Backend, BackendChoice, Error, KernelResources, kernel_resources};

/// Values that each thread of the hungry kernels holds at once, a register each.
const VALUES: usize = 128;
/// Threads of a block of theirs.
const THREADS: u32 = 256;
/// Static shared memory of a block of `shared`.
const SHARED_BYTES: u32 = 32 << 10;

/// A kernel that reads so many values and only then writes them, the last one first.
fn kernel(text: &mut String, name: &str, bounds: &str, values: usize) {
    write!(
        text,
        ".visible .entry {name}(.param .u64 p_values)\n{bounds}{{\n\
         .reg .b32 v<{values}>;\n.reg .b64 x;\n\
         ld.param.u64 x, [p_values];\ncvta.to.global.u64 x, x;\n"
    )
    .expect("to a string");
    for value in 0..values {
        writeln!(text, "ld.volatile.global.u32 v{value}, [x+{}];", 4 * value).expect("to a string");
    }
    for value in (0..values).rev() {
        writeln!(text, "st.volatile.global.u32 [x], v{value};").expect("to a string");
    }
    text.push_str("ret;\n}\n");
}

/// `free` may take all registers that it wants, of `blocks_N` N blocks must fit an SM, `few` wants
/// few, and `shared` has shared memory.
fn ptx() -> String {
    let mut text = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    kernel(&mut text, "free", "", VALUES);
    kernel(&mut text, "few", "", 4);
    for blocks in [2, 3, 4] {
        let bounds = format!(".maxntid {THREADS}, 1, 1\n.minnctapersm {blocks}\n");
        kernel(&mut text, &format!("blocks_{blocks}"), &bounds, VALUES);
    }
    write!(
        text,
        "
.visible .entry shared(.param .u64 p_values) {{
    .shared .align 4 .b8 tile[{SHARED_BYTES}];
    .reg .b64 x;
    .reg .b32 a, b;
    ld.param.u64 x, [p_values];
    cvta.to.global.u64 x, x;
    mov.u32 a, %tid.x;
    shl.b32 a, a, 2;
    mov.u32 b, tile;
    add.u32 a, a, b;
    st.volatile.shared.u32 [a], b;
    ld.volatile.shared.u32 b, [a];
    st.volatile.global.u32 [x], b;
    ret;
}}
"
    )
    .expect("to a string");
    text
}

/// A limit of each SM.
fn of_sm(attribute: DeviceAttribute) -> u32 {
    let device = Device::get_device(0).expect("a GPU");
    device.get_attribute(attribute).expect("a limit").try_into().expect("a number of things")
}

/// How many blocks registers and threads let on an SM (CUDA C++ Programming Guide, "Compute
/// Capabilities"): a quarter of an SM has a quarter of its registers, and gives them to warps in
/// pieces of 256.
fn expected_blocks(registers: u32, threads: u32) -> u32 {
    let of_quarter = of_sm(DeviceAttribute::MaxRegistersPerMultiprocessor) / 4;
    let warps = 4 * (of_quarter / (registers * 32).next_multiple_of(256));
    let by_registers = warps / threads.div_ceil(32);
    by_registers.min(of_sm(DeviceAttribute::MaxThreadsPerMultiprocessor) / threads)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn what_a_kernel_takes_goes_with_its_launch_bounds() {
    let _context = cust::quick_init().expect("a GPU");
    let module = Module::from_ptx(ptx(), &[]).expect("the module loads");
    let resources = |name: &str, threads: u32| {
        let function = module.get_function(name).expect("the kernel");
        let resources = kernel_resources(&function, threads, 0).expect("its resources");
        println!("{name} in blocks of {threads}: {resources:?}");
        resources
    };
    let free = resources("free", THREADS);
    assert!(free.registers > VALUES as u32 && free.local_bytes == 0, "{free:?}");
    assert_eq!(free.blocks_per_sm, expected_blocks(free.registers, THREADS));
    // As annotations do, if less: more registers, fewer blocks.
    let few = resources("few", THREADS);
    assert!(few.registers < 32 && few.blocks_per_sm > free.blocks_per_sm, "{few:?}");
    let mut local_bytes = 0;
    for blocks in [2, 3, 4] {
        let bounded = resources(&format!("blocks_{blocks}"), THREADS);
        let most = of_sm(DeviceAttribute::MaxRegistersPerMultiprocessor) / (blocks * THREADS);
        assert!(bounded.registers <= most, "{bounded:?}");
        assert_eq!(bounded.blocks_per_sm, expected_blocks(bounded.registers, THREADS));
        assert!(bounded.blocks_per_sm >= blocks, "{bounded:?}");
        // What finds no register is in local memory.
        assert!(bounded.local_bytes > local_bytes, "{bounded:?}");
        assert!(bounded.local_bytes >= 4 * (VALUES as u32).saturating_sub(most), "{bounded:?}");
        local_bytes = bounded.local_bytes;
    }
    // The same kernel in other blocks: of two dimensions, and larger than its bounds allow.
    let function = module.get_function("blocks_4").expect("the kernel");
    let in_blocks = |block: (u32, u32)| kernel_resources(&function, block, 0).expect("resources");
    assert_eq!(in_blocks((64, 4)), resources("blocks_4", THREADS));
    let small = in_blocks((32, 2));
    assert_eq!(small.blocks_per_sm, expected_blocks(small.registers, 64));
    for refused in [(THREADS + 1, 1), (u32::MAX, u32::MAX), (0, 1)] {
        assert_eq!(in_blocks(refused), KernelResources { blocks_per_sm: 0, ..small });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn shared_memory_leaves_buffer_for_fewer_blocks() {
    let backend = Backend::choose(BackendChoice::Gpu, Some(ptx().leak())).expect("a backend");
    let major = backend.device_info().compute_capability.map_or(0, |(major, _)| major);
    // From compute capability 8.0 on CUDA keeps a KiB of each block for itself (CUDA C++ Programming
    // Guide, "Shared Memory").
    let reserved = if major >= 8 { 1024 } else { 0 };
    let of_sm = of_sm(DeviceAttribute::MaxSharedMemoryPerMultiprocessor);
    for dynamic in [0, 8 << 10, 40 << 10] {
        let resources = backend.resources("shared", 64, dynamic).expect("its resources");
        println!("with {dynamic} bytes of dynamic shared memory: {resources:?}");
        assert_eq!(resources.shared_bytes, SHARED_BYTES);
        let expected = of_sm / (SHARED_BYTES + dynamic + reserved);
        assert_eq!(resources.blocks_per_sm, expected, "{resources:?}");
    }
    let error = backend.resources("shared", 64, 1 << 20).expect_err("more than an SM has");
    assert!(matches!(error, Error::Cuda { .. }), "{error}");
    let error = backend.resources("missing", 64, 0).expect_err("no such kernel");
    assert!(matches!(error, Error::NoKernel { .. }), "{error}");

    // A function is allowed so much only where the program says so, as this one does not.
    let module = Module::from_ptx(ptx(), &[]).expect("the module loads");
    let function = module.get_function("shared").expect("the kernel");
    let blocks = |dynamic| kernel_resources(&function, 64, dynamic).expect("it").blocks_per_sm;
    assert!(blocks(8 << 10) > 0);
    assert_eq!(blocks(40 << 10), 0);
}
