// What a Replay owns; private to replay*.cpp.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <vector>

#include "gpu/driver.h"
#include "gpu/vmm.h"
#include "seal/replay.h"

namespace solmark::seal {

struct Replay::State {
  explicit State(const gpu::Driver& table) : driver(table) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Status load_images(const Seal& seal);
  Status prepare_functions(const Seal& seal);
  Status make_scratch(const Seal& seal, int device, const std::vector<MappedRange>& mapped);
  Status write_state(const Seal& seal);
  Status build_graph(const Seal& seal);
  Status build_empty_graph();

  Result<CUdeviceptr> variable(const Seal& seal, std::uint32_t image, const std::string& symbol,
                               std::uint64_t offset, std::uint64_t bytes) const;
  Result<CUgraphNode> add_node(const Seal& seal, const Node& node);
  Result<CUgraphNode> add_kernel(const Seal& seal, const KernelNode& kernel);
  Status set_launch_attributes(CUgraphNode node, const KernelNode& kernel, const std::string& name);

  const gpu::Driver& driver;
  CUcontext context = nullptr;
  std::vector<CUmodule> modules;      // one an image
  std::vector<CUfunction> functions;  // one a Seal's function
  // Where each parameter of a function lies: offset, bytes.
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> layouts;
  std::vector<gpu::VmmAllocation> scratch;
  CUmodule empty_module = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUgraph empty_graph = nullptr;
  CUgraphExec empty_executable = nullptr;
  bool uses_priorities = false;
};

}  // namespace solmark::seal

#endif
