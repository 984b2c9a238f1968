// Root-mean-square norm, one block a row. The row is read from memory once, 16 bytes a thread, and kept in
// shared memory for the second pass.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <solmark/call.h>

namespace {

constexpr int kThreads = 256;
constexpr int kVector = 8;  // bf16 elements in 16 bytes

__device__ float block_sum(float value) {
  __shared__ float partial[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) value += partial[warp];
  return value;
}

// kVectorised: hidden is a multiple of kVector, so every row starts on 16 bytes.
template <bool kVectorised>
__global__ void __launch_bounds__(kThreads)
    rms_norm(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* out, int hidden, float eps) {
  extern __shared__ __align__(16) __nv_bfloat16 row[];
  const __nv_bfloat16* in = x + static_cast<long long>(blockIdx.x) * hidden;
  __nv_bfloat16* to = out + static_cast<long long>(blockIdx.x) * hidden;
  float sum = 0.0f;
  if constexpr (kVectorised) {
    for (int i = threadIdx.x * kVector; i < hidden; i += kThreads * kVector) {
      const uint4 packed = *reinterpret_cast<const uint4*>(in + i);
      *reinterpret_cast<uint4*>(row + i) = packed;
      const auto* element = reinterpret_cast<const __nv_bfloat16*>(&packed);
      for (int e = 0; e < kVector; ++e) sum += __bfloat162float(element[e]) * __bfloat162float(element[e]);
    }
  } else {
    for (int i = threadIdx.x; i < hidden; i += kThreads) {
      row[i] = in[i];
      sum += __bfloat162float(row[i]) * __bfloat162float(row[i]);
    }
  }
  // Each thread reads back only what it wrote itself, so the barrier inside block_sum is the only one needed.
  const float inverse = rsqrtf(block_sum(sum) / static_cast<float>(hidden) + eps);
  if constexpr (kVectorised) {
    for (int i = threadIdx.x * kVector; i < hidden; i += kThreads * kVector) {
      const uint4 scale = *reinterpret_cast<const uint4*>(weight + i);
      const auto* w = reinterpret_cast<const __nv_bfloat16*>(&scale);
      uint4 result;
      auto* r = reinterpret_cast<__nv_bfloat16*>(&result);
      for (int e = 0; e < kVector; ++e) {
        r[e] = __float2bfloat16(__bfloat162float(row[i + e]) * inverse * __bfloat162float(w[e]));
      }
      *reinterpret_cast<uint4*>(to + i) = result;
    }
  } else {
    for (int i = threadIdx.x; i < hidden; i += kThreads) {
      to[i] = __float2bfloat16(__bfloat162float(row[i]) * inverse * __bfloat162float(weight[i]));
    }
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const auto tokens = static_cast<unsigned>(inputs[0]->shape[0]);
  const int hidden = static_cast<int>(inputs[0]->shape[1]);
  const auto* x = static_cast<const __nv_bfloat16*>(inputs[0]->data);
  const auto* weight = static_cast<const __nv_bfloat16*>(inputs[1]->data);
  const float eps = *static_cast<const float*>(inputs[2]->data);
  auto* out = static_cast<__nv_bfloat16*>(outputs[0]->data);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  const size_t row_bytes = static_cast<size_t>(hidden) * sizeof(__nv_bfloat16);
  if (hidden % kVector == 0) {
    rms_norm<true><<<tokens, kThreads, row_bytes, stream>>>(x, weight, out, hidden, eps);
  } else {
    rms_norm<false><<<tokens, kThreads, row_bytes, stream>>>(x, weight, out, hidden, eps);
  }
  return static_cast<int>(cudaGetLastError());  // rows above 48 KiB fail here
}
