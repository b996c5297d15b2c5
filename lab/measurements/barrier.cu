// What stands between a barrier and a clock read: how long a region around the barrier seems to last.
// 8 warps; warp 0 comes 10 000 cycles after the others. See barrier.md.
#include <cstdio>
#include <cstdint>
__device__ __forceinline__ unsigned long long c64(){unsigned long long t; asm volatile("mov.u64 %0, %%clock64;":"=l"(t)::"memory"); return t;}
// Each kernel reads the clock, waits as WAIT says, and reads the clock again.
#define KERNEL(name, WAIT) \
__global__ void name(unsigned long long* out, float* g){ __shared__ float s[1024]; int w=threadIdx.x/32; s[threadIdx.x]=threadIdx.x; \
  if(w==0){ unsigned long long a=c64(); while(c64()-a<10000); } \
  unsigned long long t0=c64(); WAIT; unsigned long long t1=c64(); float v=s[(threadIdx.x+33)%256]; g[threadIdx.x]=v; \
  if(threadIdx.x%32==0) out[w]=t1-t0; }
KERNEL(plain, __syncthreads())
KERNEL(barsync, asm volatile("bar.sync 0;":::"memory"))
KERNEL(barriersync, asm volatile("barrier.sync 0;":::"memory"))
KERNEL(barcount, asm volatile("bar.sync 0, 256;":::"memory"))
KERNEL(activem, { asm volatile("bar.sync 0;":::"memory"); unsigned m; asm volatile("activemask.b32 %0;":"=r"(m)::"memory"); })
KERNEL(warpsync, { asm volatile("bar.sync 0;":::"memory"); asm volatile("bar.warp.sync 0xffffffff;":::"memory"); })
KERNEL(membarcta, { asm volatile("bar.sync 0;":::"memory"); asm volatile("membar.cta;":::"memory"); })
KERNEL(ldsdep, { asm volatile("bar.sync 0;":::"memory"); float x; asm volatile("ld.volatile.shared.f32 %0, [%1];":"=f"(x):"r"((unsigned)__cvta_generic_to_shared(s)):"memory"); asm volatile("{.reg .pred p; setp.eq.f32 p, %0, 0f7fc0dead; @p trap;}"::"f"(x):"memory"); })
KERNEL(redor, { unsigned p; asm volatile("{.reg .pred q,r; setp.ne.u32 q, %1, 0; bar.red.or.pred r, 0, q; selp.u32 %0,1,0,r;}":"=r"(p):"r"(threadIdx.x):"memory"); asm volatile("{.reg .pred q; setp.eq.u32 q, %0, 77; @q trap;}"::"r"(p):"memory"); })
KERNEL(nano0, { asm volatile("bar.sync 0;":::"memory"); asm volatile("nanosleep.u32 0;":::"memory"); })
KERNEL(bratest, { asm volatile("bar.sync 0;":::"memory"); unsigned l; asm volatile("mov.u32 %0, %%laneid;":"=r"(l)::"memory"); asm volatile("{.reg .pred q; setp.eq.u32 q, %0, 77; @q trap;}"::"r"(l):"memory"); })
KERNEL(two, { asm volatile("bar.sync 0;":::"memory"); asm volatile("bar.sync 1, 32;":::"memory"); })
KERNEL(doubleread, { asm volatile("bar.sync 0;":::"memory"); unsigned long long z=c64(); asm volatile(""::"l"(z)); })
KERNEL(gtimer, { asm volatile("bar.sync 0;":::"memory"); unsigned long long z; asm volatile("mov.u64 %0, %%globaltimer;":"=l"(z)::"memory"); asm volatile(""::"l"(z)); })
KERNEL(clo32, { asm volatile("bar.sync 0;":::"memory"); unsigned z; asm volatile("mov.u32 %0, %%clock;":"=r"(z)::"memory"); asm volatile(""::"r"(z)); })
int main(){ unsigned long long* o; float* g; cudaMallocManaged(&o,8*32); cudaMalloc(&g,4096);
#define RUN(name) for(int r=0;r<2;r++){ name<<<1,256>>>(o,g); if(cudaDeviceSynchronize()!=cudaSuccess){printf("fail\n");return 1;} } printf("%-12s w0 %llu w1 %llu w5 %llu\n", #name, o[0],o[1],o[5]);
RUN(plain) RUN(barsync) RUN(barriersync) RUN(barcount) RUN(activem) RUN(warpsync) RUN(membarcta) RUN(ldsdep) RUN(redor) RUN(nano0) RUN(bratest) RUN(two) RUN(doubleread) RUN(gtimer) RUN(clo32)
 return 0; }
