// What of the host's processor this process may use: hardware threads by affinity and cgroup, cache sizes,
// vector instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::arch {

struct CpuCaches {
  std::int64_t last_level_bytes = 0;  // the largest cache level, all its instances that the threads reach
  std::int64_t total_bytes = 0;       // all data and unified caches that the threads reach
};

struct CpuFeatures {
  bool avx2_fma = false;
  bool avx512f = false;
  bool narrow_dot = false;  // int8, bf16 or fp16 arithmetic beyond plain AVX2: VNNI, AVX512-BF16, AVX512-FP16
  bool amx = false;
};

// Hardware threads that the affinity mask allows, in order.
std::vector<int> usable_threads();
// Processors' worth of time that the cgroup allows; the number of usable threads when there is no limit.
double allowed_processors(const std::string& cgroup_cpu_max, std::size_t threads);
// The content of cgroup v2's cpu.max of this process; empty when there is none.
std::string cgroup_cpu_max();
Result<CpuCaches> cpu_caches(const std::vector<int>& threads);
CpuFeatures cpu_features();
std::string cpu_model();

}  // namespace solmark::arch
