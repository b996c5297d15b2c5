"""What one recorded scope costs in Proton, Triton's profiler for the inside of kernels.

The same loop as that of the Rust kernels (bench/kernels/src/template.rs): bodies of dependent FMAs as
inline PTX, of which the first E are scopes. Proton's instrumentation is active, its session is not, so
that only what stands in the kernel is measured. Appends to DIR/record-cost.jsonl, or makes it.

    proton.py [--quick] DIR
    proton.py [--quick] --compile-only

With --compile-only no GPU is needed: kernels are compiled, and their machine code is checked: as many
FMAs as were written, and between the stamps of a scope as many as its body has.
"""

import argparse
import ctypes
import datetime
import json
import os
import statistics
import sys
import traceback

import triton
import triton.language as tl
import triton.profiler.language as pl
from triton.profiler.hooks.instrumentation import InstrumentationHook

ITERATIONS = 1024
LAUNCHES = 7
# A fifth of a millisecond.
CYCLES_TO_LAUNCH = 400_000
RECORDED = (0, 1, 2, 4)
REGIONS = 4
# Time in 32 bits, as Proton recommends for short kernels (its 32 bits of cycles wrap after 2.2 s at 1980 MHz): 8 bytes an event.
MODES = {
    "proton-shared-clock64": "default:buffer_type=shared",
    "proton-shared": "default:buffer_type=shared:optimizations=clock32",
    "proton-global": "default:buffer_type=global:buffer_size={bytes}:optimizations=clock32",
}
BYTES_PER_REGION = 16
# Bytes of a warp's ring in global memory; the size of the ring in shared memory is Proton's own choice.
RING_BYTES = 1024

FMA = "fma.rn.f32 $0, $0, 0fC0000000, $0;\n"


def fmas(count):
    """Inline PTX of so many dependent FMAs."""
    return "mov.f32 $0, $1;\n" + FMA * count


FMA_1 = tl.constexpr(fmas(1))
FMA_8 = tl.constexpr(fmas(8))
FMA_128 = tl.constexpr(fmas(128))


