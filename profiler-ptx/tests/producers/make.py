"""Compiles kernels to PTX by Triton and nvcc, without a GPU: make.py EXAMPLES NVIDIA OUT."""

import os
import subprocess
import sys
import types

EXAMPLES, NVIDIA, OUT = sys.argv[1:]
# The kernels' file imports torch for its main program alone.
sys.modules["torch"] = types.ModuleType("torch")
sys.path.insert(0, EXAMPLES)
sys.dont_write_bytecode = True

import triton
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


for capability in (80, 90, 100, 120):
    for name in KERNELS:
        with open(os.path.join(OUT, f"triton-{name}-{capability}.ptx"), "w") as file:
            file.write(triton_ptx(name, capability))
path = f"{NVIDIA}/bin:{NVIDIA}/nvvm/bin:{os.environ['PATH']}"
includes = ["-I", f"{NVIDIA}/include", "-I", f"{NVIDIA}/include/cccl"]
for capability in (80, 90):
    for name in ("pipeline", "scan", "launches"):
        out = os.path.join(OUT, f"nvcc-{name}-{capability}.ptx")
        nvcc = [f"{NVIDIA}/bin/nvcc", "-std=c++17", "-lineinfo", "-ptx", f"-arch=compute_{capability}"]
        command = [*nvcc, *includes, os.path.join(EXAMPLES, f"{name}.cu"), "-o", out]
        subprocess.run(command, check=True, env={**os.environ, "PATH": path})
