// Runs a Seal in a process that holds no candidate code: loads the images, writes the module state, builds
// one graph that chains the calls by full dependencies, and launches it. All memory that the Seal names must
// be mapped at its addresses before, but for scratch with contents, which is made here.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gpu/driver.h"
#include "seal/seal.h"

namespace solmark::seal {

struct MappedRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

class Replay {
 public:
  // The device's context must be current and the window reserved. The first replay is not run.
  static Result<Replay> build(const gpu::Driver& driver, int device, const Seal& seal,
                              const std::vector<MappedRange>& mapped);
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;
  ~Replay();

  // Every call once, in order. Returns without waiting.
  Status launch(CUstream stream) const;
  // The slot whose node failed cannot be known from outside: an error of launch or of waiting is of the whole
  // batch. A graph of one empty kernel, for what launching and waiting cost by themselves.
  Status launch_empty(CUstream stream) const;

 private:
  struct State;
  explicit Replay(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace solmark::seal

#endif
