// Judge-owned device memory: one exportable VMM allocation, mapped in the address window.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <memory>
#include <string>

#include "device/device.h"
#include "gpu/address_space.h"
#include "gpu/context.h"
#include "gpu/vmm.h"

namespace solmark::device {

// What regions need of their device; they keep it alive.
struct CudaMemory {
  gpu::Context context;
  std::size_t granularity;
  gpu::AddressSpace judge;    // the window's lower half
  gpu::AddressSpace scratch;  // the upper half: what workers hand over
};

class CudaRegion : public Region {
 public:
  static Result<std::unique_ptr<CudaRegion>> allocate(std::shared_ptr<CudaMemory> memory,
                                                      const std::string& label, std::size_t bytes);
  // At a free address of either half: where a saved Seal's memory must lie again.
  static Result<std::unique_ptr<CudaRegion>> allocate_at(std::shared_ptr<CudaMemory> memory,
                                                         const std::string& label, std::uint64_t address,
                                                         std::size_t bytes);
  static Result<std::unique_ptr<CudaRegion>> import(std::shared_ptr<CudaMemory> memory, const Fd& fd,
                                                    std::uint64_t address, std::size_t bytes);
  ~CudaRegion() override;
  CudaRegion(const CudaRegion&) = delete;
  CudaRegion& operator=(const CudaRegion&) = delete;

  [[nodiscard]] std::uint64_t address() const override { return address_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  // The same descriptor for both kinds of access: CUDA gives access by mapping, and the child's side maps
  // inputs read-only (gpu::MapAccess::kRead).
  Result<Fd> share(Access access) const override;

 private:
  CudaRegion(std::shared_ptr<CudaMemory> memory, gpu::AddressSpace CudaMemory::* space, std::uint64_t address,
             std::size_t bytes)
      : memory_(std::move(memory)), space_(space), address_(address), bytes_(bytes) {}

  // Makes the memory and maps it at address_.
  Status back();

  std::shared_ptr<CudaMemory> memory_;
  gpu::AddressSpace CudaMemory::* space_;
  std::uint64_t address_;
  std::size_t bytes_;
  bool owned_ = false;  // made here, not imported
  gpu::VmmAllocation allocation_;
};

}  // namespace solmark::device

#endif
