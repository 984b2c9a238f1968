// Root-mean-square norm for the host: one pass for the sum of squares, one to write; rows are shared out to
// threads.
#include <solmark/call.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kElementsPerThread = 1 << 16;  // below this a thread costs more than it saves

float widen(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

// Round to nearest, ties to even. Finite inputs only: the callers pass nothing else.
std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void normalise_rows(const std::uint16_t* x, const float* weight, float eps, std::uint16_t* out,
                    std::int64_t begin, std::int64_t end, std::int64_t hidden) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::uint16_t* in_row = x + row * hidden;
    std::uint16_t* out_row = out + row * hidden;
    // Independent partial sums: the compiler may not reorder one float sum, but it may vectorise these.
    float lane[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= hidden; i += kLanes) {
      for (std::int64_t l = 0; l < kLanes; ++l) {
        const float v = widen(in_row[i + l]);
        lane[l] += v * v;
      }
    }
    float sum = 0.0f;
    for (; i < hidden; ++i) sum += widen(in_row[i]) * widen(in_row[i]);
    for (float part : lane) sum += part;
    const float inverse = 1.0f / std::sqrt(sum / static_cast<float>(hidden) + eps);
    for (i = 0; i < hidden; ++i) out_row[i] = narrow(widen(in_row[i]) * inverse * weight[i]);
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const std::int64_t tokens = inputs[0]->shape[0];
  const std::int64_t hidden = inputs[0]->shape[1];
  const auto* x = static_cast<const std::uint16_t*>(inputs[0]->data);
  const auto* raw_weight = static_cast<const std::uint16_t*>(inputs[1]->data);
  const float eps = *static_cast<const float*>(inputs[2]->data);
  auto* out = static_cast<std::uint16_t*>(outputs[0]->data);

  std::vector<float> weight(static_cast<std::size_t>(hidden));
  std::transform(raw_weight, raw_weight + hidden, weight.begin(), widen);

  const std::int64_t useful = std::max<std::int64_t>(1, tokens * hidden / kElementsPerThread);
  const std::int64_t threads =
      std::min<std::int64_t>({useful, tokens, std::max(1u, std::thread::hardware_concurrency())});
  const std::int64_t share = (tokens + threads - 1) / threads;
  std::vector<std::jthread> others;
  for (std::int64_t begin = share; begin < tokens; begin += share) {
    others.emplace_back(normalise_rows, x, weight.data(), eps, out, begin, std::min(begin + share, tokens),
                        hidden);
  }
  normalise_rows(x, weight.data(), eps, out, 0, std::min(share, tokens), hidden);
  return 0;
}