@triton.jit
def work(x, COUNT: tl.constexpr):
    if COUNT == 1:
        x = tl.inline_asm_elementwise(FMA_1, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    elif COUNT == 8:
        x = tl.inline_asm_elementwise(FMA_8, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    else:
        x = tl.inline_asm_elementwise(FMA_128, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    return x


@triton.jit
def clock(x):
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %clock64; // $1", "=l,f", [x], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def template(output, iterations, BODY: tl.constexpr, E: tl.constexpr, THREADS: tl.constexpr):
    threads = tl.arange(0, THREADS)
    x = threads.to(tl.float32)
    tl.debug_barrier()
    begin = clock(x)
    done = 0
    while done < iterations:
        # Opaque to the compiler, so that it cannot unroll the loop.
        done = tl.inline_asm_elementwise(
            "add.u32 $0, $1, 1;", "=r,r", [done], dtype=tl.int32, is_pure=False, pack=1
        )
        x = work(x, 8)
        if E >= 1:
            pl.enter_scope("first")
        x = work(x, BODY)
        if E >= 1:
            pl.exit_scope("first")
        x = work(x, 1)
        if E >= 2:
            pl.enter_scope("second")
        x = work(x, BODY)
        if E >= 2:
            pl.exit_scope("second")
        x = work(x, 1)
        if E >= 4:
            pl.enter_scope("third")
        x = work(x, BODY)
        if E >= 4:
            pl.exit_scope("third")
        x = work(x, 1)
        if E >= 4:
            pl.enter_scope("fourth")
        x = work(x, BODY)
        if E >= 4:
            pl.exit_scope("fourth")
        x = work(x, 1)
        x = work(x, 8)
    elapsed = clock(x) - begin
    place = output + 2 * (tl.program_id(0) * THREADS + threads)
    tl.store(place, elapsed)
    # Whatever x is, so that the work is not left out.
    tl.store(place + 1, x.to(tl.int32, bitcast=True).to(tl.int64))


def line(points):
    """Slope, intercept and R2 of the least-squares line through the points."""
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    return xy / xx, mean_y - xy / xx * mean_x, xy * xy / (xx * yy) if yy > 0 else None


def configurations(quick):
    """Warps, blocks of an SM and FMAs of a body, as in bench/src/measure.rs."""
    if quick:
        return [(warps, 1, 8) for warps in (1, 8, 32)]
    one = [(warps, 1) for warps in (1, 4, 8, 16, 32)]
    several = [(32, 2)] + [(warps, 4) for warps in (1, 4, 8, 16)]
    return [(warps, blocks, body) for body in (8, 128) for warps, blocks in one + several]


def activate(scheme, warps):
    pl.enable_semantic("triton")
    hook = InstrumentationHook(MODES[scheme].format(bytes=RING_BYTES * warps))
    hook.activate()
    return hook


class DoesNotFit(Exception):
    """An SM holds fewer blocks of a kernel than are to share it."""


def blocks_that_fit(compiled, threads):
    """How many blocks of a kernel an SM holds, as the driver says."""
    count = ctypes.c_int()
    ask = ctypes.CDLL("libcuda.so.1").cuOccupancyMaxActiveBlocksPerMultiprocessor
    function, shared = ctypes.c_void_p(compiled.function), ctypes.c_size_t(compiled.metadata.shared)
    code = ask(ctypes.byref(count), function, ctypes.c_int(threads), shared)
    if code != 0:
        raise RuntimeError(f"the driver does not say how many blocks fit an SM: error {code}")
    return count.value


def measure(scheme, warps, blocks_per_sm, body):
    import torch

    sm_count = torch.cuda.get_device_properties(0).multi_processor_count
    grid = (sm_count * blocks_per_sm,)
    threads = 32 * warps
    output = torch.zeros(grid[0] * threads * 2, dtype=torch.int64, device="cuda")
    medians, longest, kernels, spreads = [], [], [], []
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    compiled = None
    hook = activate(scheme, warps)
    try:
        # What the hook of a session would tell Proton at each launch is left out on purpose.
        for recorded in RECORDED:
            means, maxima, nanoseconds = [], [], []
            for launch in range(LAUNCHES + 1):
                # The stream waits until all is queued: the time to launch by Python is not the kernel's.
                torch.cuda._sleep(CYCLES_TO_LAUNCH)
                begin.record()
                compiled = template[grid](
                    output, ITERATIONS, BODY=body, E=recorded, THREADS=threads, num_warps=warps
                )
                end.record()
                torch.cuda.synchronize()
                if launch == 0 and blocks_that_fit(compiled, threads) < blocks_per_sm:
                    raise DoesNotFit
                if launch > 0:
                    elapsed = output.view(-1, 2)[::32, 0]
                    means.append(elapsed.double().mean().item() / ITERATIONS)
                    maxima.append(elapsed.max().item() / ITERATIONS)
                    nanoseconds.append(1e6 * begin.elapsed_time(end) / ITERATIONS)
            check_code(compiled.asm["sass"], body, recorded)
            medians.append((recorded, statistics.median(means)))
            longest.append((recorded, statistics.median(maxima)))
            kernels.append((recorded, statistics.median(nanoseconds)))
            spreads.append(max(means) - min(means))
    finally:
        hook.deactivate()
    slope, _, r2 = line(medians)
    # The kernel's driver knows what it takes; names differ between versions of Triton.
    return {
        "cycles_per_region": slope,
        "cycles_per_region_longest": line(longest)[0],
        "kernel_ns_per_region": line(kernels)[0],
        "r2": r2,
        "bytes_per_region": BYTES_PER_REGION,
        "registers": getattr(compiled, "n_regs", None),
        "baseline_cycles": medians[0][1],
        "iteration_cycles": medians,
        "spread": max(spreads),
    }


def check_code(sass, body, recorded):
    """Checks the loop in the machine code: its FMAs, by the clock's readings between them."""
    steps = ""
    for text in sass.splitlines():
        if "FFMA" in text and ", -2, " in text:
            steps += "f"
        elif "SR_CLOCKLO" in text:
            steps += "c"
    # The readings around the whole loop stand before the first FMA and after the last.
    found = [len(fmas) for fmas in steps[steps.index("f") : steps.rindex("f") + 1].split("c")]
    inside = [body, 1] * recorded
    rest = (REGIONS - recorded) * (body + 1) + 8
    expected = [8, *inside[:-1], 1 + rest] if recorded else [8 + rest]
    if found != expected:
        raise RuntimeError(f"the loop has FMAs {found} between readings, not {expected}")


def compile_only(scheme, warps, body, recorded):
    """A kernel, compiled for an H200 that need not be there."""
    from triton._C.libtriton import passes, proton
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget
    from triton.profiler.flags import flags
    from triton.profiler.hooks.instrumentation import Instrumentation, _interpret_mode

    shared_bytes_of_sm = 227 << 10
    mode = _interpret_mode(MODES[scheme].format(bytes=RING_BYTES * warps))

    def to_llvm_ir(manager):
        proton.add_convert_proton_to_protongpu(
            manager, mode.metric_type, mode.sampling_strategy, mode.sampling_options, mode.granularity,
            mode.buffer_strategy, mode.buffer_type, mode.buffer_size, shared_bytes_of_sm,
            InstrumentationHook.profile_buffer_size, InstrumentationHook.profile_buffer_alignment, False,
        )
        passes.common.add_cse(manager)
        proton.add_allocate_proton_shared_memory(manager)

    def to_llvm(manager):
        proton.add_allocate_proton_global_scratch_buffer(manager)
        proton.add_convert_proton_nvidia_gpu_to_llvm(manager)

    pl.enable_semantic("triton")
    flags.instrumentation_on = True
    backends["nvidia"].compiler.instrumentation = Instrumentation(
        {"ttgpuir_to_llvmir": to_llvm_ir, "llvmir_to_llvm": to_llvm}
    )
    triton.knobs.compilation.instrumentation_mode = str(mode)
    source = triton.compiler.ASTSource(
        fn=template,
        signature={"output": "*i64", "iterations": "i32"} | dict.fromkeys(("BODY", "E", "THREADS"), "constexpr"),
        constexprs={"BODY": body, "E": recorded, "THREADS": 32 * warps},
    )
    target = GPUTarget("cuda", 90, 32)
    options = {"num_warps": warps, "instrumentation_mode": str(mode)}
    return triton.compile(source, target=target, options=options)


def clock_mhz():
    """The highest frequency of the SMs' clock, as the driver says."""
    clock_rate, khz = 13, ctypes.c_int()
    code = ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(khz), clock_rate, 0)
    if code != 0:
        raise RuntimeError(f"the driver does not say the frequency of the SMs: error {code}")
    return khz.value // 1000


def header():
    """The first line of a file of results."""
    import torch

    known = torch.cuda.get_device_properties(0)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "measurement": "record-cost",
        "date": os.environ.get("BENCH_DATE", now),
        "gpu": known.name,
        "sm_count": known.multi_processor_count,
        "clock_mhz": clock_mhz(),
        "driver": os.environ.get("BENCH_DRIVER", "unknown"),
        "commit": os.environ.get("BENCH_COMMIT", "unknown"),
    }


def reason():
    """The last exception, in one line; the whole of it goes to standard error."""
    traceback.print_exc()
    kind, value, _ = sys.exc_info()
    return " ".join(f"{kind.__name__}: {value}".split())[:400]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="measure fewer launches")
    parser.add_argument("--compile-only", action="store_true", help="need no GPU, measure nothing")
    parser.add_argument("dir", metavar="DIR", nargs="?", help="folder of record-cost.jsonl")
    arguments = parser.parse_args()
    if arguments.compile_only:
        for scheme in MODES:
            for warps, _, body in configurations(arguments.quick):
                for recorded in RECORDED:
                    check_code(compile_only(scheme, warps, body, recorded).asm["sass"], body, recorded)
        print("the machine code of all kernels is as it should be")
        return 0
    if arguments.dir is None:
        parser.error("DIR is needed, or --compile-only")
    path = os.path.join(arguments.dir, "record-cost.jsonl")
    failed = 0
    with open(path, "a", encoding="utf-8") as file:
        if file.tell() == 0:
            file.write(json.dumps(header()) + "\n")
        for scheme in MODES:
            for warps, blocks_per_sm, body in configurations(arguments.quick):
                point = {"scheme": scheme, "warps": warps, "body": body, "blocks_per_sm": blocks_per_sm}
                try:
                    point |= measure(scheme, warps, blocks_per_sm, body)
                except DoesNotFit:
                    # As the Rust program does: blocks that run one after another share nothing.
                    print(f"{scheme}: {blocks_per_sm} blocks of {warps} warps do not fit an SM, left out")
                    continue
                except Exception:  # Whatever it is: the next configuration may do.
                    point |= {"failed": reason()}
                    failed += 1
                file.write(json.dumps(point) + "\n")
                file.flush()
                print(point, flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
