// The functions of test_driver.h's table.
#include "seal/test_driver.h"

#if SOLMARK_HAVE_CUDA

#include <algorithm>

namespace solmark::seal {
namespace {

std::unique_ptr<TestGpu> current;

TestGraph& graph_of(CUgraph graph) { return *reinterpret_cast<TestGraph*>(graph); }
TestNode& node_of(CUgraphNode node) { return *reinterpret_cast<TestNode*>(node); }
TestFunction& function_of(CUfunction function) { return *reinterpret_cast<TestFunction*>(function); }
TestModule& module_of(CUmodule module) { return *reinterpret_cast<TestModule*>(module); }

CUresult add(CUgraphNode* out, CUgraph graph, TestNode node) {
  TestNode& kept = test_gpu().nodes.emplace_back(std::move(node));
  graph_of(graph).nodes.push_back(&kept);
  *out = handle<CUgraphNode>(kept);
  return CUDA_SUCCESS;
}

CUresult get_nodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  auto& all = graph_of(graph).nodes;
  for (std::size_t i = 0; nodes != nullptr && i < all.size(); ++i) nodes[i] = handle<CUgraphNode>(*all[i]);
  *count = all.size();
  return CUDA_SUCCESS;
}

CUresult get_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                   std::size_t* count) {
  auto& all = graph_of(graph).edges;
  const auto has_data = [](const TestGraph::Edge& edge) {
    return edge.data.type != 0 || edge.data.from_port != 0;
  };
  if (data == nullptr && std::any_of(all.begin(), all.end(), has_data)) return CUDA_ERROR_LOSSY_QUERY;
  const std::size_t room = *count;
  for (std::size_t i = 0; i < std::min(room, all.size()); ++i) {
    from[i] = handle<CUgraphNode>(*all[i].from);
    to[i] = handle<CUgraphNode>(*all[i].to);
    data[i] = all[i].data;
  }
  *count = std::min(room, all.size());
  return CUDA_SUCCESS;
}

// The memory that holds an address, and where in it.
std::pair<std::string*, std::size_t> find_memory(std::uint64_t address, std::size_t bytes) {
  auto after = test_gpu().memory.upper_bound(address);
  if (after == test_gpu().memory.begin()) return {nullptr, 0};
  --after;
  const std::size_t offset = address - after->first;
  if (offset > after->second.size() || bytes > after->second.size() - offset) return {nullptr, 0};
  return {&after->second, offset};
}

CUresult get_global(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
  const auto found = module_of(module).globals.find(name);
  if (found == module_of(module).globals.end()) return CUDA_ERROR_NOT_FOUND;
  *address = found->second.first;
  *bytes = found->second.second;
  return CUDA_SUCCESS;
}

CUresult add_kernel_node(CUgraphNode* out, CUgraph graph, const CUgraphNode*, std::size_t,
                         const CUDA_KERNEL_NODE_PARAMS* params) {
  TestNode node;
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  node.kernel = *params;
  const auto& layout = function_of(params->func).layout;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    node.parameters.resize(std::max(node.parameters.size(), layout[i].first + layout[i].second));
    std::memcpy(node.parameters.data() + layout[i].first, params->kernelParams[i], layout[i].second);
  }
  return add(out, graph, std::move(node));
}

CUresult get_kernel_attribute(CUgraphNode node, CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
  const auto found = node_of(node).attributes.find(static_cast<int>(id));
  if (found != node_of(node).attributes.end()) {
    *value = found->second;
  } else {
    std::memset(value, 0, sizeof *value);
  }
  return CUDA_SUCCESS;
}

