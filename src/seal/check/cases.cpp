#include "seal/check/cases.h"

namespace solmark::seal::check {
namespace {

constexpr std::size_t kBlock = 256;
constexpr std::size_t kTable = 4096;
using Inputs = std::vector<float>;

float from(std::size_t number) { return static_cast<float>(number); }

float expected_copies(const Inputs& x, std::size_t i) {
  const std::size_t half = x.size() / 2;
  const bool copied = i < half || (i - half) % 128 < 64;
  return copied ? 2 * x[i] : x[i];
}

}  // namespace

const std::vector<SealedCase>& sealed_cases() {
  static const std::vector<SealedCase> cases{
      {"entry_state",
       [](const Inputs& x, std::size_t i) { return x[i] * 2 + 0.25F * from(i & 15) - 8 * from(i & 15); },
       true},
      {"entry_pointer", [](const Inputs& x, std::size_t i) { return x[i] * 7; }},
      {"entry_shared",
       [](const Inputs& x, std::size_t i) { return x[i ^ 1] + from((i & (kTable - 1)) % 97); }, true},
      {"entry_cluster", [](const Inputs& x, std::size_t i) { return x[i ^ kBlock] * 2; }},
      {"entry_cooperative", [](const Inputs& x, std::size_t i) { return x[x.size() - 1 - i] * 2; }},
      {"entry_dependent", [](const Inputs& x, std::size_t i) { return (x[i] + 1) * 3; }},
      {"entry_copies", expected_copies},
      {"entry_fork", [](const Inputs& x, std::size_t i) { return (x[i] + 10) + (x[i] + 20) + x[i]; }},
      {"entry_twins", [](const Inputs& x, std::size_t i) { return x[i] * 3 + x[i] * 5; }},
      {"entry_chain", [](const Inputs& x, std::size_t i) { return x[i] * 20; }},
  };
  return cases;
}

const std::vector<RefusedCase>& refused_cases() {
  static const std::vector<RefusedCase> cases{
      {"entry_waits", "seal", "unsealable", "cannot be captured"},
      {"entry_host", "seal", "unsealable", "host function"},
      {"entry_managed", "seal", "unsealable", "managed memory"},
      {"entry_default_stream", "seal", "unsealable", "cannot be captured"},
      {"entry_nothing", "seal", "unsealable", "no work"},
      {"entry_wild", "call", "runtime", "CUDA_ERROR"},
  };
  return cases;
}

}  // namespace solmark::seal::check
