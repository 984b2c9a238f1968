// Test data for the comparison on a GPU: every dtype, with the values that comparisons get wrong (NaN,
// infinities, zeros of both signs, subnormals, neighbours, far-off values), reproducible from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem/dtype.h"

namespace solmark::gpu::check {

struct RandomPair {
  std::vector<std::uint8_t> got, expected;
};

// `elements` as in stats::compare_on_cpu.
RandomPair random_pair(problem::Dtype dtype, std::size_t elements, std::uint64_t seed);

}  // namespace solmark::gpu::check
