// Softmax and the largest eight for the host: one pass keeps a sorted short list while it sums the
// exponentials.
#include <solmark/call.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t kTop = 8;

// body(begin, end) over [0, count) on as many threads as the work (in multiply-adds) pays for.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t work, Body body) {
  constexpr std::int64_t kWorkPerThread = 1 << 18;
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t threads = std::clamp<std::int64_t>(work / kWorkPerThread, 1, std::min(cores, count));
  const std::int64_t share = (count + threads - 1) / threads;
  std::vector<std::jthread> others;
  for (std::int64_t begin = share; begin < count; begin += share) {
    others.emplace_back(body, begin, std::min(begin + share, count));
  }
  body(std::int64_t{0}, std::min(share, count));
}

void route(const float* logits, std::int64_t experts, float* weights, std::int32_t* chosen) {
  std::array<float, kTop> best;
  best.fill(-INFINITY);
  std::array<std::int32_t, kTop> index{};
  for (std::int64_t e = 0; e < experts; ++e) {
    if (logits[e] <= best.back()) continue;
    std::int64_t place = kTop - 1;
    for (; place > 0 && best[place - 1] < logits[e]; --place) {
      best[place] = best[place - 1];
      index[place] = index[place - 1];
    }
    best[place] = logits[e];
    index[place] = static_cast<std::int32_t>(e);
  }
  float sum = 0.0f;
  for (std::int64_t e = 0; e < experts; ++e) sum += std::exp(logits[e] - best[0]);
  for (std::int64_t i = 0; i < kTop; ++i) {
    weights[i] = std::exp(best[i] - best[0]) / sum;
    chosen[i] = index[i];
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const auto* logits = static_cast<const float*>(inputs[0]->data);
  auto* weights = static_cast<float*>(outputs[0]->data);
  auto* chosen = static_cast<std::int32_t*>(outputs[1]->data);
  const std::int64_t tokens = inputs[0]->shape[0];
  const std::int64_t experts = inputs[0]->shape[1];
  parallel_for(tokens, tokens * experts * 16, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      route(logits + t * experts, experts, weights + t * kTop, chosen + t * kTop);
    }
  });
  return 0;
}
