// A driver table for tests without a GPU. Its device memory is host memory that really lies at the addresses
// it is mapped at (memfds in the window's range), so access rights, sharing by descriptor and data can be
// tested; the judge's kernels are run by the CPU's code. One fake GPU a process.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/driver.h"

namespace solmark::gpu {

// TSan keeps its own data where the address window lies.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kFakeGpuWorks = false;
#else
inline constexpr bool kFakeGpuWorks = true;
#endif

struct FakeGpu {
  // What the fake shall do.
  int devices = 1;
  std::size_t memory_bytes = std::size_t{64} << 20;  // cuMemCreate fails beyond this
  bool moves_window = false;                         // cuMemAddressReserve gives another address
  bool has_vmm = true;
  bool refuses_access = false;       // cuMemSetAccess fails
  int bus_bits = 0, memory_khz = 0;  // of the memory; 0: not told

  // What was done.
  std::size_t used_bytes = 0;  // of live handles
  int live_handles = 0, live_mappings = 0, live_buffers = 0, live_contexts = 0, live_streams = 0,
      live_modules = 0;
  std::vector<std::string> launches;

  static constexpr std::size_t kGranularity = std::size_t{2} << 20;
};

// Forgets what was done and restores what it shall do. Nothing made by an earlier table may be alive.
FakeGpu& reset_fake_gpu();
FakeGpu& fake_gpu();
Driver fake_driver();

}  // namespace solmark::gpu

#endif
