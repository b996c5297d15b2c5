// A warp-specialised reduction: one warp of each block copies tiles by cp.async into a ring of stages, the others
// add them up. Stages are handed over by mbarriers.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda/barrier>
#include <cuda_pipeline.h>

constexpr int STAGES = 4, TILE = 1024, CONSUMERS = 96;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void pipeline(const float* in, float* out, int tiles) {
    __shared__ alignas(16) float ring[STAGES][TILE];
    __shared__ float sums[CONSUMERS];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier full[STAGES], empty[STAGES];
    if (threadIdx.x < STAGES) {
        init(&full[threadIdx.x], 32 + CONSUMERS);
        init(&empty[threadIdx.x], 32 + CONSUMERS);
    }
    __syncthreads();
    const float* base = in + size_t(blockIdx.x) * tiles * TILE;
    if (threadIdx.x < 32) {
        for (int tile = 0; tile < tiles; ++tile) {
            int stage = tile % STAGES;
            if (tile >= STAGES) empty[stage].arrive_and_wait();
            for (int i = threadIdx.x * 4; i < TILE; i += 128)
                __pipeline_memcpy_async(&ring[stage][i], base + size_t(tile) * TILE + i, 16);
            __pipeline_commit();
            __pipeline_wait_prior(0);
            (void)full[stage].arrive();
        }
    } else {
        int lane = threadIdx.x - 32;
        float sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            int stage = tile % STAGES;
            full[stage].arrive_and_wait();
            for (int i = lane; i < TILE; i += CONSUMERS) sum += ring[stage][i];
            if (tile + STAGES < tiles) (void)empty[stage].arrive();
        }
        sums[lane] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < CONSUMERS; ++i) sum += sums[i];
        out[blockIdx.x] = sum;
    }
}

static void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

int main() {
    const int blocks = 264, tiles = 256;
    std::vector<float> in(size_t(blocks) * tiles * TILE), out(blocks);
    unsigned state = 1;
    for (float& x : in) x = float((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24);
    float *device_in, *device_out;
    check(cudaMalloc(&device_in, in.size() * 4));
    check(cudaMalloc(&device_out, out.size() * 4));
    check(cudaMemcpy(device_in, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
    for (int launch = 0; launch < 50; ++launch) pipeline<<<blocks, 32 + CONSUMERS>>>(device_in, device_out, tiles);
    check(cudaGetLastError());
    check(cudaMemcpy(out.data(), device_out, out.size() * 4, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (float x : out) sum += x;
    std::printf("pipeline: %.6f\n", sum);
}
