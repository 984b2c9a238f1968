#include "gpu/context.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <utility>

namespace solmark::gpu {

Result<Context> Context::open(const Driver& driver, int index) {
  int count = 0;
  SOLMARK_CHECK_OK(driver.check(driver.cuDeviceGetCount(&count), "counting the GPUs"));
  if (index < 0 || index >= count) {
    return machine_error(fmt::format("there is no cuda:{}: this machine shows {} GPU(s)", index, count),
                         "choose a lower index, or set CUDA_VISIBLE_DEVICES");
  }
  Context out(driver, index);
  SOLMARK_CHECK_OK(
      driver.check(driver.cuDeviceGet(&out.device_, index), fmt::format("opening cuda:{}", index)));
  SOLMARK_CHECK_OK(driver.check(driver.cuDevicePrimaryCtxRetain(&out.context_, out.device_),
                                fmt::format("making a context on cuda:{}", index)));
  SOLMARK_CHECK_OK(out.make_current());
  SOLMARK_CHECK_OK(
      driver.check(driver.cuStreamCreate(&out.stream_, CU_STREAM_NON_BLOCKING), "creating a stream"));
  return out;
}

Context::Context(Context&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      index_(other.index_),
      device_(other.device_),
      context_(std::exchange(other.context_, nullptr)),
      stream_(std::exchange(other.stream_, nullptr)) {}

Context::~Context() {
  if (driver_ == nullptr) return;
  if (stream_ != nullptr) (void)driver_->cuStreamDestroy(stream_);
  if (context_ != nullptr) (void)driver_->cuDevicePrimaryCtxRelease(device_);
}

Status Context::make_current() const {
  return driver_->check(driver_->cuCtxSetCurrent(context_), "making the context current");
}

Status Context::synchronize() const {
  return driver_->check(driver_->cuStreamSynchronize(stream_), "waiting for the GPU");
}

Result<int> Context::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  SOLMARK_CHECK_OK(
      driver_->check(driver_->cuDeviceGetAttribute(&value, attribute, device_),
                     fmt::format("asking cuda:{} for attribute {}", index_, static_cast<int>(attribute))));
  return value;
}

}  // namespace solmark::gpu

#endif
