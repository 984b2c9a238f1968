// Element comparison of one output against its expectation: SOL-ExecBench's rule, or FlashInfer-Trace's. The
// decision on an element is made in float32 arithmetic (no fused multiply-add) for float types up to 32 bits,
// as SOL-ExecBench does; float64 and integers are decided in double, so that large indices do not collide.
// The counting is done on the CPU here and by gpu/kernels/compare.cu on a GPU; both fill the same POD, so one
// decision follows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "problem/dtype.h"

namespace solmark::stats {

enum class CompareRule : std::uint8_t {
  kSolExecbench,  // an element matches iff |x-y| <= atol + rtol*|y|
  kFlashinfer,    // an element fails iff |x-y| > atol and |x-y|/|y| > rtol
};

struct CompareSpec {
  problem::Dtype dtype = problem::Dtype::kFloat32;
  CompareRule rule = CompareRule::kSolExecbench;
  bool allow_negative_inf = false;
  double atol = 0.01;
  double rtol = 0.01;
};

inline constexpr int kUlpBuckets = 8;  // 0, 1, 2, 3-4, 5-16, 17-256, 257-65536, more

// Counts over all elements of one output; POD, also written by the CUDA kernel.
struct CompareCounts {
  std::uint64_t elements = 0;  // compared (positions where both are -inf are dropped when allowed)
  std::uint64_t matched = 0;
  std::uint64_t got_nan = 0, got_inf = 0, expected_nan = 0, expected_inf = 0;
  std::uint64_t got_nonzero = 0, expected_nonzero = 0;
  double max_absolute_error = 0;  // over finite pairs
  double max_relative_error = 0;  // |x-y| / max(|y|, atol)
  double worst_score = -1;  // |x-y| - (atol + rtol*|y|) in double, +inf when not finite: largest = worst
  std::uint64_t worst_index = 0;
  double worst_got = 0, worst_expected = 0;
  std::uint64_t ulp[kUlpBuckets] = {};  // distance in units in the last place of the output's own dtype
};

// `got` and `expected` hold `elements` values (bytes for packed fp4: two values each).
CompareCounts compare_on_cpu(const CompareSpec& spec, const void* got, const void* expected,
                             std::size_t elements);
// Adds the counts of another part of the same output (its indices start at `first_index`).
void merge(CompareCounts& into, const CompareCounts& part, std::uint64_t first_index);

}  // namespace solmark::stats
