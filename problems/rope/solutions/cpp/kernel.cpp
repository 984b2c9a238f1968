// Rotary embedding for the host: tokens are shared out to threads; a token's angles serve all its heads.
#include <solmark/call.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

float widen(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

// Round to nearest, ties to even. Finite values only: nothing else is passed.
std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

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

void rotate(const std::uint16_t* in, std::uint16_t* out, const float* cosine, const float* sine,
            std::int64_t half) {
  for (std::int64_t i = 0; i < half; ++i) {
    const float low = widen(in[i]);
    const float high = widen(in[half + i]);
    out[i] = narrow(low * cosine[i] - high * sine[i]);
    out[half + i] = narrow(high * cosine[i] + low * sine[i]);
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const auto* positions = static_cast<const std::int64_t*>(inputs[2]->data);
  const auto* cache = static_cast<const float*>(inputs[3]->data);
  const std::int64_t tokens = inputs[0]->shape[0];
  const std::int64_t head_dim = inputs[0]->shape[2];
  const std::int64_t half = head_dim / 2;
  const std::int64_t heads = inputs[0]->shape[1] + inputs[1]->shape[1];
  parallel_for(tokens, tokens * heads * head_dim * 2, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const float* cosine = cache + positions[token] * head_dim;
      for (int which = 0; which < 2; ++which) {  // queries, keys
        const std::int64_t count = inputs[which]->shape[1];
        const auto* in = static_cast<const std::uint16_t*>(inputs[which]->data) + token * count * head_dim;
        auto* out = static_cast<std::uint16_t*>(outputs[which]->data) + token * count * head_dim;
        for (std::int64_t h = 0; h < count; ++h) {
          rotate(in + h * head_dim, out + h * head_dim, cosine, cosine + half, half);
        }
      }
    }
  });
  return 0;
}
