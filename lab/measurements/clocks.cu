// Each SM reads its cycle counter and the global timer, again and again; see clocks.md.
#include <cstdio>
#include <cstdint>
__global__ void k(unsigned long long* out, int n, int gap){ unsigned sm; asm volatile("mov.u32 %0,%%smid;":"=r"(sm)); 
  for(int i=0;i<n;i++){ unsigned long long a,g,b; int t=0; do { asm volatile("mov.u64 %0,%%clock64;\n mov.u64 %1,%%globaltimer;\n mov.u64 %2,%%clock64;":"=l"(a),"=l"(g),"=l"(b)::"memory"); } while(b-a>=64 && ++t<4);
    unsigned long long* o=out+((size_t)blockIdx.x*n+i)*4; o[0]=a; o[1]=g; o[2]=b; o[3]=sm; unsigned long long s=b; while(b-s<gap) asm volatile("mov.u64 %0,%%clock64;":"=l"(b)::"memory"); } }
int main(int c,char**v){ int n=2048; unsigned long long* o; cudaMallocManaged(&o,(size_t)132*n*32); for(int r=0;r<3;r++){ k<<<132,32>>>(o,n,700); cudaDeviceSynchronize(); }
 FILE* f=fopen(v[1],"wb"); fwrite(o,32,(size_t)132*n,f); fclose(f); }
