// What an operation between two launches of one stream takes: how linear slots move their base, and what else could.
// 1000 launches of 132 warps that last 0, 5 or 20 us at 1980 MHz, each behind one operation that writes to the module's
// constant memory; microseconds a launch, medians of seven: by events around all of them, and of the host.
//
//     nvcc -O2 docs/measurements/launch-gap.cu -lcuda -o launch-gap && ./launch-gap
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        CUresult result = (call);                                                       \
        const char* text = nullptr;                                                     \
        if (result) { cuGetErrorString(result, &text); printf("%s: %s\n", #call, text); exit(1); } \
    } while (0)

const char* PTX = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .const .align 16 .b8 words[128];
.visible .entry work(.param .u32 cycles) {
    .reg .u64 %begin, %now, %cycles; .reg .u32 %word; .reg .pred %more;
    ld.param.u32 %word, [cycles];
    cvt.u64.u32 %cycles, %word;
    ld.const.u32 %word, [words + 40];
    mov.u64 %begin, %clock64;
again:
    mov.u64 %now, %clock64;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %more, %now, %cycles;
    @%more bra again;
    ret;
})";

const char* OPERATIONS[] = {"none", "memset of 32 bits", "memset of 4 x 8 bits", "copy of 4 bytes, pageable",
    "copy of 4 bytes, pinned", "copy of 4 bytes, device", "write value", "none, again"};

int main() {
    CUdevice device; CUcontext context; CUmodule module; CUfunction kernel; CUstream stream; CUevent begin, end;
    CUdeviceptr words, source; size_t bytes; void* pinned;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, PTX));
    CHECK(cuModuleGetFunction(&kernel, module, "work"));
    CHECK(cuModuleGetGlobal(&words, &bytes, module, "words"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&begin, 0));
    CHECK(cuEventCreate(&end, 0));
    CHECK(cuMemAlloc(&source, 4000));
    CHECK(cuMemAllocHost(&pinned, 4));
    for (unsigned cycles : {0u, 10000u, 40000u})
        for (int operation = 0; operation < 8; operation++) {
            std::vector<double> gpu, host;
            for (int repeat = 0; repeat < 7; repeat++) {
                CHECK(cuStreamSynchronize(stream));
                CHECK(cuEventRecord(begin, stream));
                auto start = std::chrono::steady_clock::now();
                for (unsigned launch = 0; launch < 1000; launch++) {
                    switch (operation) {
                        case 1: CHECK(cuMemsetD32Async(words + 40, launch, 1, stream)); break;
                        case 2: CHECK(cuMemsetD8Async(words + 40, launch & 255, 4, stream)); break;
                        case 3: CHECK(cuMemcpyHtoDAsync(words + 40, &launch, 4, stream)); break;
                        case 4: CHECK(cuMemcpyHtoDAsync(words + 40, pinned, 4, stream)); break;
                        case 5: CHECK(cuMemcpyDtoDAsync(words + 40, source + 4 * launch, 4, stream)); break;
                        case 6: CHECK(cuStreamWriteValue32(stream, words + 40, launch, 0)); break;
                    }
                    void* arguments[] = {&cycles};
                    CHECK(cuLaunchKernel(kernel, 132, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
                }
                std::chrono::duration<double, std::micro> enqueued = std::chrono::steady_clock::now() - start;
                CHECK(cuEventRecord(end, stream));
                CHECK(cuEventSynchronize(end));
                float milliseconds;
                CHECK(cuEventElapsedTime(&milliseconds, begin, end));
                gpu.push_back(milliseconds);
                host.push_back(enqueued.count() / 1000);
            }
            std::sort(gpu.begin(), gpu.end());
            std::sort(host.begin(), host.end());
            printf("%5u cycles  %-26s %7.3f us a launch, host %7.3f us\n", cycles, OPERATIONS[operation], gpu[3], host[3]);
        }
}
