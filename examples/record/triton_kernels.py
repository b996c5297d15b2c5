"""Triton kernels of the usual kinds. Prints a hash of each result, and how long a launch takes."""

import hashlib
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + column, value / tl.sum(value, axis=0), mask=column < n)


@triton.jit
def layer_norm(out, x, weight, bias, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + column, mask=column < n, other=0.0)
        total += value
        squares += value * value
    mean = tl.sum(total, axis=0) / n
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n - mean * mean + eps)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < n
        value = tl.load(x + row * n + column, mask=inside, other=0.0)
        value = (value - mean) * scale * tl.load(weight + column, mask=inside)
        tl.store(out + row * n + column, value + tl.load(bias + column, mask=inside), mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    at_a = a + rows[:, None] * K + inner[None, :]
    at_b = b + inner[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(at_a), tl.load(at_b), acc)
        at_a += BK
        at_b += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@triton.jit
def persistent_matmul(
    a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, PROGRAMS):
        rows = tile // tiles_n * BM + tl.arange(0, BM)
        columns = tile % tiles_n * BN + tl.arange(0, BN)
        inner = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            left = tl.load(a + rows[:, None] * K + (start + inner)[None, :])
            right = tl.load(b + (start + inner)[:, None] * N + columns[None, :])
            acc = tl.dot(left, right, acc)
        tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, out, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * N * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    columns = tl.arange(0, BN)
    query = tl.load(q + head + rows[:, None] * D + depth[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        key = tl.load(k + head + (start + columns)[None, :] * D + depth[:, None])
        score = tl.dot(query, key) * scale
        new = tl.maximum(most, tl.max(score, 1))
        weight = tl.exp2(score - new[:, None])
        shrink = tl.exp2(most - new)
        total = total * shrink + tl.sum(weight, 1)
        value = tl.load(v + head + (start + columns)[:, None] * D + depth[None, :])
        acc = tl.dot(weight.to(tl.float16), value, acc * shrink[:, None])
        most = new
    tl.store(out + head + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(counts + (tl.load(x + at, mask=inside) & 63), 1, mask=inside)


def run(name, launch, result, launches):
    for _ in range(3):
        launch()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(launches):
        launch()
    end.record()
    end.synchronize()
    data = result.cpu().contiguous().view(torch.uint8).numpy().tobytes()
    us = begin.elapsed_time(end) * 1000 / launches
    print(f"{name}: {hashlib.sha256(data).hexdigest()[:16]}, {us:.1f} us a launch", flush=True)


def main(launches):
    torch.manual_seed(0)
    gpu = torch.device("cuda")
    half = {"device": gpu, "dtype": torch.float16}

    n = 1 << 24
    x, y, out = torch.randn(n, device=gpu), torch.randn(n, device=gpu), torch.empty(n, device=gpu)
    run("add", lambda: add[(n // 1024,)](x, y, out, n, BLOCK=1024), out, launches)

    rows, columns = 4096, 1000
    x, out = torch.randn(rows, columns, device=gpu), torch.empty(rows, columns, device=gpu)
    run("softmax", lambda: softmax[(rows,)](out, x, columns, columns, BLOCK=1024), out, launches)

    rows, columns = 4096, 8192
    x, out = torch.randn(rows, columns, device=gpu), torch.empty(rows, columns, device=gpu)
    weight, bias = torch.randn(columns, device=gpu), torch.randn(columns, device=gpu)
    norm = lambda: layer_norm[(rows,)](out, x, weight, bias, columns, 1e-5, BLOCK=2048, num_warps=8)
    run("layer_norm", norm, out, launches)

    size = 4096
    a, b = torch.randn(size, size, **half), torch.randn(size, size, **half)
    c = torch.empty(size, size, **half)
    tiles = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3}
    grid = (size // 128, size // 128)
    run("matmul", lambda: matmul[grid](a, b, c, size, size, size, **tiles), c, launches)
    sms = torch.cuda.get_device_properties(gpu).multi_processor_count
    persistent = lambda: persistent_matmul[(sms,)](a, b, c, size, size, size, PROGRAMS=sms, **tiles)
    run("persistent_matmul", persistent, c, launches)

    heads, length, depth = 64, 2048, 64
    q, k, v = (torch.randn(heads, length, depth, **half) for _ in range(3))
    out = torch.empty_like(q)
    shape = {"D": depth, "BM": 128, "BN": 64, "num_warps": 8, "num_stages": 3}
    grid = (length // 128, heads)
    run("attention", lambda: attention[grid](q, k, v, out, 0.18, length, **shape), out, launches)

    n = 1 << 20
    x = torch.randint(0, 1 << 20, (n,), device=gpu, dtype=torch.int32)
    counts = torch.zeros(64, device=gpu, dtype=torch.int32)
    run("histogram", lambda: histogram[(n // 1024,)](x, counts, n, BLOCK=1024), counts, launches)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
