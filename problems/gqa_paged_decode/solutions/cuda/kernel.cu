// Paged decoding. A block serves one (sequence, key-value head, part of the sequence); each half-warp takes
// every eighth token of the part, 16 bytes of a key or value a lane, for the four query heads that share it.
// A second kernel joins the parts.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <solmark/call.h>

#include <algorithm>

namespace {

constexpr int kHeadDim = 128;
constexpr int kGroup = 4;
constexpr int kPage = 16;
constexpr int kVector = 8;
constexpr int kLanes = kHeadDim / kVector;  // of a half-warp
constexpr int kThreads = 128;
constexpr int kHalves = kThreads / kLanes;
constexpr float kNone = -1e30f;  // the logit of nothing: finite, so that differences of two are not NaN
constexpr unsigned kAll = 0xffffffffu;

struct Layout {
  int batch, kv_heads, max_pages, parts, pages_per_part;
};

__device__ void unpack(const __nv_bfloat16* from, float (&to)[kVector]) {
  const uint4 packed = *reinterpret_cast<const uint4*>(from);
  const auto* element = reinterpret_cast<const __nv_bfloat16*>(&packed);
#pragma unroll
  for (int e = 0; e < kVector; ++e) to[e] = __bfloat162float(element[e]);
}

// With one part the result goes to `out`; otherwise each part leaves its sums, its largest logit and its
// total weight.
__global__ void __launch_bounds__(kThreads)
    decode(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
           const int* block_table, const int* seq_lens, float scale, Layout layout, __nv_bfloat16* out,
           float* part_sums, float2* part_state) {
  __shared__ float all_sums[kHalves][kGroup][kHeadDim];
  __shared__ float2 all_state[kHalves][kGroup];
  const int sequence = blockIdx.x;
  const int kv_head = blockIdx.y;
  const int part = blockIdx.z;
  const int half = threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  const int q_row = (sequence * layout.kv_heads + kv_head) * kGroup;

  float query[kGroup][kVector];
  float sums[kGroup][kVector] = {};
  float largest[kGroup];
  float total[kGroup] = {};
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    unpack(q + static_cast<long long>(q_row + g) * kHeadDim + lane * kVector, query[g]);
    largest[g] = kNone;
  }

  const int begin = part * layout.pages_per_part * kPage;
  const int end = min(seq_lens[sequence], begin + layout.pages_per_part * kPage);
  // Both halves of a warp take the same number of turns, so that the shuffles always find all lanes.
  for (int base = begin; base < end; base += kHalves) {
    const int token = base + half;
    const bool alive = token < end;
    const int safe = alive ? token : base;
    const long long page = block_table[static_cast<long long>(sequence) * layout.max_pages + safe / kPage];
    const long long at =
        ((page * kPage + safe % kPage) * layout.kv_heads + kv_head) * kHeadDim + lane * kVector;
    float key[kVector];
    float value[kVector];
    unpack(k_cache + at, key);
    unpack(v_cache + at, value);
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      float logit = 0.0f;
#pragma unroll
      for (int e = 0; e < kVector; ++e) logit += query[g][e] * key[e];
#pragma unroll
      for (int step = kLanes / 2; step > 0; step /= 2) logit += __shfl_xor_sync(kAll, logit, step);
      logit = alive ? logit * scale : kNone;
      const float now = fmaxf(largest[g], logit);
      const float shrink = exp2f(largest[g] - now);
      const float weight = alive ? exp2f(logit - now) : 0.0f;
      largest[g] = now;
      total[g] = total[g] * shrink + weight;
#pragma unroll
      for (int e = 0; e < kVector; ++e) sums[g][e] = sums[g][e] * shrink + weight * value[e];
    }
  }

#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    for (int e = 0; e < kVector; ++e) all_sums[half][g][lane * kVector + e] = sums[g][e];
    if (lane == 0) all_state[half][g] = make_float2(largest[g], total[g]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kGroup * kHeadDim; i += kThreads) {
    const int g = i / kHeadDim;
    const int d = i % kHeadDim;
    float top = kNone;
    for (int h = 0; h < kHalves; ++h) top = fmaxf(top, all_state[h][g].x);
    float sum = 0.0f;
    float weight = 0.0f;
    for (int h = 0; h < kHalves; ++h) {
      const float factor = exp2f(all_state[h][g].x - top);
      sum += factor * all_sums[h][g][d];
      weight += factor * all_state[h][g].y;
    }
    if (layout.parts == 1) {
      out[static_cast<long long>(q_row + g) * kHeadDim + d] = __float2bfloat16(sum / weight);
    } else {
      const long long slot = static_cast<long long>(q_row + g) * layout.parts + part;
      part_sums[slot * kHeadDim + d] = sum;
      if (d == 0) part_state[slot] = make_float2(top, weight);
    }
  }
}

