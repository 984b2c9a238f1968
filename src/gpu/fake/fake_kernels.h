// The judge's kernels on the CPU, for the fake driver: same parameters, same results.
#pragma once

#include <string>

namespace solmark::gpu {

// `rows`: the grid's second size.
void run_fake_kernel(const std::string& name, unsigned rows, void** parameters);

}  // namespace solmark::gpu
