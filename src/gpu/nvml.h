// The machine's state around a batch, by NVML (libnvidia-ml.so.1, opened at run time; its few types are
// declared here, so no header of it is needed). What a GPU or driver does not tell stays unset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::gpu {

struct GpuState {
  std::optional<double> sm_clock_hz, memory_clock_hz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<std::uint64_t> throttle_reasons;      // NVML's bit mask; 0: none, 1: idle
  std::optional<std::vector<int>> compute_processes;  // process numbers
};

struct GpuClocks {
  std::optional<double> max_sm_hz, max_memory_hz;
};

struct NvmlTable;

class Nvml {
 public:
  // The GPU at a PCI address as cuDeviceGetPCIBusId writes it ("0000:3b:00.0").
  static Result<Nvml> open(const std::string& pci_bus_id);
  // With another library file, for tests.
  static Result<Nvml> open_library(const std::string& file, const std::string& pci_bus_id);

  [[nodiscard]] GpuState state() const;
  [[nodiscard]] GpuClocks max_clocks() const;
  [[nodiscard]] Result<std::string> driver_version() const;  // "580.95.05"

 private:
  Nvml(std::shared_ptr<const NvmlTable> table, void* device) : table_(std::move(table)), device_(device) {}
  std::shared_ptr<const NvmlTable> table_;
  void* device_;
};

// How many of `processes` are neither `self` nor one of its descendants. Unset when `self` is not among them
// although `self_must_be_listed`: then NVML counts in another process namespace, and the numbers mean nothing
// here.
std::optional<int> count_foreign(const std::vector<int>& processes, int self, bool self_must_be_listed);

}  // namespace solmark::gpu
