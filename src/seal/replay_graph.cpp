// The graph of a replay: nodes first, then all edges at once.
#include "seal/replay.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <cstring>

#include "gpu/module.h"
#include "seal/order.h"
#include "seal/replay_state.h"

namespace solmark::seal {
Status Replay::State::set_launch_attributes(CUgraphNode node, const KernelNode& kernel,
                                            const std::string& name) {
  for (const LaunchAttribute& attribute : kernel.attributes) {
    const auto id = static_cast<CUlaunchAttributeID>(attribute.id);
    CUlaunchAttributeValue wanted{};
    std::memcpy(&wanted, attribute.value.data(), sizeof wanted);
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY && wanted.priority != 0) uses_priorities = true;
    CUlaunchAttributeValue now{};
    // Setting what is already so is needless and, for some attributes of some kernels, refused. All bytes of
    // the union are compared: a difference in unused ones only costs a call.
    if (driver.cuGraphKernelNodeGetAttribute(node, id, &now) == CUDA_SUCCESS &&
        std::memcmp(&now, &wanted, sizeof now) == 0)  // NOLINT(bugprone-suspicious-memory-comparison)
      continue;
    SOLMARK_CHECK_OK(
        driver.check(driver.cuGraphKernelNodeSetAttribute(node, id, &wanted),
                     fmt::format("setting launch attribute {} of kernel {}", attribute.id, name)));
  }
  return success();
}

Result<CUgraphNode> Replay::State::add_kernel(const Seal& seal, const KernelNode& kernel) {
  const Function& function = seal.functions[kernel.function];
  std::string parameters = kernel.parameters;
  for (const Relocation& relocation : kernel.relocations) {
    SOLMARK_TRY(const CUdeviceptr address,
                variable(seal, relocation.image, relocation.symbol, relocation.addend, 0));
    std::memcpy(parameters.data() + relocation.offset, &address, sizeof address);
  }
  std::vector<void*> pointers;
  std::size_t needed = 0;
  for (const auto& [offset, bytes] : layouts[kernel.function]) {
    pointers.push_back(parameters.data() + offset);
    needed = std::max(needed, offset + bytes);
  }
  if (needed > parameters.size())
    return input_error(fmt::format("kernel {} takes {} bytes of parameters, the seal has {}", function.name,
                                   needed, parameters.size()),
                       "calls");
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = functions[kernel.function];
  params.gridDimX = kernel.grid[0];
  params.gridDimY = kernel.grid[1];
  params.gridDimZ = kernel.grid[2];
  params.blockDimX = kernel.block[0];
  params.blockDimY = kernel.block[1];
  params.blockDimZ = kernel.block[2];
  params.sharedMemBytes = kernel.dynamic_shared_bytes;
  params.kernelParams = pointers.data();
  CUgraphNode node = nullptr;
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphAddKernelNode(&node, graph, nullptr, 0, &params),
                                "adding kernel " + function.name));
  SOLMARK_CHECK_OK(set_launch_attributes(node, kernel, function.name));
  return node;
}

Result<CUgraphNode> Replay::State::add_node(const Seal& seal, const Node& node) {
  if (const auto* kernel = std::get_if<KernelNode>(&node)) return add_kernel(seal, *kernel);
  CUgraphNode made = nullptr;
  if (const auto* fill = std::get_if<MemsetNode>(&node)) {
    CUDA_MEMSET_NODE_PARAMS params{};
    params.dst = fill->address;
    params.pitch = fill->pitch;
    params.value = fill->value;
    params.elementSize = fill->element_bytes;
    params.width = fill->width;
    params.height = fill->height;
    SOLMARK_CHECK_OK(driver.check(driver.cuGraphAddMemsetNode(&made, graph, nullptr, 0, &params, context),
                                  "adding a fill"));
  } else if (const auto* copy = std::get_if<MemcpyNode>(&node)) {
    CUDA_MEMCPY3D params{};
    params.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = copy->from.address;
    params.srcPitch = copy->from.pitch;
    params.srcHeight = copy->from.height;
    params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.dstDevice = copy->to.address;
    params.dstPitch = copy->to.pitch;
    params.dstHeight = copy->to.height;
    params.WidthInBytes = copy->width_bytes;
    params.Height = copy->height;
    params.Depth = copy->depth;
    SOLMARK_CHECK_OK(driver.check(driver.cuGraphAddMemcpyNode(&made, graph, nullptr, 0, &params, context),
                                  "adding a copy"));
  } else {
    SOLMARK_CHECK_OK(
        driver.check(driver.cuGraphAddEmptyNode(&made, graph, nullptr, 0), "adding an empty node"));
  }
  return made;
}

Status Replay::State::build_graph(const Seal& seal) {
  SOLMARK_NEEDS(driver, cuGraphAddDependencies);
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphCreate(&graph, 0), "creating a graph"));
  const ReplayPlan plan = plan_replay(seal.calls);
  std::vector<CUgraphNode> nodes;
  nodes.reserve(plan.nodes + plan.joins);
  for (std::size_t slot = 0; slot < seal.calls.size(); ++slot) {
    for (const Node& node : seal.calls[slot].nodes) {
      auto added = add_node(seal, node);
      if (!added.ok()) return added.error().in(fmt::format("slot {}", slot));
      nodes.push_back(*added);
    }
  }
  for (std::size_t i = 0; i < plan.joins; ++i) {
    SOLMARK_TRY(const CUgraphNode join, add_node(seal, EmptyNode{}));
    nodes.push_back(join);
  }
  std::vector<CUgraphNode> from;
  std::vector<CUgraphNode> to;
  std::vector<CUgraphEdgeData> data;
  for (const Edge& edge : plan.edges) {
    from.push_back(nodes[edge.from]);
    to.push_back(nodes[edge.to]);
    CUgraphEdgeData& kind = data.emplace_back();
    kind.from_port = edge.from_port;
    kind.to_port = edge.to_port;
    kind.type = edge.type;
  }
  if (!from.empty())
    SOLMARK_CHECK_OK(
        driver.check(driver.cuGraphAddDependencies(graph, from.data(), to.data(), data.data(), from.size()),
                     "ordering the graph"));
  const unsigned long long flags = uses_priorities ? CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0;
  SOLMARK_CHECK_OK(
      driver.check(driver.cuGraphInstantiate(&executable, graph, flags), "instantiating the graph"));
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphUpload(executable, nullptr), "uploading the graph"));
  return driver.check(driver.cuCtxSynchronize(), "uploading the graph");
}

Status Replay::State::build_empty_graph() {
  SOLMARK_CHECK_OK(driver.check(driver.cuModuleLoadData(&empty_module, gpu::floor_image().data()),
                                "loading the empty kernel"));
  CUDA_KERNEL_NODE_PARAMS params{};
  SOLMARK_CHECK_OK(driver.check(driver.cuModuleGetFunction(&params.func, empty_module, "solmark_empty"),
                                "finding the empty kernel"));
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = 32;
  params.blockDimY = params.blockDimZ = 1;
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphCreate(&empty_graph, 0), "creating a graph"));
  CUgraphNode node = nullptr;
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphAddKernelNode(&node, empty_graph, nullptr, 0, &params),
                                "adding the empty kernel"));
  SOLMARK_CHECK_OK(driver.check(driver.cuGraphInstantiate(&empty_executable, empty_graph, 0),
                                "instantiating the empty graph"));
  SOLMARK_CHECK_OK(
      driver.check(driver.cuGraphUpload(empty_executable, nullptr), "uploading the empty graph"));
  return driver.check(driver.cuCtxSynchronize(), "uploading the empty graph");
}

}  // namespace solmark::seal

#endif
