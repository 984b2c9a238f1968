// For tests: a Seal that uses every field of the format.
#pragma once

#include "gpu/window.h"
#include "seal/seal.h"
#include "seal/test_elf.h"

namespace solmark::seal {

inline Seal full_seal() {
  Seal seal;
  seal.compute_capability = 90;
  seal.driver_version = 13000;
  seal.images = {{TestElf().build()}, {TestElf().build()}};
  seal.functions = {{0, "kernel_one", {{8, 102400}, {9, -1}}}, {1, "kernel_two", {}}};
  KernelNode one;
  one.function = 0;
  one.grid = {7, 2, 3};
  one.block = {128, 2, 1};
  one.dynamic_shared_bytes = 102400;
  one.parameters = std::string("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16);
  one.attributes = {{4, {}}, {8, {}}};
  one.attributes[0].value[0] = 2;
  one.relocations = {{8, 1, "g_set", 16}};
  KernelNode two;
  two.function = 1;
  const MemsetNode fill{gpu::kWindowBase + 4096, 512, 0x7fc0, 2, 100, 3};
  const MemcpyNode copy{{gpu::kWindowBase, 256, 4}, {gpu::kScratchBase, 512, 8}, 200, 4, 2};
  Call call;
  call.nodes = {one, two, fill, copy, EmptyNode{}};
  call.edges = {{0, 1, 1, 0, 1}, {1, 2, 0, 0, 0}, {2, 4, 0, 0, 0}, {3, 4, 0, 0, 0}};
  call.outputs = {gpu::kWindowBase + 65536, gpu::kScratchBase + 512};
  Call other;
  other.nodes = {two};
  seal.calls = {call, other};
  seal.state = {{0, "g_set", 8, "state"}};
  seal.scratch = {{gpu::kScratchBase, 2U << 20, true, {{0, "first"}, {4096, "second"}}},
                  {gpu::kScratchBase + (4U << 20), 2U << 20, false, {}}};
  seal.buffers = {{"x", false, gpu::kWindowBase, 4096, 8192},
                  {"y", true, gpu::kWindowBase + (1U << 20), 4096, 8192}};
  seal.notes = {"variable v of image 0 cannot be read: it starts with its initial value"};
  return seal;
}

}  // namespace solmark::seal
