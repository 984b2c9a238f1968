// The worker's own graph of a batch: captured calls one after the other, launched as a whole. Sealed calls
// must take as long as this does.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <utility>
#include <vector>

#include "base/result.h"
#include "gpu/driver.h"
#include "worker/cuda_capture.h"

namespace solmark::worker {

class LiveGraph {
 public:
  // The device's context must be current. `calls` may be destroyed afterwards.
  static Result<LiveGraph> make(const gpu::Driver& driver, const std::vector<CapturedGraph>& calls);
  LiveGraph(LiveGraph&& other) noexcept
      : driver_(other.driver_), executable_(std::exchange(other.executable_, nullptr)) {}
  LiveGraph& operator=(LiveGraph&&) = delete;
  LiveGraph(const LiveGraph&) = delete;
  LiveGraph& operator=(const LiveGraph&) = delete;
  ~LiveGraph();

  [[nodiscard]] CUresult launch(CUstream stream) const { return driver_->cuGraphLaunch(executable_, stream); }

 private:
  LiveGraph(const gpu::Driver& driver, CUgraphExec executable) : driver_(&driver), executable_(executable) {}
  const gpu::Driver* driver_;
  CUgraphExec executable_;
};

}  // namespace solmark::worker

#endif
