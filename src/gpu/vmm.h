// CUDA virtual memory management: the address window, and physical allocations that are mapped into it at
// chosen addresses and handed to other processes as file descriptors. Read-only access is a property of a
// mapping.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "gpu/driver.h"

namespace solmark::gpu {

// Reserves gpu/window.h's range in this process, once; later calls succeed at once. An error when the driver
// places it elsewhere. Needs cuInit, no context. Call it early: whatever lies in the range already makes it
// fail.
Status reserve_window(const Driver& driver);

// What sizes and addresses of allocations on this device are rounded to (2 MiB on today's GPUs).
Result<std::size_t> allocation_granularity(const Driver& driver, int device);

[[nodiscard]] constexpr std::size_t round_up(std::size_t bytes, std::size_t granularity) {
  return (bytes + granularity - 1) / granularity * granularity;
}

enum class MapAccess { kRead, kReadWrite };

// Physical device memory, and at most one mapping of it. Unmaps and releases at its end; the memory itself
// lives as long as any process holds a handle, a mapping or a descriptor of it.
class VmmAllocation {
 public:
  // `bytes` is rounded up to the granularity.
  static Result<VmmAllocation> create(const Driver& driver, int device, std::size_t bytes);
  // From a descriptor that export_fd() made, here or in another process; `bytes` is the size to map, a
  // multiple of the granularity. The descriptor may be closed afterwards.
  static Result<VmmAllocation> import(const Driver& driver, int device, const Fd& fd, std::size_t bytes);

  VmmAllocation() = default;
  VmmAllocation(VmmAllocation&& other) noexcept;
  VmmAllocation& operator=(VmmAllocation&& other) noexcept;
  VmmAllocation(const VmmAllocation&) = delete;
  VmmAllocation& operator=(const VmmAllocation&) = delete;
  ~VmmAllocation();

  // `address` lies in a reserved range and is a multiple of the granularity.
  Status map(std::uint64_t address, MapAccess access);
  Status unmap();
  [[nodiscard]] Result<Fd> export_fd() const;

  [[nodiscard]] std::uint64_t address() const { return address_; }  // 0 when not mapped
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] CUmemGenericAllocationHandle handle() const { return handle_; }

 private:
  VmmAllocation(const Driver& driver, int device, CUmemGenericAllocationHandle handle, std::size_t bytes)
      : driver_(&driver), device_(device), handle_(handle), bytes_(bytes) {}
  void release();

  const Driver* driver_ = nullptr;  // null: empty
  int device_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t address_ = 0;
};

}  // namespace solmark::gpu

#endif
