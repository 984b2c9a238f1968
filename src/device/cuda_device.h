// NVIDIA GPUs as a device. Declared in every build; without the CUDA backend, or without a driver or GPU,
// opening one is a kMachine error that says so.
#pragma once

#include <memory>

#include "device/device.h"

#if SOLMARK_HAVE_CUDA
#include "gpu/driver.h"
#endif

namespace solmark::device {

Result<std::unique_ptr<Device>> open_cuda_device(int index);

#if SOLMARK_HAVE_CUDA
// The same with a given driver table, for tests. NVML is left out.
Result<std::unique_ptr<Device>> open_cuda_device_with(const gpu::Driver& driver, int index);
#endif

}  // namespace solmark::device
