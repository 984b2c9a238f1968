// The checks of solmark-gpu-check: what cannot be tested without a GPU. Each says what it saw, or what was
// wrong.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "gpu/context.h"

namespace solmark::gpu::check {

// The same GPU twice: as the judge sees it, and bare.
struct Gpu {
  device::Device& device;
  const Context& context;
};

using Outcome = Result<std::string>;  // a detail to print

Outcome sharing(const Gpu& gpu);
// The other process of sharing(): `fd` is a region of `bytes` at the window's `address`.
Status sharing_child(int fd, std::uint64_t address, std::size_t bytes);
Outcome regions(const Gpu& gpu);
Outcome foreign_memory(const Gpu& gpu);
Outcome fill(const Gpu& gpu);
Outcome compare(const Gpu& gpu);
Outcome compare_speed(const Gpu& gpu);
Outcome equal(const Gpu& gpu);
Outcome flush(const Gpu& gpu);
Outcome machine_state(const Gpu& gpu);
Outcome graph_profile(const Gpu& gpu);

}  // namespace solmark::gpu::check
