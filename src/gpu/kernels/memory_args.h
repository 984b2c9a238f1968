// What the judge's kernels on plain bytes are given, shared by memory.cu and the host code that launches it
// (C++17, plain data).
#pragma once

#include <cstdint>

namespace solmark::gpu {

struct BytePair {
  std::uint64_t a;  // device addresses
  std::uint64_t b;
  std::uint64_t bytes;
};

}  // namespace solmark::gpu
