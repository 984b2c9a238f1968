#include "arch/probe_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "arch/arch_toml.h"
#include "arch/cpu_kernels.h"
#include "arch/cpu_topology.h"

namespace solmark::arch {
namespace {

TEST(CpuTopology, ReadsQuotas) {
  EXPECT_EQ(allowed_processors("max 100000", 8), 8);
  EXPECT_EQ(allowed_processors("150000 100000", 8), 1.5);
  EXPECT_EQ(allowed_processors("900000 100000", 8), 8);
  EXPECT_EQ(allowed_processors("", 3), 3);
  EXPECT_EQ(allowed_processors("1x 100000", 3), 3);
}

TEST(CpuKernels, CountWhatTheyDo) {
  float sink32 = 0;
  double sink64 = 0;
  for (const VectorSet set : {VectorSet::kGeneric, best_vector_set()}) {
    const double flop = run_fma_fp32(set, 1000, &sink32);
    EXPECT_EQ(run_fma_fp32(set, 2000, &sink32), 2 * flop);
    EXPECT_EQ(run_fma_fp64(set, 2000, &sink64), set == VectorSet::kGeneric ? 2 * flop : flop);
  }
  EXPECT_GT(sink32, 0);
  EXPECT_GT(sink64, 0);
}

TEST(CpuKernels, StreamAllOfTheMemory) {
  constexpr std::size_t kBytes = 1 << 16;
  auto* from = static_cast<unsigned*>(std::aligned_alloc(64, kBytes));
  auto* to = static_cast<unsigned*>(std::aligned_alloc(64, kBytes));
  for (std::size_t i = 0; i < kBytes / 4; ++i) from[i] = static_cast<unsigned>(i);
  for (const VectorSet set : {VectorSet::kGeneric, best_vector_set()}) {
    stream_copy(set, to, from, kBytes);
    for (std::size_t i = 0; i < kBytes / 4; ++i) ASSERT_EQ(to[i], i);
    stream_write(set, to, kBytes);
    for (std::size_t i = 1; i < kBytes / 4; ++i) ASSERT_EQ(to[i], to[0]);
  }
  std::free(from);
  std::free(to);
}

#ifdef SOLMARK_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(CpuKernels, FlushMakesTheNextReadSlow) {
  if (kSanitized) GTEST_SKIP() << "a checked read takes longer than memory does";
  constexpr std::size_t kBytes = 1 << 15;
  auto* block = static_cast<unsigned*>(std::aligned_alloc(64, kBytes));
  std::memset(block, 1, kBytes);
  if (!flush_lines(block, kBytes)) GTEST_SKIP() << "no fast instruction for it";
  const auto read_s = [&] {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(load_block(VectorSet::kGeneric, block, kBytes, 1), 0);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double cold = 1;
  double warm = 1;
  for (int i = 0; i < 100; ++i) {
    (void)flush_lines(block, kBytes);
    cold = std::min(cold, read_s());
    warm = std::min(warm, read_s());
  }
  EXPECT_GT(cold, 1.3 * warm);
  std::free(block);
}

TEST(CpuKernels, TouchAllOfABlock) {
  constexpr std::size_t kBytes = 1 << 13;
  auto* block = static_cast<unsigned*>(std::aligned_alloc(64, kBytes));
  for (const VectorSet set : {VectorSet::kGeneric, best_vector_set()}) {
    std::memset(block, 0, kBytes);
    EXPECT_EQ(load_block(set, block, kBytes, 3), 0);
    for (const std::size_t last : {std::size_t{0}, kBytes / 4 - 1}) {
      block[last] = 1;
      EXPECT_NE(load_block(set, block, kBytes, 3), 0) << last;
      block[last] = 0;
    }
    store_block(set, block, kBytes, 2);
    for (std::size_t i = 0; i < kBytes / 4; ++i) ASSERT_NE(block[i], 0U) << i;
  }
  std::free(block);
}

TEST(ProbeCpu, KeepsTheHigherOfTwoRates) {
  Arch a;
  a.kind = Kind::kCpu;
  a.memory_bytes_per_s = Figure{10, "first", Certainty::kMeasured};
  a.cache_bytes_per_s = Figure{10, "first", Certainty::kMeasured};
  a.vector[Format::kFp32] = Figure{10, "first", Certainty::kMeasured};
  Arch b = a;
  b.memory_bytes_per_s = Figure{20, "second", Certainty::kMeasured};
  b.cache_bytes_per_s = Figure{5, "second", Certainty::kMeasured};
  b.vector[Format::kFp32] = Figure{20, "second", Certainty::kMeasured};
  const Arch higher = with_higher_ceilings(a, b);
  EXPECT_EQ(higher.memory_bytes_per_s->value, 20);
  EXPECT_EQ(higher.memory_bytes_per_s->source, "second");
  EXPECT_EQ(higher.cache_bytes_per_s->value, 10);
  EXPECT_EQ(higher.vector.at(Format::kFp32).value, 20);
}

TEST(ProbeCpu, GivesAnArchThatReadsBack) {
  ProbeOptions options;
  options.seconds = 0.3;
  options.bytes = 1 << 22;
  const auto arch = probe_cpu(options);
  ASSERT_TRUE(arch.ok()) << arch.error().text();
  EXPECT_EQ(arch->kind, Kind::kCpu);
  const auto again = parse_arch(arch_to_toml(*arch), "probe");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(arch_to_toml(*again), arch_to_toml(*arch));
  const auto peak = [&](Format format) { return peak_flop_per_s(*arch, Pipe::kVector, format, {})->per_s; };
  EXPECT_GT(peak(Format::kFp32), 1e9);
  EXPECT_GE(peak(Format::kFp16), peak(Format::kFp32));
  EXPECT_GE(arch->memory_bytes_per_s->value, arch->memory_copy_bytes_per_s->value);
  // The nearest cache is faster than memory, unless every read is checked.
  if (!kSanitized) {
    EXPECT_GT(cache_bytes_per_s(*arch, {})->per_s, arch->memory_bytes_per_s->value);
  }
  EXPECT_GE(arch->vector.at(Format::kFp32).value, arch->vector_per_unit.at(Format::kFp32).value);
}

}  // namespace
}  // namespace solmark::arch
