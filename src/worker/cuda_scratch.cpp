#include "worker/cuda_scratch.h"

#if SOLMARK_HAVE_CUDA

#include <algorithm>
#include <atomic>

#include "gpu/window.h"

namespace solmark::worker {
namespace {

constexpr std::uint64_t kSmallestChunk = std::uint64_t{64} << 20;
constexpr std::uint64_t kLargestChunk = std::uint64_t{4} << 30;

std::atomic<CudaScratch*> active{nullptr};

BlockAllocator::Stream stream_number(void* stream) {
  return reinterpret_cast<BlockAllocator::Stream>(stream);
}
std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// While a thread captures a stream, the driver refuses calls that it deems unsafe; mapping memory is none.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const gpu::Driver& driver) : driver_(driver) {
    (void)driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { (void)driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const gpu::Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace

CudaScratch* active_scratch() { return active.load(std::memory_order_acquire); }
void set_active_scratch(CudaScratch* scratch) { active.store(scratch, std::memory_order_release); }

CudaScratch::CudaScratch(const gpu::Driver& driver, int device)
    : driver_(driver),
      device_(device),
      next_address_(gpu::kScratchBase),
      blocks_([this](std::uint64_t bytes) { return grow(bytes); }) {}

std::optional<BlockAllocator::Chunk> CudaScratch::grow(std::uint64_t bytes) {
  const RelaxedCapture relaxed(driver_);
  const auto granularity = gpu::allocation_granularity(driver_, device_);
  if (!granularity.ok()) return std::nullopt;
  // Half as much again as there is: few chunks, so that few descriptors are passed, and little waste. When
  // the device has no room for that, just what is needed.
  const std::uint64_t wish = std::max(bytes, std::clamp(mapped_bytes_ / 2, kSmallestChunk, kLargestChunk));
  for (const std::uint64_t want : {wish, bytes}) {
    const std::uint64_t size = gpu::round_up(want, *granularity);
    if (size < want || size > gpu::kScratchBase + gpu::kScratchBytes - next_address_) continue;
    auto memory = gpu::VmmAllocation::create(driver_, device_, size);
    if (!memory.ok() || !memory->map(next_address_, gpu::MapAccess::kReadWrite).ok()) continue;
    const BlockAllocator::Chunk chunk{next_address_, size};
    next_address_ += size;
    mapped_bytes_ += size;
    chunks_.push_back(std::move(*memory));
    return chunk;
  }
  return std::nullopt;
}

void* CudaScratch::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return reinterpret_cast<void*>(blocks_.allocate(bytes, std::nullopt));
}

void* CudaScratch::allocate(std::size_t bytes, void* stream) {
  const std::lock_guard lock(mutex_);
  return reinterpret_cast<void*>(blocks_.allocate(bytes, stream_number(stream)));
}

bool CudaScratch::release(void* pointer, void* stream) {
  const std::lock_guard lock(mutex_);
  return blocks_.release(address_of(pointer), stream_number(stream));
}

bool CudaScratch::release_after_idle(void* pointer) {
  const std::lock_guard lock(mutex_);
  if (!blocks_.release_unordered(address_of(pointer))) return false;
  if (!capturing_ && driver_.cuCtxSynchronize() == CUDA_SUCCESS) blocks_.idle();
  return true;
}

void CudaScratch::idle() {
  const std::lock_guard lock(mutex_);
  blocks_.idle();
}

void CudaScratch::set_capturing(bool capturing) {
  const std::lock_guard lock(mutex_);
  capturing_ = capturing;
}

Result<std::vector<ScratchRegion>> CudaScratch::share() const {
  const std::lock_guard lock(mutex_);
  std::vector<ScratchRegion> shared;
  for (const gpu::VmmAllocation& chunk : chunks_) {
    SOLMARK_TRY(Fd fd, chunk.export_fd());
    shared.push_back({std::move(fd), chunk.address(), chunk.bytes()});
  }
  return shared;
}

}  // namespace solmark::worker

#endif
