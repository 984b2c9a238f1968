// Linear layer on e4m3 inputs for the host: both operands are widened once through a table, then multiplied
// in fp32.
#include <solmark/call.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t kLanes = 16;

float widen(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

// Round to nearest, ties to even. Finite values only: nothing else is passed.
std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// e4m3fn: sign, four exponent bits with bias 7, three mantissa bits; 0x7f and 0xff are NaN, there is no
// infinity.
std::array<float, 256> e4m3_values() {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code) {
    const int exponent = (code >> 3) & 15;
    const int mantissa = code & 7;
    float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    if ((code & 0x7f) == 0x7f) value = std::numeric_limits<float>::quiet_NaN();
    table[static_cast<std::size_t>(code)] = code < 128 ? value : -value;
  }
  return table;
}

float gelu(float v) {
  const float inner = 0.7978845608f * (v + 0.044715f * v * v * v);  // sqrt(2 / pi)
  return 0.5f * v * (1.0f + std::tanh(inner));
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

// Independent partial sums: the compiler may not reorder one float sum, but it may vectorise these.
float dot(const float* a, const float* b, std::int64_t size) {
  float lane[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) lane[l] += a[i + l] * b[i + l];
  }
  float sum = 0.0f;
  for (; i < size; ++i) sum += a[i] * b[i];
  for (float part : lane) sum += part;
  return sum;
}

// out[i][j] = a[i] . b[j] for rows [0, rows) of a and [begin, end) of b, both of length k; four rows of a at
// a time, so a row of b is read from the cache a quarter as often.
template <class Store>
void multiply(const float* a, const float* b, std::int64_t rows, std::int64_t begin, std::int64_t end,
              std::int64_t k, Store store) {
  for (std::int64_t j = begin; j < end; ++j) {
    const float* right = b + j * k;
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      const float* left = a + i * k;
      float lane[4][kLanes] = {};
      std::int64_t p = 0;
      for (; p + kLanes <= k; p += kLanes) {
        for (std::int64_t l = 0; l < kLanes; ++l) {
          for (std::int64_t r = 0; r < 4; ++r) lane[r][l] += left[r * k + p + l] * right[p + l];
        }
      }
      for (std::int64_t r = 0; r < 4; ++r) {
        float sum = 0.0f;
        for (std::int64_t rest = p; rest < k; ++rest) sum += left[r * k + rest] * right[rest];
        for (float part : lane[r]) sum += part;
        store(i + r, j, sum);
      }
    }
    for (; i < rows; ++i) store(i, j, dot(a + i * k, right, k));
  }
}

std::vector<float> widened(const DLTensor& tensor) {
  static const std::array<float, 256> table = e4m3_values();
  const auto* data = static_cast<const std::uint8_t*>(tensor.data);
  std::vector<float> wide(static_cast<std::size_t>(tensor.shape[0] * tensor.shape[1]));
  std::transform(data, data + wide.size(), wide.begin(), [](std::uint8_t code) { return table[code]; });
  return wide;
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const std::int64_t m = inputs[0]->shape[0];
  const std::int64_t k = inputs[0]->shape[1];
  const std::int64_t n = inputs[1]->shape[0];
  const std::vector<float> x = widened(*inputs[0]);
  const std::vector<float> weight = widened(*inputs[1]);
  const auto* x_scale = static_cast<const float*>(inputs[2]->data);
  const auto* weight_scale = static_cast<const float*>(inputs[3]->data);
  const auto* bias = static_cast<const std::uint16_t*>(inputs[4]->data);
  auto* out = static_cast<std::uint16_t*>(outputs[0]->data);
  parallel_for(n, m * n * k, [&](std::int64_t begin, std::int64_t end) {
    multiply(x.data(), weight.data(), m, begin, end, k, [&](std::int64_t i, std::int64_t j, float sum) {
      out[i * n + j] = narrow(gelu(sum * x_scale[i] * weight_scale[j] + widen(bias[j])));
    });
  });
  return 0;
}
