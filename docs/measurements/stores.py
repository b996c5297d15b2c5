"""How fast an SM takes stores of all 32 lanes: what bounds records by `thread` (docs/how-it-costs.md).

Each warp stores 16 bytes a lane 24 times, one store right behind the other, and reads the clock after
each. Printed are those readings of warp 0 of block 0, in cycles since the first. Needs cupy.

    python3 docs/measurements/stores.py
"""

import cupy

STORES = 24
SOURCE = r"""
extern "C" __global__ void NAME(char* memory, char* apart, unsigned long long* cycles) {
    int lane = threadIdx.x % 32;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    char* room = memory + (size_t)warp * ROOM + lane * LANE_BYTES;
    int step = STEP;
    if (LANE_0_APART && lane == 0) { room = apart + (size_t)warp * 4096; step = 16; }
    unsigned long long at[STORES + 1];
    for (int round = 0; round < 3; round++) {
        unsigned long long begin = clock64();
        while (clock64() - begin < 20000) {}  // What was stored before has left the SM.
        __syncthreads();
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(at[0]) :: "memory");
        #pragma unroll
        for (int i = 0; i < STORES; i++) {
            if (lane < LANES)
                asm volatile("st.global.v4.u32 [%0], {%1, %2, %2, %2};"
                             :: "l"(room + (size_t)i * step), "r"((unsigned)at[i]), "r"(lane) : "memory");
            asm volatile("mov.u64 %0, %%clock64;" : "=l"(at[i + 1]) :: "memory");
        }
    }
    if (lane == 0 && warp == 0) for (int i = 0; i <= STORES; i++) cycles[i] = at[i] - at[0];
}
"""
# Bytes between two stores of a lane and between two lanes.
CASES = {
    "one lane, 16 bytes": dict(LANES=1, STEP=16, LANE_BYTES=16, ROOM=1 << 16, LANE_0_APART=0),
    "16 lanes side by side, 256 bytes": dict(LANES=16, STEP=256, LANE_BYTES=16, ROOM=1 << 16, LANE_0_APART=0),
    "32 lanes side by side, 512 bytes": dict(LANES=32, STEP=512, LANE_BYTES=16, ROOM=1 << 16, LANE_0_APART=0),
    "the same, lane 0 in a room of its own": dict(LANES=32, STEP=512, LANE_BYTES=16, ROOM=1 << 16, LANE_0_APART=1),
    "each lane in a room of its own": dict(LANES=32, STEP=16, LANE_BYTES=8192, ROOM=1 << 18, LANE_0_APART=0),
}

SHAPES = [(1, 32), (1, 256), (1, 1024), (132, 32), (132, 256), (132, 1024)]
WARPS = max(blocks * threads // 32 for blocks, threads in SHAPES)
memory = cupy.zeros(WARPS * max(values["ROOM"] for values in CASES.values()), dtype=cupy.uint8)
apart = cupy.zeros(WARPS * 4096, dtype=cupy.uint8)
cycles = cupy.zeros(STORES + 1, dtype=cupy.uint64)
for number, (case, values) in enumerate(CASES.items()):
    name = f"stores_{number}"
    definitions = "".join(f"#define {key} {value}\n" for key, value in values.items())
    source = f"#define STORES {STORES}\n#define NAME {name}\n{definitions}{SOURCE}"
    kernel = cupy.RawModule(code=source).get_function(name)
    for blocks, threads in SHAPES:
        for _ in range(3):
            kernel((blocks,), (threads,), (memory, apart, cycles))
        cupy.cuda.Device().synchronize()
        print(f"{case}, {blocks} blocks of {threads // 32} warps:", *cycles.get().tolist())
