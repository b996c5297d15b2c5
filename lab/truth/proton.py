"""The kernels of the test cross-check under Proton, Triton's profiler for the inside of kernels.

The same loop as that of the Rust kernels (truth/kernels/src/cross_check.rs): one region an iteration,
of dependent FMAs or of loads and stores, as the same inline PTX. Proton records a launch in a session
of its own, and the lengths of the regions are read from the Chrome trace that it writes. Appends a
line for each body, number of warps and mode to DIR/truth.jsonl; `truth table` lays them side by side.

    proton.py [--limit SECONDS] DIR
    proton.py --compile-only

With --compile-only no GPU is needed: kernels are compiled, and their machine code is checked: between
the two stamps of a region lies its body, all of it and nothing else of the loop.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import traceback
from collections import defaultdict

import triton
import triton.language as tl
import triton.profiler as proton
import triton.profiler.language as pl
from triton.profiler import mode

# As in truth/src/cross_check.rs.
GRID = 16
WARPS = (1, 4, 8)
# As many as Proton's default ring in shared memory holds for each of 8 warps, without a warning.
REGIONS = 32
WARM_UP = 8
# Iterations of the two launches whose difference is the true length.
ITERATIONS = (32, 1056)
TRUTH_LAUNCHES = 5

# FMAs of a body; the last one copies instead.
COPY = -1
BODIES = (0, 8, 32, 128, 512, 2048, COPY)
# Pairs of a load and a store in the body that copies; each is 16 bytes a thread.
COPIES = 8
LINE_BYTES = 16
WARP_BYTES = COPIES * 32 * LINE_BYTES

MODES = {
    "default": mode.Default(),
    "clock32": mode.Default(optimizations="clock32"),
    "clock32, time_shift": mode.Default(optimizations="clock32,time_shift"),
}

FMA = "fma.rn.f32 $0, $0, 0fC0000000, $0;\n"
# A body of more FMAs is a loop over so many, which it is a multiple of.
STRAIGHT = 128


def fmas(count):
    """Inline PTX of so many dependent FMAs."""
    if count <= STRAIGHT:
        return "mov.f32 $0, $1;\n" + FMA * count
    # Names within braces are local.
    return (
        "{\n"
        ".reg .b32 left; .reg .pred more;\n"
        "mov.f32 $0, $1;\n"
        f"mov.u32 left, {count // STRAIGHT};\n"
        "again:\n"
        '.pragma "nounroll";\n'
        + FMA * STRAIGHT
        + "sub.u32 left, left, 1;\n"
        "setp.ne.u32 more, left, 0;\n"
        "@more bra again;\n"
        "}\n"
    )


def copy():
    """Inline PTX of loads that miss L1, each with a store that waits for it.

    The zero in $4 ties the first address to x, and x to the last load.
    """
    pairs = "".join(
        f"ld.global.cg.v4.u32 {{a, b, c, d}}, [from + {offset}];\n"
        f"st.global.v4.u32 [to + {offset}], {{a, b, c, d}};\n"
        for offset in range(0, WARP_BYTES, 32 * LINE_BYTES)
    )
    return (
        "{\n"
        ".reg .b32 a, b, c, d, tie; .reg .b64 offset, from, to;\n"
        "mov.b32 tie, $1;\n"
        "and.b32 tie, tie, $4;\n"
        "cvt.u64.u32 offset, tie;\n"
        "add.u64 from, $2, offset;\n"
        "add.u64 to, $3, offset;\n"
        + pairs
        + "and.b32 tie, d, $4;\n"
        "mov.b32 a, $1;\n"
        "xor.b32 a, a, tie;\n"
        "mov.b32 $0, a;\n"
        "}\n"
    )


FMAS_8 = tl.constexpr(fmas(8))
FMAS_32 = tl.constexpr(fmas(32))
FMAS_128 = tl.constexpr(fmas(128))
FMAS_512 = tl.constexpr(fmas(512))
FMAS_2048 = tl.constexpr(fmas(2048))
COPY_PTX = tl.constexpr(copy())


@triton.jit
def work(x, source, target, zero, BODY: tl.constexpr):
    if BODY == 8:
        x = tl.inline_asm_elementwise(FMAS_8, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    elif BODY == 32:
        x = tl.inline_asm_elementwise(FMAS_32, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    elif BODY == 128:
        x = tl.inline_asm_elementwise(FMAS_128, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    elif BODY == 512:
        x = tl.inline_asm_elementwise(FMAS_512, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    elif BODY == 2048:
        x = tl.inline_asm_elementwise(FMAS_2048, "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1)
    elif BODY == -1:
        x = tl.inline_asm_elementwise(
            COPY_PTX, "=f,f,l,l,r", [x, source, target, zero], dtype=tl.float32, is_pure=False, pack=1
        )
    return x


@triton.jit
def clock(x):
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %clock64; // $1", "=l,f", [x], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def cross_check(
    results, source, target, iterations, zero,
    BODY: tl.constexpr, RECORDED: tl.constexpr, THREADS: tl.constexpr, WARP_BYTES: tl.constexpr,
):
    threads = tl.arange(0, THREADS)
    thread = tl.program_id(0) * THREADS + threads
    place = thread // 32 * WARP_BYTES + thread % 32 * 16
    begin_of_source = (source + place).to(tl.int64)
    begin_of_target = (target + place).to(tl.int64)
    zeros = threads * 0 + zero
    x = threads.to(tl.float32)
    tl.debug_barrier()
    begin = clock(x)
    done = 0
    while done < iterations:
        # Triton cannot count the iterations, and ptxas is told not to: the loop is not unrolled.
        done = tl.inline_asm_elementwise(
            '.pragma "nounroll"; add.u32 $0, $1, 1;', "=r,r", [done], dtype=tl.int32, is_pure=False, pack=1
        )
        x = work(x, begin_of_source, begin_of_target, zeros, 8)
        if RECORDED:
            pl.enter_scope("body")
        x = work(x, begin_of_source, begin_of_target, zeros, BODY)
        if RECORDED:
            pl.exit_scope("body")
        x = work(x, begin_of_source, begin_of_target, zeros, 8)
    elapsed = clock(x) - begin
    tl.store(results + 2 * thread, elapsed)
    # Whatever x is, so that the work is not left out.
    tl.store(results + 2 * thread + 1, x.to(tl.int32, bitcast=True).to(tl.int64))


class Buffers:
    """The memory of a launch of so many warps a block."""

    def __init__(self, warps):
        import torch

        self.warps = warps
        self.torch = torch
        size = GRID * warps * WARP_BYTES
        self.results = torch.zeros(GRID * warps * 32 * 2, dtype=torch.int64, device="cuda")
        self.source = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
        self.target = torch.zeros(size, dtype=torch.uint8, device="cuda")

    def launch(self, body, recorded, iterations):
        """Launches and waits; gives the compiled kernel and the mean of the warps' cycles."""
        self.target.zero_()
        compiled = cross_check[(GRID,)](
            self.results, self.source, self.target, iterations, 0,
            BODY=body, RECORDED=recorded, THREADS=32 * self.warps, WARP_BYTES=WARP_BYTES,
            num_warps=self.warps,
        )
        self.torch.cuda.synchronize()
        if body == COPY and not self.torch.equal(self.source, self.target):
            raise RuntimeError("the copy is not what was copied")
        return compiled, self.results.view(-1, 2)[::32, 0].double().mean().item()


