// Causal attention for the host. Threads share out (head, query block) pairs; a query row keeps its logits,
// so the softmax is exact in two passes.
#include <solmark/call.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

void attend(const float* query, const float* keys, const float* values, std::int64_t count,
            std::int64_t head_dim, float* logits, float* sum_of_values, std::uint16_t* out) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  float largest = -INFINITY;
  for (std::int64_t j = 0; j < count; ++j) {
    logits[j] = dot(query, keys + j * head_dim, head_dim) * scale;
    largest = std::max(largest, logits[j]);
  }
  float total = 0.0f;
  std::fill_n(sum_of_values, head_dim, 0.0f);
  for (std::int64_t j = 0; j < count; ++j) {
    const float weight = std::exp(logits[j] - largest);
    total += weight;
    for (std::int64_t d = 0; d < head_dim; ++d) sum_of_values[d] += weight * values[j * head_dim + d];
  }
  for (std::int64_t d = 0; d < head_dim; ++d) out[d] = narrow(sum_of_values[d] / total);
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const auto* q = static_cast<const std::uint16_t*>(inputs[0]->data);
  const auto* k = static_cast<const std::uint16_t*>(inputs[1]->data);
  const auto* v = static_cast<const std::uint16_t*>(inputs[2]->data);
  auto* out = static_cast<std::uint16_t*>(outputs[0]->data);
  const std::int64_t planes = inputs[0]->shape[0] * inputs[0]->shape[1];  // batch and heads
  const std::int64_t seq = inputs[0]->shape[2];
  const std::int64_t head_dim = inputs[0]->shape[3];
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const std::int64_t offset = plane * seq * head_dim;
    std::vector<float> keys(static_cast<std::size_t>(seq * head_dim));
    std::vector<float> values(keys.size());
    std::transform(k + offset, k + offset + seq * head_dim, keys.begin(), widen);
    std::transform(v + offset, v + offset + seq * head_dim, values.begin(), widen);
    // Row i costs i: dealing rows from both ends gives every thread the same work.
    parallel_for((seq + 1) / 2, seq * seq * head_dim, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> logits(static_cast<std::size_t>(seq));
      std::vector<float> sums(static_cast<std::size_t>(head_dim));
      std::vector<float> query(sums.size());
      const auto one_row = [&](std::int64_t row) {
        const std::uint16_t* raw = q + offset + row * head_dim;
        std::transform(raw, raw + head_dim, query.begin(), widen);
        attend(query.data(), keys.data(), values.data(), row + 1, head_dim, logits.data(), sums.data(),
               out + offset + row * head_dim);
      };
      for (std::int64_t i = begin; i < end; ++i) {
        one_row(i);
        if (seq - 1 - i != i) one_row(seq - 1 - i);
      }
    });
  }
  return 0;
}
