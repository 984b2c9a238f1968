#include "device/cpu_device.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "arch/cpu_kernels.h"

namespace solmark::device {
namespace {

class CpuRegion : public Region {
 public:
  CpuRegion(Fd fd, Mapping mapping) : fd_(std::move(fd)), mapping_(std::move(mapping)) {}
  [[nodiscard]] std::uint64_t address() const override { return 0; }
  [[nodiscard]] std::size_t bytes() const override { return mapping_.size(); }
  Result<Fd> share(Access access) const override {
    return access == Access::kRead ? fd_.reopen_read_only() : fd_.duplicate();
  }
  [[nodiscard]] std::byte* data() const { return mapping_.data(); }

 private:
  Fd fd_;
  Mapping mapping_;
};

// A region's bytes [offset, offset + bytes), or an Error when they are not all there.
Result<std::byte*> part(const Region& region, std::size_t offset, std::size_t bytes) {
  if (offset > region.bytes() || bytes > region.bytes() - offset) {
    return internal_error(
        fmt::format("bytes [{}, {}+{}) are outside a region of {}", offset, offset, bytes, region.bytes()));
  }
  return static_cast<const CpuRegion&>(region).data() + offset;
}

std::string first_line_with(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) == 0) return line;
  }
  return {};
}

// Bytes of the largest unified or data cache that sysfs lists; 32 MiB where it lists none (containers).
std::size_t last_level_cache_bytes() {
  std::size_t best = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream in(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::size_t size = 0;
    char unit = 0;
    if (!(in >> size)) break;
    in >> unit;
    best = std::max(best, unit == 'M' ? size << 20 : unit == 'K' ? size << 10 : size);
  }
  return best == 0 ? std::size_t{32} << 20 : best;
}

