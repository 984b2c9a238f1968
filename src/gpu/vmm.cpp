#include "gpu/vmm.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "gpu/window.h"

namespace solmark::gpu {
namespace {

CUmemAllocationProp exportable_on(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

}  // namespace

Status reserve_window(const Driver& driver) {
  static std::mutex mutex;
  static const Driver* reserved_by = nullptr;
  const std::lock_guard lock(mutex);
  if (reserved_by == &driver) return success();
  CUdeviceptr got = 0;
  SOLMARK_CHECK_OK(driver.check(driver.cuMemAddressReserve(&got, kWindowBytes, 0, kWindowBase, 0),
                                fmt::format("reserving the address window of {} GiB", kWindowBytes >> 30)));
  if (got != kWindowBase) {
    (void)driver.cuMemAddressFree(got, kWindowBytes);
    return machine_error(
        fmt::format("the driver placed the address window at {:#x} instead of {:#x}", got, kWindowBase),
        "something in this process already uses that range; lower `ulimit -v` settings also cause this");
  }
  reserved_by = &driver;
  return success();
}

Result<std::size_t> allocation_granularity(const Driver& driver, int device) {
  const CUmemAllocationProp properties = exportable_on(device);
  std::size_t bytes = 0;
  SOLMARK_CHECK_OK(driver.check(
      driver.cuMemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      "asking for the allocation granularity"));
  if (bytes == 0) return internal_error("the driver reports an allocation granularity of 0");
  return bytes;
}

Result<VmmAllocation> VmmAllocation::create(const Driver& driver, int device, std::size_t bytes) {
  SOLMARK_TRY(const std::size_t granularity, allocation_granularity(driver, device));
  const CUmemAllocationProp properties = exportable_on(device);
  const std::size_t size = round_up(bytes, granularity);
  CUmemGenericAllocationHandle handle = 0;
  SOLMARK_CHECK_OK(driver.check(driver.cuMemCreate(&handle, size, &properties, 0),
                                fmt::format("allocating {} bytes on cuda:{}", size, device)));
  return VmmAllocation(driver, device, handle, size);
}

Result<VmmAllocation> VmmAllocation::import(const Driver& driver, int device, const Fd& fd,
                                            std::size_t bytes) {
  CUmemGenericAllocationHandle handle = 0;
  // The driver's convention: the descriptor itself, cast to a pointer.
  void* const as_pointer = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get()));
  SOLMARK_CHECK_OK(driver.check(
      driver.cuMemImportFromShareableHandle(&handle, as_pointer, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      fmt::format("importing {} bytes of device memory", bytes)));
  return VmmAllocation(driver, device, handle, bytes);
}

VmmAllocation::VmmAllocation(VmmAllocation&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      device_(other.device_),
      handle_(std::exchange(other.handle_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      address_(std::exchange(other.address_, 0)) {}

VmmAllocation& VmmAllocation::operator=(VmmAllocation&& other) noexcept {
  if (this != &other) {
    release();
    driver_ = std::exchange(other.driver_, nullptr);
    device_ = other.device_;
    handle_ = std::exchange(other.handle_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    address_ = std::exchange(other.address_, 0);
  }
  return *this;
}

VmmAllocation::~VmmAllocation() { release(); }

void VmmAllocation::release() {
  if (driver_ == nullptr) return;
  (void)unmap();
  (void)driver_->cuMemRelease(handle_);
  driver_ = nullptr;
}

Status VmmAllocation::map(std::uint64_t address, MapAccess access) {
  if (driver_ == nullptr) return internal_error("mapping an empty allocation");
  if (address_ != 0) return internal_error(fmt::format("allocation is already mapped at {:#x}", address_));
  SOLMARK_CHECK_OK(driver_->check(driver_->cuMemMap(address, bytes_, 0, handle_, 0),
                                  fmt::format("mapping {} bytes at {:#x}", bytes_, address)));
  CUmemAccessDesc descriptor{};
  descriptor.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  descriptor.location.id = device_;
  descriptor.flags =
      access == MapAccess::kRead ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  Status allowed = driver_->check(driver_->cuMemSetAccess(address, bytes_, &descriptor, 1),
                                  fmt::format("setting access to {} bytes at {:#x}", bytes_, address));
  if (!allowed.ok()) {
    (void)driver_->cuMemUnmap(address, bytes_);
    return allowed;
  }
  address_ = address;
  return success();
}

Status VmmAllocation::unmap() {
  if (driver_ == nullptr || address_ == 0) return success();
  const std::uint64_t address = std::exchange(address_, 0);
  return driver_->check(driver_->cuMemUnmap(address, bytes_),
                        fmt::format("unmapping {} bytes at {:#x}", bytes_, address));
}

Result<Fd> VmmAllocation::export_fd() const {
  if (driver_ == nullptr) return internal_error("exporting an empty allocation");
  int fd = -1;
  SOLMARK_CHECK_OK(driver_->check(
      driver_->cuMemExportToShareableHandle(&fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      fmt::format("exporting {} bytes of device memory", bytes_)));
  return Fd(fd);
}

}  // namespace solmark::gpu

#endif
