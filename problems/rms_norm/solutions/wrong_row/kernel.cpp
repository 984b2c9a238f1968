// Wrong on purpose: each row is scaled by the mean square of the row before it (the first by its own, and
// moved by one column so that a single row is wrong too).
#include <solmark/call.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace {

float widen(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const std::int64_t tokens = inputs[0]->shape[0];
  const std::int64_t hidden = inputs[0]->shape[1];
  const auto* x = static_cast<const std::uint16_t*>(inputs[0]->data);
  const auto* weight = static_cast<const std::uint16_t*>(inputs[1]->data);
  const float eps = *static_cast<const float*>(inputs[2]->data);
  auto* out = static_cast<std::uint16_t*>(outputs[0]->data);
  for (std::int64_t row = 0; row < tokens; ++row) {
    const std::uint16_t* measured = x + (row > 0 ? row - 1 : 0) * hidden;
    double sum = 0.0;
    for (std::int64_t i = 0; i < hidden; ++i) sum += double{widen(measured[i])} * widen(measured[i]);
    const float inverse = 1.0f / std::sqrt(static_cast<float>(sum / static_cast<double>(hidden)) + eps);
    const std::int64_t shift = row > 0 ? 0 : 1;
    for (std::int64_t i = 0; i < hidden; ++i) {
      out[row * hidden + i] =
          narrow(widen(x[row * hidden + (i + shift) % hidden]) * inverse * widen(weight[i]));
    }
  }
  return 0;
}
