// The backend interface: judge-owned memory and the few things the judge does with it. cpu and cuda implement
// it; a third vendor is a third implementation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "stats/compare.h"

namespace solmark::device {

enum class Access { kRead, kReadWrite };

// One piece of shared memory. On cuda it lies at address() in every process; on cpu address() is 0.
class Region {
 public:
  Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  virtual ~Region() = default;
  // No other region of this process ever has the same.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] virtual std::uint64_t address() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  // A descriptor to pass to a child.
  virtual Result<Fd> share(Access access) const = 0;

 private:
  std::uint64_t id_;
};

// Two ranges of `bytes` bytes.
struct RangePair {
  const Region* a = nullptr;
  std::size_t a_offset = 0;
  const Region* b = nullptr;
  std::size_t b_offset = 0;
  std::size_t bytes = 0;
};

struct DeviceInfo {
  std::string kind;  // "cpu" or "cuda"
  int index = 0;
  std::string name;
  std::string driver;          // cuda: driver version; cpu: empty
  int compute_capability = 0;  // cuda: 90, 100, …
  int multiprocessors = 0;     // cuda: SMs; cpu: hardware threads this process may use
  std::size_t memory_bytes = 0;
  std::size_t last_level_cache_bytes = 0;
};

// What the machine was doing around a batch; a field it cannot tell is negative.
struct RunState {
  double sm_clock_hz = -1;
  double memory_clock_hz = -1;
  double temperature_c = -1;
  double power_w = -1;
  std::int64_t throttle_reasons = -1;  // NVML's bit mask
  int foreign_processes = -1;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  // Bytes that may still be allocated for one evaluation.
  virtual Result<std::size_t> available_bytes() = 0;
  virtual Result<std::unique_ptr<Region>> allocate(const std::string& label, std::size_t bytes) = 0;
  // cuda: at this address of the window, which must be free. For Seals that were saved with their addresses.
  virtual Result<std::unique_ptr<Region>> allocate_at(const std::string& label, std::uint64_t address,
                                                      std::size_t bytes) = 0;
  // Takes over memory that a child made and exported (a worker's scratch), for reading and poisoning.
  virtual Result<std::unique_ptr<Region>> import(Fd fd, std::uint64_t address, std::size_t bytes) = 0;
  virtual Status read(void* host, const Region& from, std::size_t offset, std::size_t bytes) = 0;
  virtual Status write(Region& to, std::size_t offset, const void* host, std::size_t bytes) = 0;
  // Fills with a repeated 32-bit pattern (the tail of an odd length too).
  virtual Status fill(Region& to, std::size_t offset, std::size_t bytes, std::uint32_t pattern) = 0;
  // `elements` as in stats::compare_on_cpu.
  virtual Result<stats::CompareCounts> compare(const stats::CompareSpec& spec, const Region& got,
                                               std::size_t got_offset, const Region& expected,
                                               std::size_t expected_offset, std::size_t elements) = 0;
  // Which pairs hold the same bytes, asked in one step: a quick way past compare() for many.
  virtual Result<std::vector<bool>> equal(const std::vector<RangePair>& pairs) = 0;
  // Piece p of `to` becomes piece pieces[p] of `from`, in one step. Pieces are `bytes` long (a multiple of
  // 16) and lie one after the other.
  virtual Status deal(Region& to, const Region& from, std::size_t bytes,
                      const std::vector<std::uint32_t>& pieces) = 0;
  // What the next calls find of these regions is in memory, not in the caches, and no dirty lines are left.
  virtual Status flush_caches(const std::vector<const Region*>& regions) = 0;
  // Waits until everything asked for above is done.
  virtual Status idle() = 0;
  virtual RunState state() = 0;
};

// The index of "cuda" or "cuda:N"; nothing for "cpu"; an Error for any other name.
Result<std::optional<int>> cuda_index(const std::string& name);
// "cpu", "cuda", "cuda:1".
Result<std::unique_ptr<Device>> open_device(const std::string& name);

}  // namespace solmark::device
