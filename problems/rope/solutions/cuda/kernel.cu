// Rotary embedding: each thread turns eight pairs of one head, so every access is 16 bytes wide. The angles
// of a token are read by all its heads and stay in the first-level cache.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <solmark/call.h>

namespace {

constexpr int kThreads = 256;
constexpr int kVector = 8;

struct Shape {
  long long tokens;
  int q_heads, kv_heads, head_dim;
};

__global__ void __launch_bounds__(kThreads)
    rope(const __nv_bfloat16* q, const __nv_bfloat16* k, const long long* positions, const float* cache,
         __nv_bfloat16* q_out, __nv_bfloat16* k_out, Shape shape) {
  const int half = shape.head_dim / 2;
  const int parts = half / kVector;
  const int heads = shape.q_heads + shape.kv_heads;
  const long long index = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  const long long token = index / (heads * parts);
  if (token >= shape.tokens) return;
  const int head = static_cast<int>(index / parts % heads);
  const int part = static_cast<int>(index % parts);

  const bool is_query = head < shape.q_heads;
  const long long row =
      is_query ? token * shape.q_heads + head : token * shape.kv_heads + head - shape.q_heads;
  const long long at = row * shape.head_dim + part * kVector;
  const __nv_bfloat16* in = (is_query ? q : k) + at;
  __nv_bfloat16* out = (is_query ? q_out : k_out) + at;
  const float* cosine = cache + positions[token] * shape.head_dim + part * kVector;
  const float* sine = cosine + half;

  uint4 low = *reinterpret_cast<const uint4*>(in);
  uint4 high = *reinterpret_cast<const uint4*>(in + half);
  auto* a = reinterpret_cast<__nv_bfloat16*>(&low);
  auto* b = reinterpret_cast<__nv_bfloat16*>(&high);
  for (int e = 0; e < kVector; ++e) {
    const float x = __bfloat162float(a[e]);
    const float y = __bfloat162float(b[e]);
    a[e] = __float2bfloat16(x * cosine[e] - y * sine[e]);
    b[e] = __float2bfloat16(y * cosine[e] + x * sine[e]);
  }
  *reinterpret_cast<uint4*>(out) = low;
  *reinterpret_cast<uint4*>(out + half) = high;
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const Shape shape{inputs[0]->shape[0], static_cast<int>(inputs[0]->shape[1]),
                    static_cast<int>(inputs[1]->shape[1]), static_cast<int>(inputs[0]->shape[2])};
  const long long items = shape.tokens * (shape.q_heads + shape.kv_heads) * (shape.head_dim / 2 / kVector);
  const auto blocks = static_cast<unsigned>((items + kThreads - 1) / kThreads);
  rope<<<blocks, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const __nv_bfloat16*>(inputs[0]->data), static_cast<const __nv_bfloat16*>(inputs[1]->data),
      static_cast<const long long*>(inputs[2]->data), static_cast<const float*>(inputs[3]->data),
      static_cast<__nv_bfloat16*>(outputs[0]->data), static_cast<__nv_bfloat16*>(outputs[1]->data), shape);
  return static_cast<int>(cudaGetLastError());
}
