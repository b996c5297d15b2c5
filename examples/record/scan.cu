// A scan by blocks with shuffles, a switch, and atomics: what nvcc programs usually do.
#include <cstdio>
#include <cstdlib>
#include <vector>

__device__ __noinline__ unsigned mixed(unsigned x, int kind) {
    switch (kind & 3) {
        case 0: return x * 2654435761u;
        case 1: return x ^ (x >> 13);
        case 2: return x + 0x9e3779b9u;
        default: return (x << 7) | (x >> 25);
    }
}

__global__ void scan(const unsigned* in, unsigned* out, unsigned* counts, int n) {
    __shared__ unsigned warps[32];
    int at = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    unsigned x = at < n ? mixed(in[at], at) & 0xff : 0;
    atomicAdd(&counts[x & 15], 1u);
    for (int step = 1; step < 32; step *= 2) {
        unsigned other = __shfl_up_sync(0xffffffff, x, step);
        if (lane >= step) x += other;
    }
    if (lane == 31) warps[warp] = x;
    __syncthreads();
    if (warp == 0) {
        unsigned sum = lane < int(blockDim.x) / 32 ? warps[lane] : 0;
        for (int step = 1; step < 32; step *= 2) {
            unsigned other = __shfl_up_sync(0xffffffff, sum, step);
            if (lane >= step) sum += other;
        }
        warps[lane] = sum;
    }
    __syncthreads();
    if (at < n) out[at] = x + (warp > 0 ? warps[warp - 1] : 0);
}

int main() {
    const int n = 1 << 22;
    std::vector<unsigned> in(n), out(n), counts(16);
    for (int i = 0; i < n; ++i) in[i] = i;
    unsigned *a, *b, *c;
    if (cudaMalloc(&a, n * 4) || cudaMalloc(&b, n * 4) || cudaMalloc(&c, 64) || cudaMemset(c, 0, 64)) return 1;
    cudaMemcpy(a, in.data(), n * 4, cudaMemcpyHostToDevice);
    for (int launch = 0; launch < 50; ++launch) scan<<<n / 512, 512>>>(a, b, c, n);
    if (cudaMemcpy(out.data(), b, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    cudaMemcpy(counts.data(), c, 64, cudaMemcpyDeviceToHost);
    unsigned long long sum = 0;
    for (unsigned x : out) sum += x;
    std::printf("scan: %llu, %u of kind 3\n", sum, counts[3]);
}