class CpuDevice : public Device {
 public:
  CpuDevice() {
    info_.kind = "cpu";
    std::string model = first_line_with("/proc/cpuinfo", "model name");
    auto colon = model.find(": ");
    info_.name = colon == std::string::npos ? "CPU" : model.substr(colon + 2);
    info_.multiprocessors = static_cast<int>(usable_cpus().size());
    info_.memory_bytes =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    info_.last_level_cache_bytes = last_level_cache_bytes();
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  Result<std::size_t> available_bytes() override {
    std::string line = first_line_with("/proc/meminfo", "MemAvailable:");
    std::size_t kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %zu kB", &kib) != 1) return info_.memory_bytes / 2;
    return kib * 1024;
  }

  Result<std::unique_ptr<Region>> allocate(const std::string& label, std::size_t bytes) override {
    SOLMARK_TRY(Fd fd, make_memfd("solmark-" + label, bytes));
    SOLMARK_TRY(Mapping mapping, Mapping::map(fd, bytes, Mapping::Access::kReadWrite));
    return std::unique_ptr<Region>(std::make_unique<CpuRegion>(std::move(fd), std::move(mapping)));
  }
  Result<std::unique_ptr<Region>> allocate_at(const std::string&, std::uint64_t, std::size_t) override {
    return internal_error("cpu memory has no fixed address");
  }
  Result<std::unique_ptr<Region>> import(Fd, std::uint64_t, std::size_t) override {
    return internal_error("the cpu device imports no memory");
  }

  Status read(void* host, const Region& from, std::size_t offset, std::size_t bytes) override {
    SOLMARK_TRY(std::byte * source, part(from, offset, bytes));
    if (bytes > 0) std::memcpy(host, source, bytes);
    return success();
  }
  Status write(Region& to, std::size_t offset, const void* host, std::size_t bytes) override {
    SOLMARK_TRY(std::byte * target, part(to, offset, bytes));
    if (bytes > 0) std::memcpy(target, host, bytes);
    return success();
  }
  Status fill(Region& to, std::size_t offset, std::size_t bytes, std::uint32_t pattern) override {
    SOLMARK_TRY(std::byte * target, part(to, offset, bytes));
    std::array<std::uint32_t, 1024> block;
    block.fill(pattern);
    for (std::size_t i = 0; i < bytes; i += sizeof block)
      std::memcpy(target + i, block.data(), std::min(sizeof block, bytes - i));
    return success();
  }

  Result<stats::CompareCounts> compare(const stats::CompareSpec& spec, const Region& got,
                                       std::size_t got_offset, const Region& expected,
                                       std::size_t expected_offset, std::size_t elements) override {
    std::size_t element_bits = problem::dtype_is_packed(spec.dtype) ? 8 : problem::dtype_bits(spec.dtype);
    std::size_t bytes = elements * element_bits / 8;
    SOLMARK_TRY(std::byte * x, part(got, got_offset, bytes));
    SOLMARK_TRY(std::byte * y, part(expected, expected_offset, bytes));
    // One part a thread; merged in order, so that the result does not depend on the number of threads.
    std::size_t threads =
        std::clamp<std::size_t>(elements >> 18, 1, static_cast<std::size_t>(info_.multiprocessors));
    std::vector<stats::CompareCounts> parts(threads);
    std::size_t share = (elements + threads - 1) / threads;
    auto run = [&](std::size_t t) {
      std::size_t from = std::min(elements, t * share);
      std::size_t n = std::min(elements, from + share) - from;
      std::size_t skip = from * element_bits / 8;
      parts[t] = stats::compare_on_cpu(spec, x + skip, y + skip, n);
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(run, t);
    run(0);
    for (auto& other : others) other.join();
    stats::CompareCounts out;
    std::size_t values_per_element = problem::dtype_is_packed(spec.dtype) ? 2 : 1;
    for (std::size_t t = 0; t < threads; ++t) stats::merge(out, parts[t], t * share * values_per_element);
    return out;
  }

  Result<std::vector<bool>> equal(const std::vector<RangePair>& pairs) override {
    std::vector<bool> same;
    for (const RangePair& pair : pairs) {
      SOLMARK_TRY(std::byte * x, part(*pair.a, pair.a_offset, pair.bytes));
      SOLMARK_TRY(std::byte * y, part(*pair.b, pair.b_offset, pair.bytes));
      same.push_back(pair.bytes == 0 || std::memcmp(x, y, pair.bytes) == 0);
    }
    return same;
  }

  Status deal(Region& to, const Region& from, std::size_t bytes,
              const std::vector<std::uint32_t>& pieces) override {
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      SOLMARK_TRY(std::byte * target, part(to, p * bytes, bytes));
      SOLMARK_TRY(std::byte * source, part(from, pieces[p] * bytes, bytes));
      if (bytes > 0) std::memcpy(target, source, bytes);
    }
    return success();
  }

  Status flush_caches(const std::vector<const Region*>& regions) override {
    bool flushed = true;
    for (const Region* region : regions) {
      SOLMARK_TRY(std::byte * data, part(*region, 0, region->bytes()));
      flushed = flushed && arch::flush_lines(data, region->bytes());
    }
    if (!flushed) read_past_the_caches();
    return success();
  }
  Status idle() override { return success(); }

  RunState state() override {
    RunState out;
    std::ifstream in("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    double khz = 0;
    if (in >> khz) out.sm_clock_hz = khz * 1000;
    return out;
  }

 private:
  // Reads twice the cache, one word a line: other lines leave, and nothing dirty stays behind.
  void read_past_the_caches() {
    if (flush_.empty()) flush_.resize(2 * info_.last_level_cache_bytes / sizeof(std::uint64_t), 1);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < flush_.size(); i += 8) sum += flush_[i];
    sink_.store(sum, std::memory_order_relaxed);
  }

  DeviceInfo info_;
  std::vector<std::uint64_t> flush_;
  std::atomic<std::uint64_t> sink_{0};
};

}  // namespace

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) out.push_back(cpu);
    }
  }
  if (out.empty()) out.push_back(0);
  return out;
}

Result<std::unique_ptr<Device>> open_cpu_device() {
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>());
}

}  // namespace solmark::device
