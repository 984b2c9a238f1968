// Softmax and the largest eight: one warp a token, its logits in registers; eight rounds of a warp-wide
// maximum.
#include <cuda_runtime.h>
#include <math_constants.h>
#include <solmark/call.h>

namespace {

constexpr int kTop = 8;
constexpr int kWarps = 4;
constexpr unsigned kAll = 0xffffffffu;

// kPerLane * 32 >= experts
template <int kPerLane>
__global__ void __launch_bounds__(kWarps * 32)
    route(const float* logits, float* weights, int* chosen, long long tokens, int experts) {
  const long long token = static_cast<long long>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (token >= tokens) return;  // a whole warp leaves
  float value[kPerLane];
  float largest = -CUDART_INF_F;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int expert = i * 32 + lane;
    value[i] = expert < experts ? logits[token * experts + expert] : -CUDART_INF_F;
    largest = fmaxf(largest, value[i]);
  }
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(kAll, largest, step));
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) sum += expf(value[i] - largest);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kAll, sum, step);

  float my_best = 0.0f;
  int my_expert = 0;
  for (int round = 0; round < kTop; ++round) {
    float best = -CUDART_INF_F;
    int expert = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (value[i] > best) {
        best = value[i];
        expert = i * 32 + lane;
      }
    }
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(kAll, best, step);
      const int other_expert = __shfl_xor_sync(kAll, expert, step);
      if (other > best || (other == best && other_expert < expert)) {
        best = other;
        expert = other_expert;
      }
    }
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (i * 32 + lane == expert) value[i] = -CUDART_INF_F;
    }
    if (lane == round) {
      my_best = best;
      my_expert = expert;
    }
  }
  if (lane < kTop) {
    weights[token * kTop + lane] = expf(my_best - largest) / sum;
    chosen[token * kTop + lane] = my_expert;
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const auto* logits = static_cast<const float*>(inputs[0]->data);
  auto* weights = static_cast<float*>(outputs[0]->data);
  auto* chosen = static_cast<int*>(outputs[1]->data);
  const long long tokens = inputs[0]->shape[0];
  const int experts = static_cast<int>(inputs[0]->shape[1]);
  const auto blocks = static_cast<unsigned>((tokens + kWarps - 1) / kWarps);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  if (experts <= 64) {
    route<2><<<blocks, kWarps * 32, 0, stream>>>(logits, weights, chosen, tokens, experts);
  } else if (experts <= 128) {
    route<4><<<blocks, kWarps * 32, 0, stream>>>(logits, weights, chosen, tokens, experts);
  } else if (experts <= 256) {
    route<8><<<blocks, kWarps * 32, 0, stream>>>(logits, weights, chosen, tokens, experts);
  } else if (experts <= 1024) {
    route<32><<<blocks, kWarps * 32, 0, stream>>>(logits, weights, chosen, tokens, experts);
  } else {
    return 1;
  }
  return static_cast<int>(cudaGetLastError());
}
