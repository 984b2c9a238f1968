#include "worker/cuda_capture.h"

#if SOLMARK_HAVE_CUDA

namespace solmark::worker {
namespace {

const char* likely_cause(CUresult result) {
  switch (result) {
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return "the call waits for the GPU, or does something else that cannot be put into a graph";
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
      return "the call uses the default stream instead of the one it is given";
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
      return "the call leaves work in a stream of its own without joining it";
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
      return "the call captures graphs itself";
    default:
      return "";
  }
}

}  // namespace

Result<CapturedGraph> capture(const gpu::Driver& driver, CUstream stream, const std::function<void()>& work) {
  // Relaxed: allocations during the capture, ours and a library's, are legal.
  SOLMARK_CHECK_OK(driver.check(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                                "beginning a capture"));
  work();
  CUgraph graph = nullptr;
  const CUresult result = driver.cuStreamEndCapture(stream, &graph);
  if (result != CUDA_SUCCESS || graph == nullptr) {
    Error error = driver
                      .check(result == CUDA_SUCCESS ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : result,
                             "the call cannot be captured")
                      .error();
    if (const char* cause = likely_cause(result); *cause != '\0') error.message += std::string(": ") + cause;
    return error;
  }
  return CapturedGraph(driver, graph);
}

}  // namespace solmark::worker

#endif
