#include "seal/record.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "seal/graph_nodes.h"
#include "seal/match.h"
#include "seal/module_state.h"
#include "seal/pointers.h"
#include "seal/window_range.h"

namespace solmark::seal {
namespace {

// Attributes of a function that a program may set.
constexpr std::array kSettable{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                               CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                               CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE};
constexpr std::array<std::uint32_t, 10> kLaunchAttributes{
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING};
class Recorder {
 public:
  Recorder(const gpu::Driver& driver, const RecordRequest& request)
      : driver_(driver), request_(request), matcher_(driver, request.images), pointers_(driver) {}

  Result<Seal> run() {
    SOLMARK_NEEDS(driver_, cuFuncGetName);
    seal_.compute_capability = request_.compute_capability;
    seal_.driver_version = driver_.version;
    seal_.buffers = request_.buffers;
    seal_.scratch = request_.scratch;
    for (std::size_t slot = 0; slot < request_.graphs.size(); ++slot) {
      auto call = record_call(request_.graphs[slot]);
      if (!call.ok()) return call.error();
      if (slot < request_.outputs.size()) call->outputs = request_.outputs[slot];
      seal_.calls.push_back(std::move(*call));
    }
    // Only now all variables are known that a parameter may point to.
    for (Call& call : seal_.calls)
      for (Node& node : call.nodes)
        if (auto* kernel = std::get_if<KernelNode>(&node)) SOLMARK_CHECK_OK(check_parameters(*kernel));
    if (const Status whole = validate(seal_); !whole.ok()) return whole.error();
    return std::move(seal_);
  }

 private:
  struct Known {
    std::uint32_t index = 0;
    std::vector<std::pair<std::size_t, std::size_t>> layout;  // of its parameters: offset, bytes
  };

  Result<Call> record_call(CUgraph graph) {
    SOLMARK_TRY(FlatGraph flat, flatten(driver_, graph));
    Call call;
    call.edges = std::move(flat.edges);
    bool works = false;
    for (const FlatGraph::Item& item : flat.items) {
      switch (item.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: {
          SOLMARK_TRY(KernelNode kernel, record_kernel(item.node));
          call.nodes.emplace_back(std::move(kernel));
          works = true;
          break;
        }
        case CU_GRAPH_NODE_TYPE_MEMSET: {
          SOLMARK_TRY(const MemsetNode fill, record_memset(item.node));
          call.nodes.emplace_back(fill);
          works = true;
          break;
        }
        case CU_GRAPH_NODE_TYPE_MEMCPY: {
          SOLMARK_TRY(const MemcpyNode copy, record_memcpy(item.node));
          call.nodes.emplace_back(copy);
          works = true;
          break;
        }
        default:
          call.nodes.emplace_back(EmptyNode{});
      }
    }
    if (!works) return machine_error("the call puts no work into its stream");
    return call;
  }

  Result<KernelNode> record_kernel(CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS params{};
    SOLMARK_CHECK_OK(
        driver_.check(driver_.cuGraphKernelNodeGetParams(node, &params), "reading a kernel node"));
    CUfunction function = params.func;
    if (function == nullptr)
      SOLMARK_CHECK_OK(driver_.check(driver_.cuKernelGetFunction(&function, params.kern),
                                     "asking for a kernel's function"));
    const auto known = use_function(function, params.kern);
    if (!known.ok()) return known.error();
    KernelNode kernel;
    kernel.function = (*known)->index;
    kernel.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
    kernel.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
    kernel.dynamic_shared_bytes = params.sharedMemBytes;
    SOLMARK_TRY(kernel.parameters, read_parameters(params, (*known)->layout));
    SOLMARK_TRY(kernel.attributes, read_attributes(node));
    allow_shared_memory(seal_.functions[kernel.function], kernel.dynamic_shared_bytes);
    return kernel;
  }

