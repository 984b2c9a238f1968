// The GPU's Session: judge regions mapped at their own addresses in the window, the candidate's allocations
// beside them, calls on one stream, and sealing by capture.
#pragma once

#include <memory>

#include "base/result.h"
#include "worker/session.h"

namespace solmark::worker {

// Reserves the window and makes the device's context; an error in a build without the CUDA backend.
// `candidate` must outlive the session.
Result<std::unique_ptr<Session>> open_cuda_session(const OpenRequest& request, Candidate& candidate);

}  // namespace solmark::worker
