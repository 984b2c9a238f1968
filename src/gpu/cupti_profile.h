// What the GPU did while a function ran: each kernel, copy and fill with its own start and end, by CUPTI's
// activity records, the nodes of graph launches included. One profile at a time in a process.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::gpu {

struct Activity {
  enum class Kind { kKernel, kMemcpy, kMemset, kGraph };
  Kind kind = Kind::kKernel;
  std::string name;                             // the kernel's mangled name, or "memcpy", "memset", "graph"
  std::uint64_t start_ns = 0, end_ns = 0;       // CUPTI's clock: differences only
  std::uint64_t bytes = 0;                      // copies and fills
  std::array<std::int32_t, 3> grid{}, block{};  // kernels
  std::uint64_t shared_bytes = 0;               // kernels: static and dynamic
  std::uint32_t registers = 0;                  // kernels: a thread's
};

// Runs `work` and records what the GPU did. `work`
// must wait for its own GPU work. Activities are ordered by their start. `directories`: where else to look
// for CUPTI.
// `warm_up` runs first, unrecorded: CUPTI's own start falls into it. Give it other work than `work` where the
// caches must be as they were found; without it `work` runs twice.
Result<std::vector<Activity>> profile(const std::function<Status()>& work,
                                      const std::function<Status()>& warm_up = {},
                                      const std::vector<std::string>& directories = {});
// One activity for each graph launch as a whole: recording nodes slows them, by 0.1 to 0.3 us each on an
// H200. Only for graphs that were instantiated after start_graph_trace(), in a process that never recorded
// nodes: CUPTI ends a process (SIGSEGV) that asks for whole graphs later.
Status start_graph_trace(const std::vector<std::string>& directories = {});
Result<std::vector<Activity>> profile_graphs(const std::function<Status()>& work,
                                             const std::function<Status()>& warm_up = {},
                                             const std::vector<std::string>& directories = {});

}  // namespace solmark::gpu

#endif