  // The launch worked, so the function was allowed that much, whatever it says now.
  static void allow_shared_memory(Function& function, std::uint32_t bytes) {
    for (Function::Attribute& attribute : function.attributes)
      if (attribute.id == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        attribute.value = std::max(attribute.value, static_cast<std::int32_t>(bytes));
  }

  Result<std::string> read_parameters(const CUDA_KERNEL_NODE_PARAMS& params,
                                      const std::vector<std::pair<std::size_t, std::size_t>>& layout) {
    std::string bytes;
    if (params.kernelParams != nullptr) {
      for (std::size_t i = 0; i < layout.size(); ++i) {
        const auto [offset, size] = layout[i];
        if (offset > kMaxParameterBytes || size > kMaxParameterBytes - offset)
          return internal_error("the driver reports parameters beyond any limit");
        bytes.resize(std::max(bytes.size(), offset + size));
        std::memcpy(bytes.data() + offset, params.kernelParams[i], size);
      }
      return bytes;
    }
    if (params.extra == nullptr) return bytes;
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (void** entry = params.extra; *entry != CU_LAUNCH_PARAM_END; entry += 2) {
      if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = entry[1];
      if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE) std::memcpy(&size, entry[1], sizeof size);
    }
    if (buffer == nullptr || size > kMaxParameterBytes)
      return machine_error("a kernel's parameter buffer is missing or beyond any limit");
    bytes.assign(static_cast<const char*>(buffer), size);
    return bytes;
  }

  Result<std::vector<LaunchAttribute>> read_attributes(CUgraphNode node) {
    CUlaunchAttributeValue updatable{};
    if (driver_.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                                              &updatable) == CUDA_SUCCESS &&
        updatable.deviceUpdatableKernelNode.deviceUpdatable != 0)
      return machine_error("the call has a kernel that other kernels may change");
    std::vector<LaunchAttribute> attributes;
    for (const std::uint32_t id : kLaunchAttributes) {
      CUlaunchAttributeValue value{};
      // An older driver does not know the newer ones.
      if (driver_.cuGraphKernelNodeGetAttribute(node, static_cast<CUlaunchAttributeID>(id), &value) !=
          CUDA_SUCCESS)
        continue;
      LaunchAttribute attribute;
      attribute.id = id;
      static_assert(sizeof value == sizeof attribute.value);
      std::memcpy(attribute.value.data(), &value, sizeof value);
      if (id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) {
        const CUaccessPolicyWindow& window = value.accessPolicyWindow;
        if (window.num_bytes == 0) continue;
        if (!in_window(reinterpret_cast<std::uint64_t>(window.base_ptr), window.num_bytes))
          return machine_error("a kernel's cache policy is for memory outside the address window");
      }
      attributes.push_back(attribute);
    }
    return attributes;
  }

  Result<const Known*> use_function(CUfunction function, CUkernel kernel) {
    if (const auto known = functions_.find(function); known != functions_.end()) return &known->second;
    const char* text = nullptr;
    SOLMARK_CHECK_OK(driver_.check(driver_.cuFuncGetName(&text, function), "asking for a kernel's name"));
    const std::string name(text);
    SOLMARK_TRY(const std::size_t collected, matcher_.image_of(function, kernel, name));
    SOLMARK_TRY(const std::uint32_t image, use_module(function, kernel, collected));
    Function out;
    out.image = image;
    out.name = name;
    for (const auto id : kSettable) {
      int value = 0;
      if (driver_.cuFuncGetAttribute(&value, id, function) == CUDA_SUCCESS)
        out.attributes.push_back({id, value});
    }
    Known known;
    known.index = static_cast<std::uint32_t>(seal_.functions.size());
    if (driver_.cuFuncGetParamInfo == nullptr)
      return gpu::missing_function(driver_.version, "cuFuncGetParamInfo");
    std::size_t offset = 0;
    std::size_t bytes = 0;
    while (driver_.cuFuncGetParamInfo(function, known.layout.size(), &offset, &bytes) == CUDA_SUCCESS)
      known.layout.emplace_back(offset, bytes);
    seal_.functions.push_back(std::move(out));
    return &functions_.emplace(function, std::move(known)).first->second;
  }