CUresult load_image(CUmodule* module, const void* image) {
  // The images of these tests are cubins: their length is found by looking for one that starts like this.
  for (auto& [bytes, known] : test_gpu().loads) {
    if (std::memcmp(image, bytes.data(), bytes.size()) != 0) continue;
    if (test_gpu().unloadable.contains(bytes)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    *module = handle<CUmodule>(*known);
    ++test_gpu().live_modules;
    return CUDA_SUCCESS;
  }
  // Anything else is the empty kernel's image.
  static TestModule empty;
  *module = handle<CUmodule>(empty);
  ++test_gpu().live_modules;
  return CUDA_SUCCESS;
}

CUresult get_function(CUfunction* function, CUmodule module, const char* name) {
  for (TestFunction& known : test_gpu().functions)
    if (known.module == &module_of(module) && known.name == name) {
      *function = handle<CUfunction>(known);
      return CUDA_SUCCESS;
    }
  static TestFunction empty;
  *function = handle<CUfunction>(empty);
  return std::string(name) == "solmark_empty" ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

TestGpu& test_gpu() { return *current; }
TestGpu& reset_test_gpu() {
  current = std::make_unique<TestGpu>();
  return *current;
}

gpu::Driver test_driver() {
  gpu::Driver d;
  d.version = 13000;
  d.cuGraphGetNodes = get_nodes;
  d.cuGraphGetEdges = get_edges;
  d.cuGraphNodeGetType = [](CUgraphNode node, CUgraphNodeType* type) {
    *type = node_of(node).type;
    return CUDA_SUCCESS;
  };
  d.cuGraphChildGraphNodeGetGraph = [](CUgraphNode node, CUgraph* graph) {
    *graph = reinterpret_cast<CUgraph>(node_of(node).child);
    return CUDA_SUCCESS;
  };
  d.cuGraphKernelNodeGetParams = [](CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
    *params = node_of(node).kernel;
    return CUDA_SUCCESS;
  };
  d.cuGraphMemsetNodeGetParams = [](CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
    *params = node_of(node).fill;
    return CUDA_SUCCESS;
  };
  d.cuGraphMemcpyNodeGetParams = [](CUgraphNode node, CUDA_MEMCPY3D* params) {
    *params = node_of(node).copy;
    return CUDA_SUCCESS;
  };
  d.cuGraphKernelNodeGetAttribute = get_kernel_attribute;
  d.cuGraphKernelNodeSetAttribute = [](CUgraphNode node, CUlaunchAttributeID id,
                                       const CUlaunchAttributeValue* value) {
    node_of(node).attributes[static_cast<int>(id)] = *value;
    return CUDA_SUCCESS;
  };
  d.cuFuncGetName = [](const char** name, CUfunction function) {
    *name = function_of(function).name.c_str();
    return CUDA_SUCCESS;
  };
  d.cuFuncGetModule = [](CUmodule* module, CUfunction function) {
    *module = reinterpret_cast<CUmodule>(function_of(function).module);
    return CUDA_SUCCESS;
  };
  d.cuFuncGetParamInfo = [](CUfunction function, std::size_t i, std::size_t* offset, std::size_t* bytes) {
    const auto& layout = function_of(function).layout;
    if (i >= layout.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = layout[i].first;
    *bytes = layout[i].second;
    return CUDA_SUCCESS;
  };
  d.cuFuncGetAttribute = [](int* value, CUfunction_attribute id, CUfunction function) {
    const auto found = function_of(function).attributes.find(id);
    if (found == function_of(function).attributes.end()) return CUDA_ERROR_INVALID_VALUE;
    *value = found->second;
    return CUDA_SUCCESS;
  };
  d.cuFuncSetAttribute = [](CUfunction function, CUfunction_attribute id, int value) {
    function_of(function).attributes[id] = value;
    return CUDA_SUCCESS;
  };
  d.cuModuleGetGlobal = get_global;
  d.cuModuleLoadData = load_image;
  d.cuModuleUnload = [](CUmodule) {
    --test_gpu().live_modules;
    return CUDA_SUCCESS;
  };
  d.cuModuleGetFunction = get_function;
  d.cuMemcpyDtoH = [](void* to, CUdeviceptr from, std::size_t bytes) {
    const auto [memory, offset] = find_memory(from, bytes);
    if (memory == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memcpy(to, memory->data() + offset, bytes);
    return CUDA_SUCCESS;
  };
  d.cuMemcpyHtoD = [](CUdeviceptr to, const void* from, std::size_t bytes) {
    const auto [memory, offset] = find_memory(to, bytes);
    if (memory == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memcpy(memory->data() + offset, from, bytes);
    return CUDA_SUCCESS;
  };
  d.cuPointerGetAttribute = [](void* value, CUpointer_attribute id, CUdeviceptr address) {
    const auto found = test_gpu().foreign.find(address);
    if (found == test_gpu().foreign.end() || id != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(value, &found->second, sizeof found->second);
    return CUDA_SUCCESS;
  };
  d.cuMemGetAddressRange = [](CUdeviceptr*, std::size_t*, CUdeviceptr) { return CUDA_ERROR_NOT_FOUND; };
  d.cuCtxGetCurrent = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(&test_gpu());
    return CUDA_SUCCESS;
  };
  d.cuCtxGetDevice = [](CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  d.cuCtxSynchronize = [] { return CUDA_SUCCESS; };
  d.cuDeviceGetAttribute = [](int* value, CUdevice_attribute id, CUdevice) {
    const int capability = test_gpu().compute_capability;
    *value = id == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability / 10 : capability % 10;
    return CUDA_SUCCESS;
  };
  d.cuGraphCreate = [](CUgraph* graph, unsigned) {
    *graph = handle<CUgraph>(test_gpu().add_graph());
    return CUDA_SUCCESS;
  };
  d.cuGraphDestroy = [](CUgraph) { return CUDA_SUCCESS; };
  d.cuGraphExecDestroy = [](CUgraphExec) { return CUDA_SUCCESS; };
  d.cuGraphAddKernelNode = add_kernel_node;
  d.cuGraphAddMemsetNode = [](CUgraphNode* out, CUgraph graph, const CUgraphNode*, std::size_t,
                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
    TestNode node;
    node.type = CU_GRAPH_NODE_TYPE_MEMSET;
    node.fill = *params;
    return add(out, graph, std::move(node));
  };
  d.cuGraphAddMemcpyNode = [](CUgraphNode* out, CUgraph graph, const CUgraphNode*, std::size_t,
                              const CUDA_MEMCPY3D* params, CUcontext) {
    TestNode node;
    node.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    node.copy = *params;
    return add(out, graph, std::move(node));
  };
  d.cuGraphAddEmptyNode = [](CUgraphNode* out, CUgraph graph, const CUgraphNode*, std::size_t) {
    return add(out, graph, {});
  };
  d.cuGraphAddDependencies = [](CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      graph_of(graph).edges.push_back({&node_of(from[i]), &node_of(to[i]), data[i]});
    return CUDA_SUCCESS;
  };
  d.cuGraphInstantiate = [](CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
    *executable = reinterpret_cast<CUgraphExec>(graph);
    test_gpu().instantiate_flags |= flags;
    return CUDA_SUCCESS;
  };
  d.cuGraphUpload = [](CUgraphExec, CUstream) { return CUDA_SUCCESS; };
  return d;
}

}  // namespace solmark::seal

#endif
