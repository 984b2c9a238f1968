// Describes an NVIDIA GPU as an Arch: what its driver and NVML tell, the per-clock figures of the known part
// of the same compute capability, and measured bandwidths beside the pins' own, which are the ceiling.
#pragma once

#include "arch/arch.h"
#include "base/result.h"
#include "device/device.h"

#if SOLMARK_HAVE_CUDA
#include "gpu/driver.h"
#endif

namespace solmark::device {

Result<arch::Arch> probe_cuda(int index);

#if SOLMARK_HAVE_CUDA
// With another driver, for tests.
Result<arch::Arch> probe_cuda_with(const gpu::Driver& driver, int index);
#endif

}  // namespace solmark::device
