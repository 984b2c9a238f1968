// A worker's own GPU memory: every allocation of the candidate lies in the upper half of the address window,
// in chunks that can be handed to another process. Usable from any thread, and while a stream is being
// captured.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/driver.h"
#include "gpu/vmm.h"
#include "worker/cuda_blocks.h"
#include "worker/session.h"

namespace solmark::worker {

class CudaScratch {
 public:
  CudaScratch(const gpu::Driver& driver, int device);

  // Null when there is no memory left. The first form is for work in any stream, the second for work in
  // `stream`.
  void* allocate(std::size_t bytes);
  void* allocate(std::size_t bytes, void* stream);
  // False when it is not ours. `stream` is the one that used the memory last.
  bool release(void* pointer, void* stream);
  // As cudaFree: waits for the device, if that is allowed now.
  bool release_after_idle(void* pointer);
  // The device is idle.
  void idle();
  // Between begin and end of a capture nothing may wait for the device.
  void set_capturing(bool capturing);

  // Every chunk, for another process.
  Result<std::vector<ScratchRegion>> share() const;

 private:
  std::optional<BlockAllocator::Chunk> grow(std::uint64_t bytes);

  const gpu::Driver& driver_;
  int device_;
  mutable std::mutex mutex_;
  std::vector<gpu::VmmAllocation> chunks_;
  std::uint64_t next_address_;
  std::uint64_t mapped_bytes_ = 0;
  bool capturing_ = false;
  BlockAllocator blocks_;
};

// The scratch of this process's CUDA session; null on the CPU and before a session is open. For
// interpose_*.cpp.
CudaScratch* active_scratch();
void set_active_scratch(CudaScratch* scratch);

}  // namespace solmark::worker

#endif
