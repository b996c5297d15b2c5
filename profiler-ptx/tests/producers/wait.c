// A kernel in C by the names of clang's NVPTX target, which needs no header of CUDA.
__attribute__((address_space(3))) int shared[64];

__attribute__((nvptx_kernel)) void wait(int *out, int n) {
    int thread = __nvvm_read_ptx_sreg_tid_x();
    for (int turn = 0; turn < n; turn++) {
        shared[thread] = turn;
        __nvvm_bar_sync(0);
        out[thread] += shared[63 - thread];
        __nvvm_bar_sync(0);
    }
}
