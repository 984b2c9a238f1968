// Turns captured graphs into a Seal, one call a graph, or says why that cannot be done. An Error of record()
// is about the candidate's work ("unsealable"), never about the user's files.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gpu/driver.h"
#include "seal/images.h"
#include "seal/seal.h"

namespace solmark::seal {

struct RecordRequest {
  std::vector<CUgraph> graphs;                      // one a slot
  std::vector<std::vector<std::uint64_t>> outputs;  // one list a slot
  std::vector<Buffer> buffers;
  std::vector<Scratch> scratch;
  std::vector<CollectedImage> images;
  std::int32_t compute_capability = 0;
};

// The context must be current and idle: variables of the modules are read.
Result<Seal> record(const gpu::Driver& driver, const RecordRequest& request);

}  // namespace solmark::seal

#endif
