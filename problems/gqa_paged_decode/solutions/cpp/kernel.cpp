// Paged decoding for the host: one task a (sequence, key-value head); its keys and values are read once for
// all the query heads that share them.
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

struct Problem {
  const std::uint16_t* q;
  const std::uint16_t* k_cache;
  const std::uint16_t* v_cache;
  const std::int32_t* block_table;
  const std::int32_t* seq_lens;
  float sm_scale;
  std::uint16_t* out;
  std::int64_t q_heads, kv_heads, head_dim, page_size, max_pages;
};

void attend(const Problem& p, std::int64_t sequence, std::int64_t kv_head) {
  const std::int64_t group = p.q_heads / p.kv_heads;
  const std::int64_t length = p.seq_lens[sequence];
  const std::int64_t first = (sequence * p.q_heads + kv_head * group) * p.head_dim;
  const auto place = [&](std::int64_t token) {
    const std::int64_t page = p.block_table[sequence * p.max_pages + token / p.page_size];
    return ((page * p.page_size + token % p.page_size) * p.kv_heads + kv_head) * p.head_dim;
  };
  std::vector<float> query(static_cast<std::size_t>(group * p.head_dim));
  std::transform(p.q + first, p.q + first + group * p.head_dim, query.begin(), widen);
  std::vector<float> row(static_cast<std::size_t>(p.head_dim));
  std::vector<float> logits(static_cast<std::size_t>(group * length));
  std::vector<float> largest(static_cast<std::size_t>(group), -INFINITY);
  for (std::int64_t t = 0; t < length; ++t) {
    const std::uint16_t* key = p.k_cache + place(t);
    std::transform(key, key + p.head_dim, row.begin(), widen);
    for (std::int64_t g = 0; g < group; ++g) {
      const float logit = dot(query.data() + g * p.head_dim, row.data(), p.head_dim) * p.sm_scale;
      logits[g * length + t] = logit;
      largest[g] = std::max(largest[g], logit);
    }
  }
  std::vector<float> sums(query.size(), 0.0f);
  std::vector<float> total(largest.size(), 0.0f);
  for (std::int64_t t = 0; t < length; ++t) {
    const std::uint16_t* value = p.v_cache + place(t);
    std::transform(value, value + p.head_dim, row.begin(), widen);
    for (std::int64_t g = 0; g < group; ++g) {
      const float weight = std::exp(logits[g * length + t] - largest[g]);
      total[g] += weight;
      for (std::int64_t d = 0; d < p.head_dim; ++d) sums[g * p.head_dim + d] += weight * row[d];
    }
  }
  for (std::int64_t i = 0; i < group * p.head_dim; ++i)
    p.out[first + i] = narrow(sums[i] / total[i / p.head_dim]);
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const Problem p{
      .q = static_cast<const std::uint16_t*>(inputs[0]->data),
      .k_cache = static_cast<const std::uint16_t*>(inputs[1]->data),
      .v_cache = static_cast<const std::uint16_t*>(inputs[2]->data),
      .block_table = static_cast<const std::int32_t*>(inputs[3]->data),
      .seq_lens = static_cast<const std::int32_t*>(inputs[4]->data),
      .sm_scale = *static_cast<const float*>(inputs[5]->data),
      .out = static_cast<std::uint16_t*>(outputs[0]->data),
      .q_heads = inputs[0]->shape[1],
      .kv_heads = inputs[1]->shape[2],
      .head_dim = inputs[0]->shape[2],
      .page_size = inputs[1]->shape[1],
      .max_pages = inputs[3]->shape[1],
  };
  const std::int64_t batch = inputs[0]->shape[0];
  const std::int64_t tasks = batch * p.kv_heads;
  const std::int64_t work = batch * p.max_pages * p.page_size * p.q_heads * p.head_dim;
  parallel_for(tasks, work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) attend(p, task / p.kv_heads, task % p.kv_heads);
  });
  return 0;
}