def loop_cycles(buffers, body):
    """Cycles of an iteration without regions."""
    totals = []
    for iterations in ITERATIONS:
        # The first launch brings the code onto the GPU.
        launches = [buffers.launch(body, False, iterations) for _ in range(1 + TRUTH_LAUNCHES)]
        totals.append(statistics.median(cycles for _, cycles in launches[1:]))
    check_code(launches[0][0].asm["sass"], body, False)
    return (totals[1] - totals[0]) / (ITERATIONS[1] - ITERATIONS[0])


def record(buffers, body, proton_mode):
    """Lengths in cycles of the regions of one launch, but for the first ones of each warp."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "cross-check")
        try:
            proton.start(name, data="trace", backend="instrumentation", mode=proton_mode)
            compiled, _ = buffers.launch(body, True, REGIONS)
        finally:
            proton.finalize()
        check_code(compiled.asm["sass"], body, True)
        with open(name + ".chrome_trace", encoding="utf-8") as file:
            trace = json.load(file)
    return after_warm_up(durations(trace), GRID * buffers.warps)


def durations(trace):
    """Durations in cycles of the regions of each warp, in order, by (block, warp) as Proton names them.

    Proton writes cycles divided by a frequency of its own choosing, which it states.

    >>> event = {"name": "body", "pid": "k Core5 CTA0", "tid": "warp 1 (line 0)",
    ...          "args": {"Frequency (MHz)": 1000.0}}
    >>> durations({"traceEvents": [event | {"dur": 0.036}, event | {"dur": 8.197999954223633}]})
    {('k Core5 CTA0', 'warp 1 (line 0)'): [36, 8198]}
    >>> durations({"traceEvents": [event | {"dur": 0.036, "name": "other"}]})
    Traceback (most recent call last):
    ...
    RuntimeError: Proton's trace has a region "other"
    """
    of_warps = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["name"] != "body":
            raise RuntimeError(f"Proton's trace has a region \"{event['name']}\"")
        cycles = round(event["dur"] * event["args"]["Frequency (MHz)"])
        of_warps[event["pid"], event["tid"]].append(cycles)
    return dict(of_warps)


def after_warm_up(of_warps, warps):
    """All durations but the first ones of each warp, where nothing is missing.

    >>> len(after_warm_up({"a": [36] * 32, "b": [37] * 32}, 2))
    48
    >>> after_warm_up({"a": [36] * 31}, 1)
    Traceback (most recent call last):
    ...
    RuntimeError: Proton's trace has 1 warps with [31] regions, not 1 with 32
    """
    counts = sorted({len(regions) for regions in of_warps.values()})
    if len(of_warps) != warps or counts != [REGIONS]:
        raise RuntimeError(
            f"Proton's trace has {len(of_warps)} warps with {counts} regions, not {warps} with {REGIONS}"
        )
    return [duration for regions in of_warps.values() for duration in regions[WARM_UP:]]


def summary(numbers):
    """What truth/src/statistics.rs says of numbers."""
    ordered = sorted(numbers)

    def rank(part):
        # Halves away from zero, as in Rust.
        return ordered[int((len(ordered) - 1) * part + 0.5)]

    return {
        "count": len(ordered), "min": ordered[0], "median": rank(0.5), "p95": rank(0.95),
        "max": ordered[-1], "mean": statistics.fmean(ordered),
    }


def check_code(sass, body, recorded):
    """Checks the loop in the machine code: its body lies between two readings of the clock.

    >>> check_code("\\n".join(3 * ["CS2R R2, SR_CLOCKLO ;"] + 24 * ["FFMA R4, R4, -2, R4 ;"]), 8, False)
    >>> loop = ["FFMA R4, R4, -2, R4 ;"] * 8
    >>> stamp = ["CS2R.32 R5, SR_CLOCKLO ;"]
    >>> check_code("\\n".join(loop + stamp + loop + stamp + loop), 8, True)
    >>> block = ["again:"] + loop * 16 + ["@P0 BRA again ;"]
    >>> check_code("\\n".join(loop + stamp + block + stamp + loop), 512, True)
    >>> check_code("\\n".join(loop + block + loop), 2048, False)
    >>> check_code("\\n".join(loop + stamp + loop[1:] + stamp + loop + loop[:1]), 8, True)
    Traceback (most recent call last):
    ...
    RuntimeError: between the readings of the clock the loop has ffffffff|fffffff|fffffffff
    """
    steps = ""
    labels = {}
    for text in sass.splitlines():
        if text.endswith(":"):
            labels[text[:-1].strip()] = len(steps)
        elif "BRA" in text:
            begin = labels.get(text.split("BRA")[1].strip(" `();"), len(steps))
            # A loop within a body; the loop around it has more.
            if steps[begin:] == "f" * STRAIGHT:
                steps = f"{steps[:begin]}[{steps[begin:]}]"
        elif "FFMA" in text and ", -2, " in text:
            steps += "f"
        elif "SR_CLOCKLO" in text:
            steps += "|"
        elif "LDG.E.128" in text:
            steps += "l"
        elif "STG.E.128" in text:
            steps += "s"
    # The readings around the whole loop stand before the first FMA and after the last.
    loop = steps[steps.index("f") : steps.rindex("f") + 1]
    inside = "ls" * COPIES if body == COPY else "f" * body if body <= STRAIGHT else f"[{'f' * STRAIGHT}]"
    if loop != (f"ffffffff|{inside}|ffffffff" if recorded else f"ffffffff{inside}ffffffff"):
        raise RuntimeError(f"between the readings of the clock the loop has {loop}")


def compile_only(body, recorded, warps, proton_mode):
    """A kernel, compiled with Proton's instrumentation for an H200 that need not be there."""
    from triton._C.libtriton import passes
    from triton._C.libtriton import proton as dialect
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget
    from triton.profiler.flags import flags
    from triton.profiler.hooks.instrumentation import Instrumentation, InstrumentationHook

    shared_bytes_of_sm = 227 << 10

    def to_llvm_ir(manager):
        dialect.add_convert_proton_to_protongpu(
            manager, proton_mode.metric_type, proton_mode.sampling_strategy, proton_mode.sampling_options,
            proton_mode.granularity, proton_mode.buffer_strategy, proton_mode.buffer_type,
            proton_mode.buffer_size, shared_bytes_of_sm, InstrumentationHook.profile_buffer_size,
            InstrumentationHook.profile_buffer_alignment,
            mode.Optimize.CLOCK32 not in proton_mode.optimizations,
        )
        passes.common.add_cse(manager)
        dialect.add_allocate_proton_shared_memory(manager)

    def to_llvm(manager):
        dialect.add_allocate_proton_global_scratch_buffer(manager)
        dialect.add_convert_proton_nvidia_gpu_to_llvm(manager)

    flags.instrumentation_on = True
    backends["nvidia"].compiler.instrumentation = Instrumentation(
        {"ttgpuir_to_llvmir": to_llvm_ir, "llvmir_to_llvm": to_llvm}
    )
    triton.knobs.compilation.instrumentation_mode = str(proton_mode)
    constants = {"BODY": body, "RECORDED": recorded, "THREADS": 32 * warps, "WARP_BYTES": WARP_BYTES}
    source = triton.compiler.ASTSource(
        fn=cross_check,
        signature={
            "results": "*i64", "source": "*u8", "target": "*u8", "iterations": "i32", "zero": "i32",
        } | dict.fromkeys(constants, "constexpr"),
        constexprs=constants,
    )
    options = {"num_warps": warps, "instrumentation_mode": str(proton_mode)}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def reason():
    """The last exception, in one line; the whole of it goes to standard error."""
    traceback.print_exc()
    kind, value, _ = sys.exc_info()
    return " ".join(f"{kind.__name__}: {value}".split())[:400]