__global__ void __launch_bounds__(kHeadDim)
    join(const float* part_sums, const float2* part_state, int parts, __nv_bfloat16* out) {
  const long long first = static_cast<long long>(blockIdx.x) * parts;
  float top = kNone;
  for (int p = 0; p < parts; ++p) top = fmaxf(top, part_state[first + p].x);
  float sum = 0.0f;
  float weight = 0.0f;
  for (int p = 0; p < parts; ++p) {
    const float2 state = part_state[first + p];
    const float factor = exp2f(state.x - top);
    sum += factor * part_sums[(first + p) * kHeadDim + threadIdx.x];
    weight += factor * state.y;
  }
  out[static_cast<long long>(blockIdx.x) * kHeadDim + threadIdx.x] = __float2bfloat16(sum / weight);
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const int q_heads = static_cast<int>(inputs[0]->shape[1]);
  Layout layout{};
  layout.batch = static_cast<int>(inputs[0]->shape[0]);
  layout.kv_heads = static_cast<int>(inputs[1]->shape[2]);
  layout.max_pages = static_cast<int>(inputs[3]->shape[1]);
  if (inputs[0]->shape[2] != kHeadDim || inputs[1]->shape[1] != kPage || q_heads != layout.kv_heads * kGroup)
    return 1;
  const auto stream = static_cast<cudaStream_t>(call->stream);

  // Parts of at least eight pages, and no more of them than keep the device busy.
  int multiprocessors = 0;
  cudaError_t error =
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, call->device.device_id);
  if (error != cudaSuccess) return static_cast<int>(error);
  const int pairs = layout.batch * layout.kv_heads;
  const int wanted = std::clamp(8 * multiprocessors / pairs, 1, std::max(1, layout.max_pages / 8));
  layout.pages_per_part = (layout.max_pages + wanted - 1) / wanted;
  layout.parts = (layout.max_pages + layout.pages_per_part - 1) / layout.pages_per_part;

  const size_t slots = static_cast<size_t>(layout.batch) * static_cast<size_t>(q_heads * layout.parts);
  char* scratch = nullptr;
  if (layout.parts > 1) {
    error = cudaMallocAsync(reinterpret_cast<void**>(&scratch),
                            slots * (kHeadDim * sizeof(float) + sizeof(float2)), stream);
    if (error != cudaSuccess) return static_cast<int>(error);
  }
  auto* part_sums = reinterpret_cast<float*>(scratch);
  auto* part_state = layout.parts > 1 ? reinterpret_cast<float2*>(part_sums + slots * kHeadDim) : nullptr;
  auto* out = static_cast<__nv_bfloat16*>(outputs[0]->data);
  const float scale =
      *static_cast<const float*>(inputs[5]->data) * 1.4426950408889634f;  // logits in powers of two
  const dim3 grid(static_cast<unsigned>(layout.batch), static_cast<unsigned>(layout.kv_heads),
                  static_cast<unsigned>(layout.parts));
  decode<<<grid, kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16*>(inputs[0]->data), static_cast<const __nv_bfloat16*>(inputs[1]->data),
      static_cast<const __nv_bfloat16*>(inputs[2]->data), static_cast<const int*>(inputs[3]->data),
      static_cast<const int*>(inputs[4]->data), scale, layout, out, part_sums, part_state);
  error = cudaGetLastError();
  if (layout.parts > 1) {
    const auto rows = static_cast<unsigned>(layout.batch * q_heads);
    if (error == cudaSuccess) {
      join<<<rows, kHeadDim, 0, stream>>>(part_sums, part_state, layout.parts, out);
      error = cudaGetLastError();
    }
    const cudaError_t freed = cudaFreeAsync(scratch, stream);
    if (error == cudaSuccess) error = freed;
  }
  return static_cast<int>(error);
}
