// The judge's own work on device memory: counting how two tensors differ, asking whether two ranges are
// equal, and displacing the last-level cache. Addresses are device addresses that the caller has checked.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gpu/context.h"
#include "gpu/kernels/memory_args.h"
#include "gpu/module.h"
#include "stats/compare.h"

namespace solmark::gpu {

class JudgeKernels {
 public:
  // `context` must outlive the object and be current to every thread that calls it.
  static Result<JudgeKernels> load(const Context& context);
  JudgeKernels(JudgeKernels&&) = default;
  JudgeKernels& operator=(JudgeKernels&&) = delete;
  JudgeKernels(const JudgeKernels&) = delete;
  JudgeKernels& operator=(const JudgeKernels&) = delete;
  ~JudgeKernels() = default;

  // The counts of stats::compare_on_cpu. Addresses are multiples of the element's size.
  Result<stats::CompareCounts> compare(const stats::CompareSpec& spec, std::uint64_t got,
                                       std::uint64_t expected, std::size_t elements);
  // Which pairs hold the same bytes.
  Result<std::vector<bool>> equal(const std::vector<BytePair>& pairs);
  // Piece p at `to` becomes piece pieces[p] at `from`; a piece is `bytes` long, and all is aligned to 16
  // bytes.
  Status deal(std::uint64_t to, std::uint64_t from, std::size_t bytes,
              const std::vector<std::uint32_t>& pieces);
  // Reads twice the last-level cache of memory that nothing else uses.
  Status flush_caches();

 private:
  // Device memory outside the window: none of it is shared.
  class Buffer {
   public:
    static Result<Buffer> make(const Context& context, std::size_t bytes);
    Buffer() = default;
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();
    CUdeviceptr address = 0;
    std::size_t bytes = 0;

   private:
    const Context* context_ = nullptr;
  };

  JudgeKernels(const Context& context, Module compare, Module memory, Buffer scratch, unsigned blocks)
      : context_(&context),
        compare_(std::move(compare)),
        memory_(std::move(memory)),
        scratch_(std::move(scratch)),
        blocks_(blocks) {}
  Status read_back(void* host, CUdeviceptr from, std::size_t bytes);
  // Makes table_ at least so large and copies `host` to its start.
  Status upload(const void* host, std::size_t bytes, std::size_t needed);

  const Context* context_;
  Module compare_, memory_;
  Buffer scratch_;   // one CompareCounts a block, then the total
  Buffer flush_;     // made at the first flush
  Buffer table_;     // what a kernel is told of many pieces
  unsigned blocks_;  // the most blocks one launch uses
};

}  // namespace solmark::gpu

#endif
