#!/usr/bin/env python3
"""Times the product that the example hopper_gemm computes, by cuBLAS through PyTorch.

Same extents and data as there: C = A x B in bf16, B given transposed, elements spread evenly from
-1/2 to 1/2. Each launch is timed by two CUDA events and waited for; the median counts, once with a
pause before each launch (rested) and once launch after launch (loaded). Prints one line of JSON.
"""

import argparse
import json
import statistics
import sys
import time

REPEATS = 15
PAUSE_SECONDS = 0.020
WARM_UP_SECONDS = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=8192, help="m, n and k (default: %(default)s)")
    size = parser.parse_args().size
    try:
        import torch
    except ImportError as error:
        print(f"PyTorch is needed: {error}", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print("PyTorch finds no GPU; `nvidia-smi` says whether there is one", file=sys.stderr)
        return 1

    torch.manual_seed(1)
    a, b = (
        (torch.rand(size, size, device="cuda", dtype=torch.float32) - 0.5).to(torch.bfloat16)
        for _ in range(2)
    )
    c = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)

    def launch() -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        torch.matmul(a, b.t(), out=c)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    # The first launch chooses and loads the kernel, so it counts for nothing.
    launch()
    rested = []
    for _ in range(REPEATS):
        time.sleep(PAUSE_SECONDS)
        rested.append(launch())
    begin = time.monotonic()
    while time.monotonic() - begin < WARM_UP_SECONDS:
        launch()
    loaded = [launch() for _ in range(REPEATS)]

    def teraflops(milliseconds: list[float]) -> float:
        return 2.0 * size**3 / (statistics.median(milliseconds) * 1e-3) / 1e12

    print(
        json.dumps(
            {
                "product": "cublas",
                "device": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "m": size,
                "n": size,
                "k": size,
                "tflops": {"rested": teraflops(rested), "loaded": teraflops(loaded)},
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
