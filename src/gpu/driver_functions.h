// The functions of libcuda that Solmark calls, as two X-macro lists; driver.h turns them into a table. An
// entry is the name a caller writes; cuda.h's own macros turn it into the exact symbol that its prototype
// belongs to (cuGraphAddNode -> cuGraphAddNode_v2), so table, prototype and looked-up symbol cannot disagree.
// Required: present since CUDA 12.0. Optional: may be null with an older driver; ask with Driver's
// SOLMARK_NEEDS.
#pragma once

// clang-format off
#define SOLMARK_DRIVER_REQUIRED(X)                                                                            \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                       \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceGetUuid)            \
  X(cuDeviceTotalMem) X(cuDeviceGetPCIBusId)                                                                  \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxGetState)                      \
  X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) X(cuMemGetInfo)                 \
  X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap)         \
  X(cuMemSetAccess) X(cuMemGetAccess) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle)       \
  X(cuMemGetAllocationGranularity) X(cuMemGetAllocationPropertiesFromHandle) X(cuMemRetainAllocationHandle)   \
  X(cuMemGetAddressRange) X(cuPointerGetAttribute) X(cuPointerGetAttributes)                                  \
  X(cuMemAlloc) X(cuMemFree) X(cuMemAllocHost) X(cuMemFreeHost)                                               \
  X(cuMemcpy) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoD)                                                 \
  X(cuMemcpyAsync) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpy3DAsync)          \
  X(cuMemsetD8) X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32Async)                                    \
  X(cuMemsetD2D8Async) X(cuMemsetD2D16Async) X(cuMemsetD2D32Async)                                            \
  X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery)  \
  X(cuStreamWaitEvent) X(cuStreamGetPriority) X(cuStreamGetFlags) X(cuStreamGetCtx)                           \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuStreamIsCapturing) X(cuThreadExchangeStreamCaptureMode)   \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize)                   \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal)                           \
  X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel) X(cuLibraryGetModule) X(cuLibraryGetGlobal)   \
  X(cuKernelGetFunction) X(cuKernelGetAttribute) X(cuKernelSetAttribute)                                      \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncSetCacheConfig) X(cuFuncGetModule)                      \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                              \
  X(cuLaunchKernel) X(cuLaunchKernelEx)                                                                       \
  X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphClone) X(cuGraphDestroyNode)                                    \
  X(cuGraphGetNodes) X(cuGraphGetRootNodes) X(cuGraphNodeGetType)                                             \
  X(cuGraphKernelNodeGetParams) X(cuGraphKernelNodeGetAttribute) X(cuGraphKernelNodeSetAttribute)             \
  X(cuGraphKernelNodeCopyAttributes)                                                                          \
  X(cuGraphMemsetNodeGetParams) X(cuGraphMemcpyNodeGetParams) X(cuGraphChildGraphNodeGetGraph)                \
  X(cuGraphHostNodeGetParams)                                                                                 \
  X(cuGraphAddKernelNode) X(cuGraphAddMemsetNode) X(cuGraphAddMemcpyNode) X(cuGraphAddEmptyNode)              \
  X(cuGraphAddChildGraphNode)                                                                                 \
  X(cuGraphInstantiate) X(cuGraphExecDestroy) X(cuGraphUpload) X(cuGraphLaunch)

#define SOLMARK_DRIVER_OPTIONAL(X)                                                                            \
  X(cuGraphGetEdges) X(cuGraphAddNode) X(cuGraphAddDependencies) X(cuGraphNodeGetDependencies)                \
  X(cuStreamGetCaptureInfo) X(cuEventElapsedTime)                                                             \
  X(cuModuleGetFunctionCount) X(cuModuleEnumerateFunctions) X(cuModuleGetLoadingMode)                         \
  X(cuLibraryGetKernelCount) X(cuLibraryEnumerateKernels) X(cuKernelGetLibrary)                               \
  X(cuFuncGetName) X(cuKernelGetName) X(cuFuncGetParamInfo) X(cuKernelGetParamInfo)                           \
  X(cuFuncIsLoaded) X(cuFuncLoad)
// clang-format on
