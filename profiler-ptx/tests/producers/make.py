"""Compiles kernels to PTX by Triton, nvcc, NVRTC, numba and clang, without a GPU: make.py EXAMPLES NVIDIA WAIT_CU OUT."""

import os
import subprocess
import sys
import types

EXAMPLES, NVIDIA, WAIT_CU, OUT = sys.argv[1:]
# The kernels' file imports torch for its main program alone.
sys.modules["torch"] = types.ModuleType("torch")
sys.path.insert(0, EXAMPLES)
sys.dont_write_bytecode = True

import triton
from cuda.bindings import nvrtc
from numba import cuda, float32
import triton_kernels as kernels
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HALF, FLOAT, INT = "*fp16", "*fp32", "*i32"
TILES = {"BM": 128, "BN": 128, "BK": 64}
KERNELS = {
    "add": ({"x": FLOAT, "y": FLOAT, "out": FLOAT, "n": "i32"}, {"BLOCK": 1024}, 4),
    "softmax": ({"out": FLOAT, "x": FLOAT, "stride": "i32", "n": "i32"}, {"BLOCK": 1024}, 4),
    "layer_norm": (
        {"out": FLOAT, "x": FLOAT, "weight": FLOAT, "bias": FLOAT, "n": "i32", "eps": "fp32"},
        {"BLOCK": 2048},
        8,
    ),
    "matmul": ({"a": HALF, "b": HALF, "c": HALF, "M": "i32", "N": "i32", "K": "i32"}, TILES, 8),
    "persistent_matmul": (
        {"a": HALF, "b": HALF, "c": HALF, "M": "i32", "N": "i32", "K": "i32"},
        {"PROGRAMS": 132, **TILES},
        8,
    ),
    "attention": (
        {"q": HALF, "k": HALF, "v": HALF, "out": HALF, "scale": "fp32", "N": "i32"},
        {"D": 64, "BM": 128, "BN": 64},
        8,
    ),
    "histogram": ({"x": INT, "counts": INT, "n": "i32"}, {"BLOCK": 1024}, 4),
}


def triton_ptx(name, capability):
    parameters, constants, warps = KERNELS[name]
    names = list(parameters) + list(constants)
    signature = {**parameters, **{constant: "constexpr" for constant in constants}}
    # As launches with tensors and sizes like the examples' tell it.
    aligned = [at for at, key in enumerate(parameters) if parameters[key][0] == "*" or key in "NKn"]
    source = ASTSource(
        getattr(kernels, name),
        signature=signature,
        constexprs={(names.index(key),): value for key, value in constants.items()},
        attrs={(at,): [["tt.divisibility", 16]] for at in aligned},
    )
    options = {"num_warps": warps, "num_stages": 3}
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options).asm["ptx"]


def checked(result):
    status, *values = result
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, status
    return values[0] if values else None


def nvrtc_ptx(path, capability):
    with open(path, "rb") as file:
        program = checked(nvrtc.nvrtcCreateProgram(file.read(), path.encode(), 0, [], []))
    options = [f"--gpu-architecture=compute_{capability}".encode(), b"-lineinfo"]
    checked(nvrtc.nvrtcCompileProgram(program, len(options), options))
    ptx = b" " * checked(nvrtc.nvrtcGetPTXSize(program))
    checked(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx.rstrip(b"\0").decode()


def row_sums(x, out):
    part = cuda.shared.array(256, float32)
    thread = cuda.threadIdx.x
    total = float32(0)
    for column in range(thread, x.shape[1], 256):
        total += x[cuda.blockIdx.x, column]
    part[thread] = total
    half = 128
    while half > 0:
        cuda.syncthreads()
        if thread < half:
            part[thread] += part[thread + half]
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = part[0]


def numba_ptx(capability):
    types = (float32[:, :], float32[:])
    ptx, _ = cuda.compile_ptx(row_sums, types, cc=(capability // 10, capability % 10), lineinfo=True)
    return ptx


for capability in (80, 90, 100, 120):
    for name, ptx in (("nvrtc-wait", nvrtc_ptx(WAIT_CU, capability)), ("numba-row_sums", numba_ptx(capability))):
        with open(os.path.join(OUT, f"{name}-{capability}.ptx"), "w") as file:
            file.write(ptx)
    for name in KERNELS:
        with open(os.path.join(OUT, f"triton-{name}-{capability}.ptx"), "w") as file:
            file.write(triton_ptx(name, capability))
path = f"{NVIDIA}/bin:{NVIDIA}/nvvm/bin:{os.environ['PATH']}"
includes = ["-I", f"{NVIDIA}/include", "-I", f"{NVIDIA}/include/cccl"]
WAIT_C = os.path.join(os.path.dirname(__file__), "wait.c")
for capability in (80, 90):
    out = os.path.join(OUT, f"clang-wait-{capability}.ptx")
    target = ["--target=nvptx64-nvidia-cuda", f"-march=sm_{capability}", "-O2", "-gline-tables-only"]
    subprocess.run(["clang-19", *target, "-S", WAIT_C, "-o", out], check=True)
    for name in ("pipeline", "scan", "launches"):
        out = os.path.join(OUT, f"nvcc-{name}-{capability}.ptx")
        nvcc = [f"{NVIDIA}/bin/nvcc", "-std=c++17", "-lineinfo", "-ptx", f"-arch=compute_{capability}"]
        command = [*nvcc, *includes, os.path.join(EXAMPLES, f"{name}.cu"), "-o", out]
        subprocess.run(command, check=True, env={**os.environ, "PATH": path})
