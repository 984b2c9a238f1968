// What the judge's kernels are given, shared by compare.cu and the host code that launches it (C++17, plain
// data).
#pragma once

#include <cstdint>

#include "stats/compare.h"

namespace solmark::gpu {

struct CompareArgs {
  const void* got;
  const void* expected;
  std::uint64_t values;  // packed types: two a byte
  double atol;
  double rtol;
  stats::CompareRule rule;
  bool allow_negative_inf;
  bool vector_loads;  // both pointers are multiples of 16
};

inline constexpr int kCompareThreads = 256;
// More blocks than this gain nothing, and the final reduction reads one partial result a block.
inline constexpr int kCompareMaxBlocks = 4096;

}  // namespace solmark::gpu
