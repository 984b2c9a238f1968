// Candidates for solmark-seal-check: each entry takes x[n] to y[n] by another way of putting work on a GPU. What each
// computes stands in cases.cpp.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include "solmark/call.h"

namespace cg = cooperative_groups;

extern const unsigned char solmark_twin_one[];
extern const unsigned char solmark_twin_two[];

namespace {

constexpr int kBlock = 256;
constexpr int kTable = 4096;

__device__ float g_scale = 1.0f;
__device__ float g_vector[16];
__constant__ float c_table[16];
__device__ unsigned g_calls;

struct Arguments {
  const float* x;
  float* y;
  int n;
  cudaStream_t stream;
  int grid;
};

Arguments arguments(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  Arguments a{};
  a.x = reinterpret_cast<const float*>(static_cast<const char*>(inputs[0]->data) + inputs[0]->byte_offset);
  a.y = reinterpret_cast<float*>(static_cast<char*>(outputs[0]->data) + outputs[0]->byte_offset);
  a.n = static_cast<int>(inputs[0]->shape[0]);
  a.stream = static_cast<cudaStream_t>(call->stream);
  a.grid = (a.n + kBlock - 1) / kBlock;
  return a;
}

__device__ int index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void state_kernel(const float* x, float* y, int n) {
  const int i = index();
  if (i == 0) atomicAdd(&g_calls, 1u);
  if (i < n) y[i] = x[i] * g_scale + c_table[i & 15] + g_vector[i & 15];
}
__global__ void add_kernel(const float* x, float* y, int n, float value) {
  const int i = index();
  if (i < n) y[i] = x[i] + value;
}
__global__ void accumulate_kernel(const float* x, float* y, int n, float factor) {
  const int i = index();
  if (i < n) y[i] += x[i] * factor;
}
__global__ void scale_by_pointer_kernel(const float* x, float* y, int n, const float* scale) {
  const int i = index();
  if (i < n) y[i] = x[i] * *scale;
}
__global__ void shared_kernel(const float* x, float* y, int n, const float* table) {
  extern __shared__ float buffer[];
  const int i = index();
  const int far = 24000 + static_cast<int>(threadIdx.x);  // beyond 48 KB
  buffer[far] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = buffer[24000 + static_cast<int>(threadIdx.x ^ 1u)] + table[i & (kTable - 1)];
}
__global__ void cluster_kernel(const float* x, float* y, int n) {
  __shared__ float mine[kBlock];
  cg::cluster_group cluster = cg::this_cluster();
  const int i = index();
  mine[threadIdx.x] = i < n ? x[i] : 0.0f;
  cluster.sync();
  // The other block of the pair.
  const float* theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1u);
  if (i < n) y[i] = theirs[threadIdx.x] * 2.0f;
  cluster.sync();
}
__global__ void cooperative_kernel(const float* x, float* y, int n, float* scratch) {
  cg::grid_group grid = cg::this_grid();
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = index(); i < n; i += stride) scratch[i] = x[i] * 2.0f;
  grid.sync();
  for (int i = index(); i < n; i += stride) y[i] = scratch[n - 1 - i];
}
__global__ void primary_kernel(const float* x, float* y, int n) {
  const int i = index();
  if (i < n) y[i] = x[i] + 1.0f;
  cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void secondary_kernel(float* y, int n) {
  cudaGridDependencySynchronize();
  const int i = index();
  if (i < n) y[i] *= 3.0f;
}
__global__ void wild_kernel(float* y) { y[std::size_t{1} << 44] = 1.0f; }

#define SOLMARK_DO(expression) \
  if (cudaError_t error = (expression); error != cudaSuccess) return static_cast<int>(error)

}  // namespace

#define SOLMARK_ENTRY(name)                                                                     \
  extern "C" int name(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call)

SOLMARK_ENTRY(entry_state) {
  const Arguments a = arguments(inputs, outputs, call);
  static bool ready = false;
  if (!ready) {
    const float scale = 2.0f;
    float table[16];
    float vector[16];
    for (int i = 0; i < 16; ++i) table[i] = 0.25f * static_cast<float>(i), vector[i] = -8.0f * static_cast<float>(i);
    SOLMARK_DO(cudaMemcpyToSymbol(g_scale, &scale, sizeof scale));
    SOLMARK_DO(cudaMemcpyToSymbol(c_table, table, sizeof table));
    SOLMARK_DO(cudaMemcpyToSymbol(g_vector, vector, sizeof vector));
    ready = true;
  }
  state_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n);
  return static_cast<int>(cudaGetLastError());
}

