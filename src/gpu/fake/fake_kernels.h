// The judge's kernels on the CPU, for the fake driver: same parameters, same results.
#pragma once

#include <string>

namespace solmark::gpu {

void run_fake_kernel(const std::string& name, void** parameters);

}  // namespace solmark::gpu