def measure(write, limit):
    """Measures everything, and writes a line for each; gives how many failed.

    What has not begun when `limit` is over is left out, and said to be.
    """
    def guarded(work):
        """What `work` adds to a line, or why it did not."""
        try:
            if time.monotonic() > limit:
                raise TimeoutError("left out: the time was over, see --limit")
            return work()
        except Exception:  # Whatever it is: the next one may do.
            return {"failed": reason()}

    failed = 0
    for warps in WARPS:
        memory = guarded(lambda: {"buffers": Buffers(warps)})
        empty = memory if "failed" in memory else guarded(
            lambda: {"cycles": loop_cycles(memory["buffers"], 0)}
        )
        for body in BODIES:
            truth = empty if "failed" in empty else guarded(
                lambda: {"truth_cycles": loop_cycles(memory["buffers"], body) - empty["cycles"] if body else 0.0}
            )
            for name, proton_mode in MODES.items():
                line = {
                    "profiler": "proton", "mode": name, "warps": warps,
                    "fmas": max(body, 0), "bytes": WARP_BYTES if body == COPY else 0,
                }
                line |= truth if "failed" in truth else truth | guarded(
                    lambda: {"recorded_cycles": summary(record(memory["buffers"], body, proton_mode))}
                )
                failed += "failed" in line
                write(line)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile-only", action="store_true", help="need no GPU, measure nothing")
    parser.add_argument("--limit", type=float, default=50.0, metavar="SECONDS",
                        help="begin nothing after so long (default 50)")
    parser.add_argument("dir", metavar="DIR", nargs="?", help="folder of truth.jsonl")
    arguments = parser.parse_args()
    limit = time.monotonic() + arguments.limit
    pl.enable_semantic("triton")
    if arguments.compile_only:
        # With time_shift the code is that of the mode without. Those of fewer warps are checked when
        # they are measured.
        kernels = [(False, MODES["default"]), (True, MODES["default"]), (True, MODES["clock32"])]
        for recorded, proton_mode in kernels:
            for body in BODIES:
                compiled = compile_only(body, recorded, WARPS[-1], proton_mode)
                check_code(compiled.asm["sass"], body, recorded)
        print("the machine code of all kernels is as it should be")
        return 0
    if arguments.dir is None:
        parser.error("DIR is needed, or --compile-only")
    with open(os.path.join(arguments.dir, "truth.jsonl"), "a", encoding="utf-8") as file:

        def write(line):
            line = {"test": "cross-check", "kind": "body"} | line
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(line, flush=True)

        return int(measure(write, limit) > 0)


if __name__ == "__main__":
    sys.exit(main())
