// How long the host takes to launch a kernel that does nothing, and how many a second the GPU runs.
#include <chrono>
#include <cstdio>

__global__ void nothing(int* out) {
    if (out) *out = 1;
}

int main() {
    const int count = 200000;
    nothing<<<1, 32>>>(nullptr);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int round = 0; round < 5; ++round) {
        double host = 0;
        auto now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
        double begin = now();
        // So few at a time that the host never waits for the queue.
        for (int batch = 0; batch < count / 500; ++batch) {
            double start = now();
            for (int i = 0; i < 500; ++i) nothing<<<1, 32>>>(nullptr);
            host += now() - start;
            cudaDeviceSynchronize();
        }
        std::fprintf(stderr, "%.3f us a launch on the host, %.3f us in all\n", host / count * 1e6, (now() - begin) / count * 1e6);
    }
    std::printf("launches: %d\n", 5 * count);
}
