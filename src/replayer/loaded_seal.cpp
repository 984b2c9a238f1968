#include "replayer/loaded_seal.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#if SOLMARK_HAVE_CUDA

#include "gpu/context.h"
#include "gpu/cupti_profile.h"
#include "gpu/vmm.h"
#include "seal/format.h"
#include "seal/replay.h"

namespace solmark::replayer {

struct LoadedSeal::State {
  explicit State(gpu::Context& process_context) : context(process_context) {}

  Status map(std::vector<LoadRequest::Region>& regions);
  Status find_outputs(const seal::Seal& seal, const std::vector<LoadRequest::Region>& regions);
  Status wait(const std::string& what) const {
    return context.driver().check(context.driver().cuCtxSynchronize(), what);
  }

  gpu::Context& context;
  std::vector<gpu::VmmAllocation> memory;
  std::optional<seal::Replay> replay;
  std::size_t slots = 0;
  std::string summary;
  std::vector<std::vector<RegionPlace>> outputs;
};

Status LoadedSeal::State::map(std::vector<LoadRequest::Region>& regions) {
  SOLMARK_TRY(const std::size_t granularity, gpu::allocation_granularity(context.driver(), context.index()));
  for (LoadRequest::Region& region : regions) {
    SOLMARK_TRY(gpu::VmmAllocation imported,
                gpu::VmmAllocation::import(context.driver(), context.index(), region.fd,
                                           gpu::round_up(region.bytes, granularity)));
    SOLMARK_CHECK_OK(
        imported.map(region.address, region.writable ? gpu::MapAccess::kReadWrite : gpu::MapAccess::kRead));
    region.fd.reset();
    memory.push_back(std::move(imported));
  }
  return success();
}

Status LoadedSeal::State::find_outputs(const seal::Seal& seal,
                                       const std::vector<LoadRequest::Region>& regions) {
  for (std::size_t slot = 0; slot < seal.calls.size(); ++slot) {
    auto& places = outputs.emplace_back();
    for (const std::uint64_t address : seal.calls[slot].outputs) {
      auto place = find_region(regions, address);
      if (!place.ok()) return place.error().in(fmt::format("slot {}", slot));
      places.push_back(*place);
    }
  }
  return success();
}

Result<std::unique_ptr<LoadedSeal>> LoadedSeal::load(LoadRequest request) {
  SOLMARK_TRY(const seal::Seal seal, seal::from_memfd(request.seal));
  SOLMARK_TRY(const gpu::Driver* driver, gpu::driver());
  SOLMARK_CHECK_OK(gpu::reserve_window(*driver));
  // The context outlives the Seals that this process is given one after the other: making one takes longer
  // than loading a Seal.
  static std::unique_ptr<gpu::Context> context;
  if (request.trace_graphs) SOLMARK_CHECK_OK(gpu::start_graph_trace());
  if (context == nullptr || context->index() != request.device_index) {
    SOLMARK_TRY(gpu::Context opened, gpu::Context::open(*driver, request.device_index));
    context = std::make_unique<gpu::Context>(std::move(opened));
  }
  auto state = std::make_unique<State>(*context);
  std::vector<seal::MappedRange> mapped;
  for (const LoadRequest::Region& region : request.regions) mapped.push_back({region.address, region.bytes});
  SOLMARK_CHECK_OK(state->map(request.regions));
  SOLMARK_CHECK_OK(state->find_outputs(seal, request.regions));
  SOLMARK_TRY(seal::Replay replay, seal::Replay::build(*driver, request.device_index, seal, mapped));
  state->replay = std::move(replay);
  state->slots = seal.calls.size();
  state->summary = seal::summary_json(seal);
  return std::unique_ptr<LoadedSeal>(new LoadedSeal(std::move(state)));
}

LoadedSeal::LoadedSeal(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedSeal::~LoadedSeal() = default;
std::size_t LoadedSeal::slots() const { return state_->slots; }
const std::string& LoadedSeal::summary_json() const { return state_->summary; }
const std::vector<std::vector<RegionPlace>>& LoadedSeal::outputs() const { return state_->outputs; }

protocol::RingResult LoadedSeal::ring(protocol::Ring ring) {
  const CUstream stream = state_->context.stream();
  Status done =
      ring == protocol::Ring::kEmpty ? state_->replay->launch_empty(stream) : state_->replay->launch(stream);
  if (done.ok()) done = state_->context.synchronize();
  protocol::RingResult result;
  if (!done.ok()) {
    result.failed_slot = 0;  // the graph does not say which
    result.message = "replay: " + done.error().text();
  }
  return result;
}

Result<Json> LoadedSeal::profile(bool nodes) {
  const auto work = [this]() -> Status {
    SOLMARK_CHECK_OK(state_->replay->launch(state_->context.stream()));
    return state_->context.synchronize();
  };
  // The caches are as the judge left them, cold: only an empty graph runs before the one that is recorded.
  const auto warm_up = [this]() -> Status {
    SOLMARK_CHECK_OK(state_->replay->launch_empty(state_->context.stream()));
    return state_->context.synchronize();
  };
  SOLMARK_TRY(const std::vector<gpu::Activity> activities,
              nodes ? gpu::profile(work, warm_up) : gpu::profile_graphs(work, warm_up));
  Json reply = Json::object();
  reply["calls"] = state_->slots;
  std::uint64_t first = activities.empty() ? 0 : activities.front().start_ns;
  std::uint64_t last = first;
  for (const gpu::Activity& activity : activities) last = std::max(last, activity.end_ns);
  reply["span_ns"] = last - first;
  if (!nodes) return reply;
  Json kernels = Json::array();
  // The first call's worth for a uniform batch; a reader that wants more asks for fewer slots.
  constexpr std::size_t kMostListed = 4096;
  for (const gpu::Activity& activity : activities) {
    if (kernels.size() == kMostListed) break;
    Json entry = Json::object();
    entry["name"] = activity.name;
    entry["kind"] = activity.kind == gpu::Activity::Kind::kKernel   ? "kernel"
                    : activity.kind == gpu::Activity::Kind::kMemcpy ? "memcpy"
                                                                    : "memset";
    entry["start_ns"] = activity.start_ns - first;
    entry["ns"] = activity.end_ns - activity.start_ns;
    if (activity.kind == gpu::Activity::Kind::kKernel) {
      entry["grid"] = activity.grid;
      entry["block"] = activity.block;
      entry["shared_bytes"] = activity.shared_bytes;
      entry["registers"] = activity.registers;
    } else {
      entry["bytes"] = activity.bytes;
    }
    kernels.push_back(std::move(entry));
  }
  reply["activities"] = activities.size();
  reply["kernels"] = std::move(kernels);
  return reply;
}

}  // namespace solmark::replayer

#else

namespace solmark::replayer {

struct LoadedSeal::State {
  std::string summary;
  std::vector<std::vector<RegionPlace>> outputs;
};

namespace {
Error no_backend() {
  return machine_error("this build has no cuda device", "build with the CUDA toolkit and -DSOLMARK_CUDA=ON");
}
}  // namespace

Result<std::unique_ptr<LoadedSeal>> LoadedSeal::load(LoadRequest) { return no_backend(); }
LoadedSeal::LoadedSeal(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedSeal::~LoadedSeal() = default;
std::size_t LoadedSeal::slots() const { return 0; }
const std::string& LoadedSeal::summary_json() const { return state_->summary; }
const std::vector<std::vector<RegionPlace>>& LoadedSeal::outputs() const { return state_->outputs; }
protocol::RingResult LoadedSeal::ring(protocol::Ring) { return {0, "replay: " + no_backend().text()}; }
Result<Json> LoadedSeal::profile(bool) { return no_backend(); }

}  // namespace solmark::replayer

#endif
