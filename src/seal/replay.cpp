#include "seal/replay.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "seal/cubin.h"
#include "seal/replay_state.h"

namespace solmark::seal {
namespace {

bool covered(const Scratch& scratch, const std::vector<MappedRange>& mapped) {
  return std::any_of(mapped.begin(), mapped.end(), [&](const MappedRange& range) {
    return range.address <= scratch.address && scratch.bytes <= range.bytes &&
           scratch.address - range.address <= range.bytes - scratch.bytes;
  });
}

}  // namespace

Replay::State::~State() {
  if (executable != nullptr) (void)driver.cuGraphExecDestroy(executable);
  if (empty_executable != nullptr) (void)driver.cuGraphExecDestroy(empty_executable);
  if (graph != nullptr) (void)driver.cuGraphDestroy(graph);
  if (empty_graph != nullptr) (void)driver.cuGraphDestroy(empty_graph);
  for (CUmodule module : modules) (void)driver.cuModuleUnload(module);
  if (empty_module != nullptr) (void)driver.cuModuleUnload(empty_module);
}

Status Replay::State::load_images(const Seal& seal) {
  for (std::size_t i = 0; i < seal.images.size(); ++i) {
    const std::string& bytes = seal.images[i].bytes;
    // The driver is given no length: what it reads must be known to be whole.
    const auto cubin = Cubin::parse(bytes);
    if (!cubin.ok()) return cubin.error().in(fmt::format("image {}", i));
    CUmodule module = nullptr;
    SOLMARK_CHECK_OK(driver.check(driver.cuModuleLoadData(&module, bytes.data()),
                                  fmt::format("loading image {} ({} bytes)", i, bytes.size())));
    modules.push_back(module);
  }
  return success();
}

Status Replay::State::prepare_functions(const Seal& seal) {
  SOLMARK_NEEDS(driver, cuFuncGetParamInfo);
  for (const Function& wanted : seal.functions) {
    CUfunction function = nullptr;
    SOLMARK_CHECK_OK(
        driver.check(driver.cuModuleGetFunction(&function, modules[wanted.image], wanted.name.c_str()),
                     "finding kernel " + wanted.name));
    for (const Function::Attribute& attribute : wanted.attributes) {
      const auto id = static_cast<CUfunction_attribute>(attribute.id);
      int now = 0;
      if (driver.cuFuncGetAttribute(&now, id, function) == CUDA_SUCCESS && now == attribute.value) continue;
      SOLMARK_CHECK_OK(driver.check(driver.cuFuncSetAttribute(function, id, attribute.value),
                                    fmt::format("setting attribute {} of kernel {} to {}", attribute.id,
                                                wanted.name, attribute.value)));
    }
    auto& layout = layouts.emplace_back();
    std::size_t offset = 0;
    std::size_t bytes = 0;
    while (driver.cuFuncGetParamInfo(function, layout.size(), &offset, &bytes) == CUDA_SUCCESS)
      layout.emplace_back(offset, bytes);
    functions.push_back(function);
  }
  return success();
}

Status Replay::State::make_scratch(const Seal& seal, int device, const std::vector<MappedRange>& mapped) {
  for (const Scratch& wanted : seal.scratch) {
    if (covered(wanted, mapped)) continue;
    if (!wanted.has_contents)
      return input_error(
          fmt::format("memory at {:#x} came neither by descriptor nor with the seal", wanted.address),
          "scratch");
    SOLMARK_TRY(gpu::VmmAllocation memory, gpu::VmmAllocation::create(driver, device, wanted.bytes));
    SOLMARK_CHECK_OK(memory.map(wanted.address, gpu::MapAccess::kReadWrite));
    SOLMARK_CHECK_OK(
        driver.check(driver.cuMemsetD8(wanted.address, 0, wanted.bytes), "clearing the seal's memory"));
    for (const Scratch::Extent& extent : wanted.extents)
      SOLMARK_CHECK_OK(driver.check(
          driver.cuMemcpyHtoD(wanted.address + extent.offset, extent.bytes.data(), extent.bytes.size()),
          "writing the seal's memory"));
    scratch.push_back(std::move(memory));
  }
  return success();
}

Result<CUdeviceptr> Replay::State::variable(const Seal&, std::uint32_t image, const std::string& symbol,
                                            std::uint64_t offset, std::uint64_t bytes) const {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  SOLMARK_CHECK_OK(driver.check(driver.cuModuleGetGlobal(&address, &size, modules[image], symbol.c_str()),
                                fmt::format("finding variable {} of image {}", symbol, image)));
  if (offset > size || bytes > size - offset)
    return input_error(fmt::format("variable {} of image {} has {} bytes only", symbol, image, size),
                       "state");
  return address + offset;
}

Status Replay::State::write_state(const Seal& seal) {
  for (const ModuleState& piece : seal.state) {
    SOLMARK_TRY(const CUdeviceptr address,
                variable(seal, piece.image, piece.symbol, piece.offset, piece.bytes.size()));
    SOLMARK_CHECK_OK(driver.check(driver.cuMemcpyHtoD(address, piece.bytes.data(), piece.bytes.size()),
                                  "writing variable " + piece.symbol));
  }
  return success();
}

Replay::Replay(std::unique_ptr<State> state) : state_(std::move(state)) {}
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;
Replay::~Replay() = default;

Result<Replay> Replay::build(const gpu::Driver& driver, int device, const Seal& seal,
                             const std::vector<MappedRange>& mapped) {
  SOLMARK_CHECK_OK(validate(seal));
  auto state = std::make_unique<State>(driver);
  SOLMARK_CHECK_OK(driver.check(driver.cuCtxGetCurrent(&state->context), "asking for the context"));
  if (state->context == nullptr) return internal_error("a seal is replayed without a context");
  CUdevice handle = 0;
  int major = 0;
  int minor = 0;
  SOLMARK_CHECK_OK(driver.check(driver.cuCtxGetDevice(&handle), "asking for the device"));
  SOLMARK_CHECK_OK(
      driver.check(driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle),
                   "asking for the device"));
  SOLMARK_CHECK_OK(
      driver.check(driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle),
                   "asking for the device"));
  if (seal.compute_capability != major * 10 + minor)
    return machine_error(fmt::format("the seal is for compute capability {}, this GPU has {}",
                                     seal.compute_capability, major * 10 + minor),
                         "seal the solution on this machine");
  SOLMARK_CHECK_OK(state->load_images(seal));
  SOLMARK_CHECK_OK(state->prepare_functions(seal));
  SOLMARK_CHECK_OK(state->make_scratch(seal, device, mapped));
  SOLMARK_CHECK_OK(state->write_state(seal));
  SOLMARK_CHECK_OK(state->build_graph(seal));
  SOLMARK_CHECK_OK(state->build_empty_graph());
  return Replay(std::move(state));
}

Status Replay::launch(CUstream stream) const {
  return state_->driver.check(state_->driver.cuGraphLaunch(state_->executable, stream),
                              "launching the sealed calls");
}

Status Replay::launch_empty(CUstream stream) const {
  return state_->driver.check(state_->driver.cuGraphLaunch(state_->empty_executable, stream),
                              "launching the empty graph");
}

}  // namespace solmark::seal

#endif
