#include "arch/cpu_topology.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/files.h"

namespace solmark::arch {
namespace {

std::string first_line(const std::string& file) {
  const auto text = read_file(file, 1 << 16);
  if (!text.ok()) return {};
  return text->substr(0, text->find('\n'));
}

// "32K", "1024K", "32M", "33554432".
std::int64_t size_from_text(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return 0;
  if (end != text.data() + text.size()) {
    if (*end == 'K') value <<= 10;
    if (*end == 'M') value <<= 20;
    if (*end == 'G') value <<= 30;
  }
  return value;
}

}  // namespace

std::vector<int> usable_threads() {
  std::vector<int> threads;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) threads.push_back(cpu);
    }
  }
  if (threads.empty()) {
    const auto count = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    for (int cpu = 0; cpu < count; ++cpu) threads.push_back(cpu);
  }
  return threads;
}

double allowed_processors(const std::string& cpu_max, std::size_t threads) {
  std::istringstream words(cpu_max);
  std::string quota;
  double period = 0;
  const auto all = static_cast<double>(threads);
  if (!(words >> quota >> period) || quota == "max" || period <= 0) return all;
  std::int64_t microseconds = 0;
  const auto [end, error] = std::from_chars(quota.data(), quota.data() + quota.size(), microseconds);
  if (error != std::errc{} || end != quota.data() + quota.size() || microseconds <= 0) return all;
  return std::min(all, static_cast<double>(microseconds) / period);
}

std::string cgroup_cpu_max() {
  // "0::/path" in /proc/self/cgroup names the group below the mount.
  const auto text = read_file("/proc/self/cgroup", 1 << 16);
  if (!text.ok()) return {};
  const auto at = text->find("0::");
  if (at == std::string::npos) return {};
  std::string path = text->substr(at + 3);
  path.resize(std::min(path.size(), path.find('\n')));
  return first_line("/sys/fs/cgroup" + path + "/cpu.max");
}

Result<CpuCaches> cpu_caches(const std::vector<int>& threads) {
  // One instance of a cache serves several threads: it is known by its level, type and the threads it serves.
  std::map<int, std::map<std::string, std::int64_t>> levels;
  for (const int thread : threads) {
    const std::filesystem::path root = fmt::format("/sys/devices/system/cpu/cpu{}/cache", thread);
    for (int index = 0; index < 16; ++index) {
      const std::string folder = (root / fmt::format("index{}", index)).string();
      const std::string type = first_line(folder + "/type");
      if (type.empty()) break;
      if (type == "Instruction") continue;
      const auto level = static_cast<int>(size_from_text(first_line(folder + "/level")));
      const std::string instance = type + first_line(folder + "/shared_cpu_map");
      levels[level][instance] = size_from_text(first_line(folder + "/size"));
    }
  }
  CpuCaches caches;
  for (const auto& [level, instances] : levels) {
    std::int64_t bytes = 0;
    for (const auto& [instance, size] : instances) bytes += size;
    caches.total_bytes += bytes;
    if (bytes > 0) caches.last_level_bytes = bytes;
  }
  if (caches.total_bytes == 0) {
    return machine_error("the sizes of this processor's caches are not known",
                         "/sys/devices/system/cpu/cpu*/cache must be readable");
  }
  return caches;
}

CpuFeatures cpu_features() {
  CpuFeatures features;
  __builtin_cpu_init();
  features.avx2_fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  features.avx512f = __builtin_cpu_supports("avx512f") != 0;
  features.narrow_dot =
      __builtin_cpu_supports("avx512vnni") != 0 || __builtin_cpu_supports("avx512bf16") != 0;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    features.narrow_dot = features.narrow_dot || (d >> 23 & 1) != 0;                // AVX512-FP16
    features.amx = (d >> 22 & 1) != 0 || (d >> 24 & 1) != 0 || (d >> 25 & 1) != 0;  // BF16, TILE, INT8
  }
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    features.narrow_dot = features.narrow_dot || (a >> 4 & 1) != 0;  // AVX-VNNI
  }
  return features;
}

std::string cpu_model() {
  const auto text = read_file("/proc/cpuinfo", std::size_t{4} << 20);
  if (!text.ok()) return "unknown";
  const auto at = text->find("model name");
  if (at == std::string::npos) return "unknown";
  const auto colon = text->find(':', at);
  const auto end = text->find('\n', at);
  if (colon == std::string::npos || colon + 2 > end) return "unknown";
  return text->substr(colon + 2, end - colon - 2);
}

}  // namespace solmark::arch
