//! The driver's functions that `cust`, the profiler and most programs call.
#![allow(non_snake_case, reason = "the names are those of cuda.h")]
#![allow(clippy::too_many_arguments, reason = "the signatures are those of cuda.h")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

use cust_raw::*;

use super::codes;
use crate::library::Entry;

/// Defines the driver's functions: `fn NAME(ARGUMENT: TYPE, ..);`, all of which return `CUresult`.
macro_rules! driver_functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => { $(
        // The signature is the one that cust_raw declares, or this does not compile.
        const _: unsafe extern "C" fn($($type),*) -> cust_raw::CUresult = cust_raw::$name;

        // SAFETY: callers give what the driver's documentation of the function asks for.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> cust_raw::CUresult {
            static ENTRY: Entry = Entry::new($crate::library::name!($name));
            match ENTRY.resolve() {
                Ok(address) => {
                    // SAFETY: the address is that of the driver's function of this name, whose
                    // signature is the declared one but for the result: an enumeration there, of
                    // which any 32-bit value may come back, hence u32 here.
                    let function = unsafe {
                        std::mem::transmute::<
                            std::ptr::NonNull<()>,
                            unsafe extern "C" fn($($type),*) -> u32,
                        >(address)
                    };
                    // SAFETY: the caller upholds what the driver asks for, as it would have to
                    // with the driver's own symbol.
                    codes::known(unsafe { function($($argument),*) })
                }
                Err(code) => codes::known(code.0),
            }
        }
    )* };
}
driver_functions! {
    fn cuInit(Flags: c_uint);
    fn cuDriverGetVersion(driverVersion: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice);
    fn cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice);
    fn cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice);
    fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint);
    fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int);
    fn cuDevicePrimaryCtxReset_v2(dev: CUdevice);
    fn cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice);
    fn cuCtxDestroy_v2(ctx: CUcontext);
    fn cuCtxPushCurrent_v2(ctx: CUcontext);
    fn cuCtxPopCurrent_v2(pctx: *mut CUcontext);
    fn cuCtxSetCurrent(ctx: CUcontext);
    fn cuCtxGetCurrent(pctx: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxGetFlags(flags: *mut c_uint);
    fn cuCtxSynchronize();
    fn cuCtxSetLimit(limit: CUlimit, value: usize);
    fn cuCtxGetLimit(pvalue: *mut usize, limit: CUlimit);
    fn cuCtxGetCacheConfig(pconfig: *mut CUfunc_cache);
    fn cuCtxSetCacheConfig(config: CUfunc_cache);
    fn cuCtxGetSharedMemConfig(pConfig: *mut CUsharedconfig);
    fn cuCtxSetSharedMemConfig(config: CUsharedconfig);
    fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint);
    fn cuCtxGetStreamPriorityRange(leastPriority: *mut c_int, greatestPriority: *mut c_int);
    fn cuModuleLoad(module: *mut CUmodule, fname: *const c_char);
    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    fn cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, numOptions: c_uint, options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
    );
    fn cuModuleUnload(hmod: CUmodule);
    fn cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal_v2(
        dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char,
    );
    fn cuLinkCreate_v2(
        numOptions: c_uint, options: *mut CUjit_option, optionValues: *mut *mut c_void,
        stateOut: *mut CUlinkState,
    );
    fn cuLinkAddData_v2(
        state: CUlinkState, type_: CUjitInputType, data: *mut c_void, size: usize,
        name: *const c_char, numOptions: c_uint, options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
    );
    fn cuLinkComplete(state: CUlinkState, cubinOut: *mut *mut c_void, sizeOut: *mut usize);
    fn cuLinkDestroy(state: CUlinkState);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
    fn cuMemFree_v2(dptr: CUdeviceptr);
    fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
    fn cuMemFreeHost(p: *mut c_void);
    fn cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, Flags: c_uint);
    fn cuMemHostGetDevicePointer_v2(pdptr: *mut CUdeviceptr, p: *mut c_void, Flags: c_uint);
    fn cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint);
    fn cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, Flags: c_uint);
    fn cuMemHostUnregister(p: *mut c_void);
    fn cuMemcpyHtoD_v2(dstDevice: CUdeviceptr, srcHost: *const c_void, ByteCount: usize);
    fn cuMemcpyDtoH_v2(dstHost: *mut c_void, srcDevice: CUdeviceptr, ByteCount: usize);
    fn cuMemcpyDtoD_v2(dstDevice: CUdeviceptr, srcDevice: CUdeviceptr, ByteCount: usize);
    fn cuMemcpyHtoA_v2(
        dstArray: CUarray, dstOffset: usize, srcHost: *const c_void, ByteCount: usize,
    );
    fn cuMemcpyAtoH_v2(dstHost: *mut c_void, srcArray: CUarray, srcOffset: usize, ByteCount: usize);
    fn cuMemcpy2D_v2(pCopy: *const CUDA_MEMCPY2D);
    fn cuMemcpy2DUnaligned_v2(pCopy: *const CUDA_MEMCPY2D);
    fn cuMemcpyHtoDAsync_v2(
        dstDevice: CUdeviceptr, srcHost: *const c_void, ByteCount: usize, hStream: CUstream,
    );
    fn cuMemcpyDtoHAsync_v2(
        dstHost: *mut c_void, srcDevice: CUdeviceptr, ByteCount: usize, hStream: CUstream,
    );
    fn cuMemcpyDtoDAsync_v2(
        dstDevice: CUdeviceptr, srcDevice: CUdeviceptr, ByteCount: usize, hStream: CUstream,
    );
    fn cuMemsetD8_v2(dstDevice: CUdeviceptr, uc: c_uchar, N: usize);
    fn cuMemsetD16_v2(dstDevice: CUdeviceptr, us: c_ushort, N: usize);
    fn cuMemsetD32_v2(dstDevice: CUdeviceptr, ui: c_uint, N: usize);
    fn cuMemsetD8Async(dstDevice: CUdeviceptr, uc: c_uchar, N: usize, hStream: CUstream);
    fn cuMemsetD16Async(dstDevice: CUdeviceptr, us: c_ushort, N: usize, hStream: CUstream);
    fn cuMemsetD32Async(dstDevice: CUdeviceptr, ui: c_uint, N: usize, hStream: CUstream);
    fn cuArrayDestroy(hArray: CUarray);
    fn cuArray3DCreate_v2(pHandle: *mut CUarray, pAllocateArray: *const CUDA_ARRAY3D_DESCRIPTOR);
    fn cuArray3DGetDescriptor_v2(pArrayDescriptor: *mut CUDA_ARRAY3D_DESCRIPTOR, hArray: CUarray);
    fn cuMemFreeAsync(dptr: CUdeviceptr, hStream: CUstream);
    fn cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, hStream: CUstream);
    fn cuPointerGetAttribute(data: *mut c_void, attribute: CUpointer_attribute, ptr: CUdeviceptr);
    fn cuMemPrefetchAsync(
        devPtr: CUdeviceptr, count: usize, dstDevice: CUdevice, hStream: CUstream,
    );
    fn cuMemAdvise(devPtr: CUdeviceptr, count: usize, advice: CUmem_advise, device: CUdevice);
    fn cuStreamCreate(phStream: *mut CUstream, Flags: c_uint);
    fn cuStreamQuery(hStream: CUstream);
    fn cuStreamCreateWithPriority(phStream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamGetPriority(hStream: CUstream, priority: *mut c_int);
    fn cuStreamGetFlags(hStream: CUstream, flags: *mut c_uint);
    fn cuStreamWaitEvent(hStream: CUstream, hEvent: CUevent, Flags: c_uint);
    fn cuStreamBeginCapture_v2(hStream: CUstream, mode: CUstreamCaptureMode);
    fn cuStreamEndCapture(hStream: CUstream, phGraph: *mut CUgraph);
    fn cuStreamSynchronize(hStream: CUstream);
    fn cuStreamDestroy_v2(hStream: CUstream);
    fn cuEventCreate(phEvent: *mut CUevent, Flags: c_uint);
    fn cuEventRecord(hEvent: CUevent, hStream: CUstream);
    fn cuEventQuery(hEvent: CUevent);
    fn cuEventSynchronize(hEvent: CUevent);
    fn cuEventDestroy_v2(hEvent: CUevent);
    fn cuEventElapsedTime(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent);
    fn cuImportExternalMemory(
        extMem_out: *mut CUexternalMemory, memHandleDesc: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    );
    fn cuExternalMemoryGetMappedBuffer(
        devPtr: *mut CUdeviceptr, extMem: CUexternalMemory,
        bufferDesc: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC,
    );
    fn cuDestroyExternalMemory(extMem: CUexternalMemory);
    fn cuFuncGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction);
    fn cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: c_int);
    fn cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache);
    fn cuFuncSetSharedMemConfig(hfunc: CUfunction, config: CUsharedconfig);
    fn cuFuncGetModule(hmod: *mut CUmodule, hfunc: CUfunction);
    fn cuLaunchKernel(
        f: CUfunction, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint,
        blockDimY: c_uint, blockDimZ: c_uint, sharedMemBytes: c_uint, hStream: CUstream,
        kernelParams: *mut *mut c_void, extra: *mut *mut c_void,
    );
    fn cuLaunchCooperativeKernel(
        f: CUfunction, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint,
        blockDimY: c_uint, blockDimZ: c_uint, sharedMemBytes: c_uint, hStream: CUstream,
        kernelParams: *mut *mut c_void,
    );
    fn cuLaunchHostFunc(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void);
    fn cuGraphCreate(phGraph: *mut CUgraph, flags: c_uint);
    fn cuGraphAddKernelNode(
        phGraphNode: *mut CUgraphNode, hGraph: CUgraph, dependencies: *const CUgraphNode,
        numDependencies: usize, nodeParams: *const CUDA_KERNEL_NODE_PARAMS,
    );
    fn cuGraphKernelNodeGetParams(hNode: CUgraphNode, nodeParams: *mut CUDA_KERNEL_NODE_PARAMS);
    fn cuGraphNodeGetType(hNode: CUgraphNode, type_: *mut CUgraphNodeType);
    fn cuGraphGetNodes(hGraph: CUgraph, nodes: *mut CUgraphNode, numNodes: *mut usize);
    fn cuGraphGetEdges(
        hGraph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, numEdges: *mut usize,
    );
    fn cuGraphInstantiateWithFlags(
        phGraphExec: *mut CUgraphExec, hGraph: CUgraph, flags: c_ulonglong,
    );
    fn cuGraphLaunch(hGraphExec: CUgraphExec, hStream: CUstream);
    fn cuGraphExecDestroy(hGraphExec: CUgraphExec);
    fn cuGraphDestroy(hGraph: CUgraph);
    fn cuGraphDebugDotPrint(hGraph: CUgraph, path: *const c_char, flags: c_uint);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        numBlocks: *mut c_int, func: CUfunction, blockSize: c_int, dynamicSMemSize: usize,
    );
    fn cuOccupancyMaxPotentialBlockSize(
        minGridSize: *mut c_int, blockSize: *mut c_int, func: CUfunction,
        blockSizeToDynamicSMemSize: CUoccupancyB2DSize, dynamicSMemSize: usize,
        blockSizeLimit: c_int,
    );
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        dynamicSmemSize: *mut usize, func: CUfunction, numBlocks: c_int, blockSize: c_int,
    );
    fn cuTexObjectCreate(
        pTexObject: *mut CUtexObject, pResDesc: *const CUDA_RESOURCE_DESC,
        pTexDesc: *const CUDA_TEXTURE_DESC, pResViewDesc: *const CUDA_RESOURCE_VIEW_DESC,
    );
    fn cuTexObjectDestroy(texObject: CUtexObject);
    fn cuTexObjectGetResourceDesc(pResDesc: *mut CUDA_RESOURCE_DESC, texObject: CUtexObject);
    fn cuTexObjectGetResourceViewDesc(
        pResViewDesc: *mut CUDA_RESOURCE_VIEW_DESC, texObject: CUtexObject,
    );
    fn cuSurfObjectCreate(pSurfObject: *mut CUsurfObject, pResDesc: *const CUDA_RESOURCE_DESC);
    fn cuSurfObjectDestroy(surfObject: CUsurfObject);
    fn cuSurfObjectGetResourceDesc(pResDesc: *mut CUDA_RESOURCE_DESC, surfObject: CUsurfObject);
    fn cuGetProcAddress(
        symbol: *const c_char, pfn: *mut *mut c_void, cudaVersion: c_int, flags: cuuint64_t,
    );
}
