// State-space scan for the host, as the plain recurrence: token by token, one task a (sequence, head).
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

struct Problem {
  const std::uint16_t* x;
  const float* dt;
  const float* A;
  const std::uint16_t* B;
  const std::uint16_t* C;
  const float* D;
  std::uint16_t* y;
  std::int64_t seqlen, heads, head_dim, groups, state;
};

// One row of the state: decay it, add what is written, return what is read. `size` is a multiple of kLanes.
float step(float* row, const float* write, const float* read, float decay, float gain, std::int64_t size) {
  float lane[kLanes] = {};
  for (std::int64_t n = 0; n < size; n += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      row[n + l] = row[n + l] * decay + write[n + l] * gain;
      lane[l] += row[n + l] * read[n + l];
    }
  }
  float sum = 0.0f;
  for (float part : lane) sum += part;
  return sum;
}

void scan(const Problem& p, std::int64_t sequence, std::int64_t head) {
  const std::int64_t group = head / (p.heads / p.groups);
  std::vector<float> held(static_cast<std::size_t>(p.head_dim * p.state), 0.0f);
  std::vector<float> write(static_cast<std::size_t>(p.state));
  std::vector<float> read(write.size());
  for (std::int64_t t = 0; t < p.seqlen; ++t) {
    const std::int64_t token = sequence * p.seqlen + t;
    const std::uint16_t* b = p.B + (token * p.groups + group) * p.state;
    const std::uint16_t* c = p.C + (token * p.groups + group) * p.state;
    std::transform(b, b + p.state, write.begin(), widen);
    std::transform(c, c + p.state, read.begin(), widen);
    const float dt = p.dt[token * p.heads + head];
    const float decay = std::exp(dt * p.A[head]);
    const std::uint16_t* in = p.x + (token * p.heads + head) * p.head_dim;
    std::uint16_t* out = p.y + (token * p.heads + head) * p.head_dim;
    for (std::int64_t d = 0; d < p.head_dim; ++d) {
      const float value = widen(in[d]);
      const float seen =
          step(held.data() + d * p.state, write.data(), read.data(), decay, dt * value, p.state);
      out[d] = narrow(seen + p.D[head] * value);
    }
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  const Problem p{
      .x = static_cast<const std::uint16_t*>(inputs[0]->data),
      .dt = static_cast<const float*>(inputs[1]->data),
      .A = static_cast<const float*>(inputs[2]->data),
      .B = static_cast<const std::uint16_t*>(inputs[3]->data),
      .C = static_cast<const std::uint16_t*>(inputs[4]->data),
      .D = static_cast<const float*>(inputs[5]->data),
      .y = static_cast<std::uint16_t*>(outputs[0]->data),
      .seqlen = inputs[0]->shape[1],
      .heads = inputs[0]->shape[2],
      .head_dim = inputs[0]->shape[3],
      .groups = inputs[3]->shape[2],
      .state = inputs[3]->shape[3],
  };
  if (p.state % kLanes != 0) return 1;
  const std::int64_t tasks = inputs[0]->shape[0] * p.heads;
  parallel_for(tasks, tasks * p.seqlen * p.head_dim * p.state * 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) scan(p, task / p.heads, task % p.heads);
  });
  return 0;
}
