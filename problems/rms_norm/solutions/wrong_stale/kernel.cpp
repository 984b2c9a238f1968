// Wrong on purpose: right for the first inputs of each size; afterwards the saved result is handed out again.
#include <solmark/call.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace {

float widen(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  static std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::uint16_t>> saved;
  const std::int64_t tokens = inputs[0]->shape[0];
  const std::int64_t hidden = inputs[0]->shape[1];
  std::vector<std::uint16_t>& result = saved[{tokens, hidden}];
  if (result.empty()) {
    const auto* x = static_cast<const std::uint16_t*>(inputs[0]->data);
    const auto* weight = static_cast<const std::uint16_t*>(inputs[1]->data);
    const float eps = *static_cast<const float*>(inputs[2]->data);
    for (std::int64_t row = 0; row < tokens; ++row) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < hidden; ++i)
        sum += double{widen(x[row * hidden + i])} * widen(x[row * hidden + i]);
      const float inverse = 1.0f / std::sqrt(static_cast<float>(sum / static_cast<double>(hidden)) + eps);
      for (std::int64_t i = 0; i < hidden; ++i) {
        result.push_back(narrow(widen(x[row * hidden + i]) * inverse * widen(weight[i])));
      }
    }
  }
  std::copy(result.begin(), result.end(), static_cast<std::uint16_t*>(outputs[0]->data));
  return 0;
}