SOLMARK_ENTRY(entry_pointer) {
  const Arguments a = arguments(inputs, outputs, call);
  static void* scale = nullptr;
  if (scale == nullptr) {
    const float value = 7.0f;
    SOLMARK_DO(cudaMemcpyToSymbol(g_scale, &value, sizeof value));
    SOLMARK_DO(cudaGetSymbolAddress(&scale, g_scale));
  }
  scale_by_pointer_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n, static_cast<const float*>(scale));
  return static_cast<int>(cudaGetLastError());
}

// Dynamic shared memory beyond the default, and memory with contents from before the calls.
SOLMARK_ENTRY(entry_shared) {
  const Arguments a = arguments(inputs, outputs, call);
  constexpr int kBytes = 100 << 10;
  static float* table = nullptr;
  if (table == nullptr) {
    static float host[kTable];
    for (int i = 0; i < kTable; ++i) host[i] = static_cast<float>(i % 97);
    SOLMARK_DO(cudaMalloc(&table, sizeof host));
    SOLMARK_DO(cudaMemcpy(table, host, sizeof host, cudaMemcpyHostToDevice));
    SOLMARK_DO(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  }
  shared_kernel<<<a.grid, kBlock, kBytes, a.stream>>>(a.x, a.y, a.n, table);
  return static_cast<int>(cudaGetLastError());
}

SOLMARK_ENTRY(entry_cluster) {
  const Arguments a = arguments(inputs, outputs, call);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(a.grid));
  config.blockDim = dim3(kBlock);
  config.stream = a.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return static_cast<int>(cudaLaunchKernelEx(&config, cluster_kernel, a.x, a.y, a.n));
}

SOLMARK_ENTRY(entry_cooperative) {
  Arguments a = arguments(inputs, outputs, call);
  float* scratch = nullptr;
  SOLMARK_DO(cudaMallocAsync(&scratch, sizeof(float) * static_cast<std::size_t>(a.n), a.stream));
  void* parameters[] = {&a.x, &a.y, &a.n, &scratch};
  SOLMARK_DO(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(cooperative_kernel), dim3(32), dim3(kBlock), parameters,
                                         0, a.stream));
  return static_cast<int>(cudaFreeAsync(scratch, a.stream));
}

// Programmatic dependent launch.
SOLMARK_ENTRY(entry_dependent) {
  const Arguments a = arguments(inputs, outputs, call);
  primary_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(a.grid));
  config.blockDim = dim3(kBlock);
  config.stream = a.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return static_cast<int>(cudaLaunchKernelEx(&config, secondary_kernel, a.y, a.n));
}

SOLMARK_ENTRY(entry_copies) {
  const Arguments a = arguments(inputs, outputs, call);
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(a.n);
  SOLMARK_DO(cudaMemsetAsync(a.y, 0, bytes, a.stream));
  SOLMARK_DO(cudaMemcpyAsync(a.y, a.x, bytes / 2, cudaMemcpyDeviceToDevice, a.stream));
  // The second half by rows of 256 bytes, every other one.
  char* to = reinterpret_cast<char*>(a.y) + bytes / 2;
  const char* from = reinterpret_cast<const char*>(a.x) + bytes / 2;
  SOLMARK_DO(cudaMemcpy2DAsync(to, 512, from, 512, 256, bytes / 2 / 512, cudaMemcpyDeviceToDevice, a.stream));
  accumulate_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n, 1.0f);
  return static_cast<int>(cudaGetLastError());
}

