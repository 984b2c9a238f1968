#include "device/cuda_region.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <utility>

#include "device/window.h"

namespace solmark::device {

Result<std::unique_ptr<CudaRegion>> CudaRegion::allocate(std::shared_ptr<CudaMemory> memory,
                                                         const std::string& label, std::size_t bytes) {
  const std::string what = fmt::format("region \"{}\"", label);
  const Result<std::uint64_t> address = memory->judge.take(bytes);
  if (!address.ok()) return address.error().in(what);
  // From here on the region's end gives the address back.
  std::unique_ptr<CudaRegion> out(new CudaRegion(std::move(memory), &CudaMemory::judge, *address, bytes));
  if (const Status backed = out->back(); !backed.ok()) return backed.error().in(what);
  return out;
}

Result<std::unique_ptr<CudaRegion>> CudaRegion::allocate_at(std::shared_ptr<CudaMemory> memory,
                                                            const std::string& label, std::uint64_t address,
                                                            std::size_t bytes) {
  const std::string what = fmt::format("region \"{}\"", label);
  gpu::AddressSpace CudaMemory::* const space =
      address < kScratchBase ? &CudaMemory::judge : &CudaMemory::scratch;
  if (const Status taken = ((*memory).*space).take_at(address, bytes); !taken.ok()) {
    return taken.error().in(what);
  }
  std::unique_ptr<CudaRegion> out(new CudaRegion(std::move(memory), space, address, bytes));
  if (const Status backed = out->back(); !backed.ok()) return backed.error().in(what);
  return out;
}

Status CudaRegion::back() {
  const gpu::Context& context = memory_->context;
  SOLMARK_CHECK_OK(context.make_current());
  owned_ = true;
  SOLMARK_TRY(allocation_, gpu::VmmAllocation::create(context.driver(), context.index(), bytes_));
  return allocation_.map(address_, gpu::MapAccess::kReadWrite);
}

Result<std::unique_ptr<CudaRegion>> CudaRegion::import(std::shared_ptr<CudaMemory> memory, const Fd& fd,
                                                       std::uint64_t address, std::size_t bytes) {
  // Address and size are a worker's claims.
  if (bytes == 0 || bytes % memory->granularity != 0) {
    return internal_error(
        fmt::format("imported memory of {} bytes is not a multiple of {}", bytes, memory->granularity));
  }
  SOLMARK_CHECK_OK(memory->context.make_current());
  if (const Status taken = memory->scratch.take_at(address, bytes); !taken.ok()) {
    return taken.error().in("imported memory");
  }
  std::unique_ptr<CudaRegion> out(new CudaRegion(std::move(memory), &CudaMemory::scratch, address, bytes));
  const gpu::Context& context = out->memory_->context;
  SOLMARK_TRY(out->allocation_, gpu::VmmAllocation::import(context.driver(), context.index(), fd, bytes));
  SOLMARK_CHECK_OK(out->allocation_.map(address, gpu::MapAccess::kReadWrite));
  return out;
}

CudaRegion::~CudaRegion() {
  const gpu::Context& context = memory_->context;
  (void)context.make_current();
  if (owned_ && allocation_.address() != 0) {
    // Expected outputs must not be found again in memory that a candidate allocates later.
    (void)context.driver().cuMemsetD8Async(address_, 0, allocation_.bytes(), context.stream());
  }
  (void)context.synchronize();
  allocation_ = gpu::VmmAllocation();
  ((*memory_).*space_).give_back(address_, bytes_);
}

Result<Fd> CudaRegion::share(Access) const {
  SOLMARK_CHECK_OK(memory_->context.make_current());
  return allocation_.export_fd();
}

}  // namespace solmark::device

#endif
