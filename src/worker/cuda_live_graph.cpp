#include "worker/cuda_live_graph.h"

#if SOLMARK_HAVE_CUDA

namespace solmark::worker {

Result<LiveGraph> LiveGraph::make(const gpu::Driver& driver, const std::vector<CapturedGraph>& calls) {
  CUgraph whole = nullptr;
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphCreate(&whole, 0), "making a graph"));
  const CapturedGraph owner(driver, whole);
  CUgraphNode previous = nullptr;
  for (const CapturedGraph& call : calls) {
    CUgraphNode node = nullptr;
    SOLMARK_CHECK_OK(
        driver.check(driver.cuGraphAddChildGraphNode(&node, whole, previous == nullptr ? nullptr : &previous,
                                                     previous == nullptr ? 0 : 1, call.get()),
                     "adding a call to a graph"));
    previous = node;
  }
  CUgraphExec executable = nullptr;
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphInstantiate(&executable, whole, 0), "instantiating a graph"));
  LiveGraph out(driver, executable);
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphUpload(executable, nullptr), "uploading a graph"));
  return out;
}

LiveGraph::~LiveGraph() {
  if (executable_ != nullptr) (void)driver_->cuGraphExecDestroy(executable_);
}

}  // namespace solmark::worker

#endif
