// Plain stream capture of what a function puts into a stream.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <functional>
#include <utility>

#include "base/result.h"
#include "gpu/driver.h"

namespace solmark::worker {

class CapturedGraph {
 public:
  CapturedGraph(const gpu::Driver& driver, CUgraph graph) : driver_(&driver), graph_(graph) {}
  CapturedGraph(CapturedGraph&& other) noexcept
      : driver_(other.driver_), graph_(std::exchange(other.graph_, nullptr)) {}
  CapturedGraph& operator=(CapturedGraph&&) = delete;
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() {
    if (graph_ != nullptr) (void)driver_->cuGraphDestroy(graph_);
  }
  [[nodiscard]] CUgraph get() const { return graph_; }

 private:
  const gpu::Driver* driver_;
  CUgraph graph_;
};

// Errors say what usually makes a capture fail. The stream is out of capture afterwards in any case.
Result<CapturedGraph> capture(const gpu::Driver& driver, CUstream stream, const std::function<void()>& work);

}  // namespace solmark::worker

#endif