  // One image for each module instance, so that each keeps its own variables.
  Result<std::uint32_t> use_module(CUfunction function, CUkernel kernel, std::size_t collected) {
    ReadModule of;
    if (driver_.cuFuncGetModule(&of.module, function) != CUDA_SUCCESS) of.module = nullptr;
    if (kernel != nullptr && driver_.cuKernelGetLibrary != nullptr &&
        driver_.cuKernelGetLibrary(&of.library, kernel) != CUDA_SUCCESS)
      of.library = nullptr;
    const auto key = std::make_pair(of.module, collected);
    if (const auto known = modules_.find(key); known != modules_.end()) return known->second;
    SOLMARK_TRY(const Cubin* cubin, matcher_.cubin(collected));
    if (cubin->launches_from_device())
      return machine_error("the call's kernels start kernels from the device");
    of.image = static_cast<std::uint32_t>(seal_.images.size());
    seal_.images.push_back({matcher_.bytes(collected)});
    modules_.emplace(key, of.image);
    SOLMARK_CHECK_OK(read_module_state(driver_, of, *cubin, pointers_, seal_.state, seal_.notes));
    return of.image;
  }

  Result<MemsetNode> record_memset(CUgraphNode node) {
    CUDA_MEMSET_NODE_PARAMS params{};
    SOLMARK_CHECK_OK(driver_.check(driver_.cuGraphMemsetNodeGetParams(node, &params), "reading a fill node"));
    if (!in_window(params.dst, 1)) return machine_error("the call fills memory outside the address window");
    return MemsetNode{params.dst,   params.height == 1 ? 0 : params.pitch,
                      params.value, params.elementSize,
                      params.width, params.height};
  }

  static Result<CopySide> copy_side(CUmemorytype type, CUdeviceptr device, const void* host, std::size_t x,
                                    std::size_t y, std::size_t z, std::size_t pitch, std::size_t height,
                                    const char* what) {
    if (type == CU_MEMORYTYPE_ARRAY) return machine_error(fmt::format("the call copies {} an array", what));
    const std::uint64_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device;
    if (type == CU_MEMORYTYPE_HOST && !in_window(base, 1))
      return machine_error(fmt::format("the call copies {} host memory", what));
    if (!in_window(base, 1))
      return machine_error(fmt::format("the call copies {} memory outside the address window", what));
    return CopySide{base + x + pitch * (y + height * z), pitch, height};
  }

  Result<MemcpyNode> record_memcpy(CUgraphNode node) {
    CUDA_MEMCPY3D params{};
    SOLMARK_CHECK_OK(driver_.check(driver_.cuGraphMemcpyNodeGetParams(node, &params), "reading a copy node"));
    MemcpyNode copy;
    SOLMARK_TRY(copy.from,
                copy_side(params.srcMemoryType, params.srcDevice, params.srcHost, params.srcXInBytes,
                          params.srcY, params.srcZ, params.srcPitch, params.srcHeight, "from"));
    SOLMARK_TRY(copy.to, copy_side(params.dstMemoryType, params.dstDevice, params.dstHost, params.dstXInBytes,
                                   params.dstY, params.dstZ, params.dstPitch, params.dstHeight, "to"));
    copy.width_bytes = params.WidthInBytes;
    copy.height = params.Height;
    copy.depth = params.Depth;
    return copy;
  }

  Status check_parameters(KernelNode& kernel) {
    for (std::size_t at = 0; at + 8 <= kernel.parameters.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, kernel.parameters.data() + at, sizeof word);
      if (const auto global = pointers_.global_at(word)) {
        kernel.relocations.push_back(
            {static_cast<std::uint32_t>(at), global->image, global->symbol, global->offset});
        continue;
      }
      const char* what = pointers_.outside(word);
      if (what == nullptr) continue;
      return machine_error(
          fmt::format("kernel {} is given the address {:#x} of {} outside the address window",
                      seal_.functions[kernel.function].name, word, what));
    }
    return success();
  }

  const gpu::Driver& driver_;
  const RecordRequest& request_;
  ImageMatcher matcher_;
  PointerCheck pointers_;
  Seal seal_;
  std::map<CUfunction, Known> functions_;
  std::map<std::pair<CUmodule, std::size_t>, std::uint32_t> modules_;
};

}  // namespace

Result<Seal> record(const gpu::Driver& driver, const RecordRequest& request) {
  if (request.graphs.empty()) return internal_error("there is no call to record");
  return Recorder(driver, request).run();
}

}  // namespace solmark::seal

#endif
