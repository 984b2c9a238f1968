// A device's primary context (the one that every library in a process shares) and one non-blocking stream in
// it.
#pragma once

#if SOLMARK_HAVE_CUDA

#include "base/result.h"
#include "gpu/driver.h"

namespace solmark::gpu {

class Context {
 public:
  // Retains the primary context of device `index`, makes it current to this thread and creates the stream.
  static Result<Context> open(const Driver& driver, int index);

  Context(Context&& other) noexcept;
  Context& operator=(Context&&) = delete;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  // Destroys the stream and gives the primary context back.
  ~Context();

  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] CUdevice device() const { return device_; }
  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] CUcontext handle() const { return context_; }
  [[nodiscard]] CUstream stream() const { return stream_; }
  // CUDA's current context is per thread: call before other driver calls on a thread that may be new.
  Status make_current() const;
  // Waits for the stream.
  Status synchronize() const;
  [[nodiscard]] Result<int> attribute(CUdevice_attribute attribute) const;

 private:
  Context(const Driver& driver, int index) : driver_(&driver), index_(index) {}

  const Driver* driver_;  // null: moved from
  int index_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace solmark::gpu

#endif