// Two streams that fork and join, with memory of each stream's own.
SOLMARK_ENTRY(entry_fork) {
  const Arguments a = arguments(inputs, outputs, call);
  static cudaStream_t side = nullptr;
  static cudaEvent_t fork = nullptr;
  static cudaEvent_t join = nullptr;
  if (side == nullptr) {
    SOLMARK_DO(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    SOLMARK_DO(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    SOLMARK_DO(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  }
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(a.n);
  float* left = nullptr;
  float* right = nullptr;
  SOLMARK_DO(cudaEventRecord(fork, a.stream));
  SOLMARK_DO(cudaStreamWaitEvent(side, fork, 0));
  SOLMARK_DO(cudaMallocAsync(&left, bytes, a.stream));
  SOLMARK_DO(cudaMallocAsync(&right, bytes, side));
  add_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, left, a.n, 10.0f);
  add_kernel<<<a.grid, kBlock, 0, side>>>(a.x, right, a.n, 20.0f);
  accumulate_kernel<<<a.grid, kBlock, 0, side>>>(a.x, right, a.n, 1.0f);
  SOLMARK_DO(cudaEventRecord(join, side));
  SOLMARK_DO(cudaStreamWaitEvent(a.stream, join, 0));
  SOLMARK_DO(cudaMemcpyAsync(a.y, left, bytes, cudaMemcpyDeviceToDevice, a.stream));
  accumulate_kernel<<<a.grid, kBlock, 0, a.stream>>>(right, a.y, a.n, 1.0f);
  SOLMARK_DO(cudaFreeAsync(left, a.stream));
  SOLMARK_DO(cudaFreeAsync(right, a.stream));
  return static_cast<int>(cudaGetLastError());
}

// Two kernels of one name from two modules.
SOLMARK_ENTRY(entry_twins) {
  Arguments a = arguments(inputs, outputs, call);
  static CUfunction functions[2] = {};
  if (functions[0] == nullptr) {
    const void* images[2] = {solmark_twin_one, solmark_twin_two};
    for (int i = 0; i < 2; ++i) {
      CUmodule module = nullptr;
      if (CUresult error = cuModuleLoadData(&module, images[i])) return static_cast<int>(error);
      if (CUresult error = cuModuleGetFunction(&functions[i], module, "twin")) return static_cast<int>(error);
    }
  }
  void* parameters[] = {&a.x, &a.y, &a.n};
  for (CUfunction function : functions)
    if (CUresult error = cuLaunchKernel(function, static_cast<unsigned>(a.grid), 1, 1, kBlock, 1, 1, 0, a.stream,
                                        parameters, nullptr))
      return static_cast<int>(error);
  return 0;
}

// Many kernels in one call: what chaining costs shows in the time.
SOLMARK_ENTRY(entry_chain) {
  const Arguments a = arguments(inputs, outputs, call);
  add_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n, 0.0f);
  for (int i = 0; i < 19; ++i) accumulate_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n, 1.0f);
  return static_cast<int>(cudaGetLastError());
}

// From here on: what cannot be sealed, and what fails.
SOLMARK_ENTRY(entry_waits) {
  const Arguments a = arguments(inputs, outputs, call);
  add_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n, 1.0f);
  return static_cast<int>(cudaStreamSynchronize(a.stream));
}
static void on_host(void*) {}
SOLMARK_ENTRY(entry_host) {
  const Arguments a = arguments(inputs, outputs, call);
  add_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n, 1.0f);
  return static_cast<int>(cudaLaunchHostFunc(a.stream, on_host, nullptr));
}
SOLMARK_ENTRY(entry_managed) {
  const Arguments a = arguments(inputs, outputs, call);
  static float* scale = nullptr;
  if (scale == nullptr) {
    SOLMARK_DO(cudaMallocManaged(&scale, sizeof *scale));
    *scale = 1.0f;
  }
  scale_by_pointer_kernel<<<a.grid, kBlock, 0, a.stream>>>(a.x, a.y, a.n, scale);
  return static_cast<int>(cudaGetLastError());
}
SOLMARK_ENTRY(entry_default_stream) {
  const Arguments a = arguments(inputs, outputs, call);
  add_kernel<<<a.grid, kBlock>>>(a.x, a.y, a.n, 1.0f);
  return static_cast<int>(cudaGetLastError());
}
SOLMARK_ENTRY(entry_nothing) { return inputs == nullptr || outputs == nullptr || call == nullptr ? 1 : 0; }
SOLMARK_ENTRY(entry_wild) {
  const Arguments a = arguments(inputs, outputs, call);
  wild_kernel<<<1, 1, 0, a.stream>>>(a.y);
  return static_cast<int>(cudaGetLastError());
}
