// bias and GELU in place on the rows of a matrix; called by binding.cpp after ATen's matrix product.
#include "bias_gelu.h"

#include <cuda_bf16.h>

namespace {

constexpr int kThreads = 256;

__global__ void bias_gelu(__nv_bfloat16* out, const __nv_bfloat16* bias, long long size, int columns) {
  const long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= size) return;
  const float v = __bfloat162float(out[i]) + __bfloat162float(bias[i % columns]);
  out[i] = __float2bfloat16(0.5f * v *
                            (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))));  // sqrt(2 / pi)
}

}  // namespace

cudaError_t launch_bias_gelu(void* out, const void* bias, long long rows, int columns, cudaStream_t stream) {
  const long long size = rows * columns;
  const auto blocks = static_cast<unsigned>((size + kThreads - 1) / kThreads);
  bias_gelu<<<blocks, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(out),
                                             static_cast<const __nv_bfloat16*>(bias), size, columns);
  return cudaGetLastError();
}
