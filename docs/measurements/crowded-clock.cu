// How far two readings of the clock, one right behind the other, lie apart while other warps of the SM spin on it:
// no profiler, one block of 4, 8, 16 and 32 warps. Each warp spins as known work does, with pauses of other lengths.
//
//   nvcc -O3 -arch=sm_90 -o crowded-clock crowded-clock.cu && ./crowded-clock
#include <algorithm>
#include <cstdio>
#include <vector>

constexpr int REPEATS = 200;

__global__ void spins(long long *gaps, long long cycles) {
    const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (unsigned repeat = 0; repeat <= REPEATS; ++repeat) {
        const unsigned spread = (repeat * 32 + warp) * 0x9e3779b9u;
        const long long pause = (static_cast<unsigned long long>(spread) * 1024) >> 32;
        const long long start = clock64();
        while (clock64() - start < pause) {}
        const long long outer_begin = clock64();
        const long long begin = clock64();
        long long last = clock64();
        while (last - begin < cycles) last = clock64();
        const long long end = clock64();
        const long long outer_end = clock64();
        if (threadIdx.x % 32 == 0) {
            long long *to = gaps + 2 * (repeat * warps + warp);
            to[0] = begin - outer_begin;
            to[1] = outer_end - end;
        }
    }
}

int main() {
    std::printf("warps cycles readings: gap of two readings in a row, in cycles: median p95 p99 most; of a region's two, "
                "beyond their medians: p95 p99 most, %% by more than 8\n");
    for (int warps : {4, 8, 16, 32}) {
        for (long long cycles : {64LL, 256LL, 1000LL}) {
            const size_t count = 2 * (REPEATS + 1) * static_cast<size_t>(warps);
            long long *gaps;
            if (cudaMallocManaged(&gaps, count * sizeof *gaps) != cudaSuccess) return 1;
            spins<<<1, 32 * warps>>>(gaps, cycles);
            if (cudaDeviceSynchronize() != cudaSuccess) return 1;
            // Without the first repeat, in which the code comes into the instruction cache.
            const std::vector<long long> pairs(gaps + 2 * warps, gaps + count);
            std::vector<long long> single = pairs, both;
            std::sort(single.begin(), single.end());
            const auto at = [](const std::vector<long long> &all, double part) {
                return all[static_cast<size_t>(part * (all.size() - 1))];
            };
            const long long median = at(single, 0.5);
            for (size_t i = 0; i < pairs.size(); i += 2) both.push_back(pairs[i] + pairs[i + 1] - 2 * median);
            std::sort(both.begin(), both.end());
            const auto beyond = std::count_if(both.begin(), both.end(), [](long long more) { return more > 8; });
            std::printf("%2d %4lld %5zu: %lld %lld %lld %lld; %lld %lld %lld, %.2f %%\n", warps, cycles, single.size(),
                        median, at(single, 0.95), at(single, 0.99), single.back(), at(both, 0.95), at(both, 0.99),
                        both.back(), 100.0 * beyond / both.size());
            cudaFree(gaps);
        }
    }
}
