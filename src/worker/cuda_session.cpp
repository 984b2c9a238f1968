#include "worker/cuda_session.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "gpu/context.h"
#include "gpu/module.h"
#include "gpu/window.h"
#include "protocol/channel.h"
#include "protocol/serve.h"
#include "seal/format.h"
#include "seal/images.h"
#include "seal/record.h"
#include "worker/cuda_capture.h"
#include "worker/cuda_live_graph.h"
#include "worker/cuda_scratch.h"

namespace solmark::worker {
namespace {

// A frame carries 64 descriptors; the replayer gets inputs, outputs and the Seal beside the scratch.
constexpr std::size_t kMostScratch = protocol::kMaxDescriptors - 4;

Outcome ours(const Error& error) { return Failure{"worker", error.text()}; }
Outcome unsealable(const std::string& why) { return Failure{"unsealable", why}; }

class CudaSession final : public Session {
 public:
  CudaSession(gpu::Context context, CUstream stream, Status images, Candidate& candidate)
      : context_(std::move(context)),
        stream_(stream),
        scratch_(context_.driver(), context_.index()),
        images_(std::move(images)),
        candidate_(candidate) {
    set_active_scratch(&scratch_);
  }
  ~CudaSession() override { set_active_scratch(nullptr); }

  Outcome bind(Binding binding) override;
  [[nodiscard]] const Binding& binding() const override { return binding_; }
  Outcome call(std::int64_t slot) override;
  Outcome seal(std::int64_t slots, SealReply& reply) override;
  Outcome serve(protocol::Doorbell& bell, std::int64_t slots, int channel, bool as_graph) override;
  void report_output(std::int64_t slot, std::int32_t output, std::uint64_t address) override;
  void* allocate(std::size_t bytes, void* stream) override { return scratch_.allocate(bytes, stream); }
  void deallocate(void* pointer, std::size_t, void* stream) override {
    (void)scratch_.release(pointer, stream);
  }

 private:
  const gpu::Driver& driver() const { return context_.driver(); }
  Outcome wait(const std::string& what);
  Outcome capture_all(std::int64_t slots, std::vector<CapturedGraph>& graphs);
  Result<seal::Seal> record_calls(const std::vector<CapturedGraph>& graphs,
                                  std::vector<ScratchRegion>& scratch);
  [[nodiscard]] std::vector<std::uint64_t> outputs_of(std::int64_t slot) const;
  [[nodiscard]] std::vector<seal::Buffer> buffers() const;

  gpu::Context context_;
  // An ordinary stream, not context_'s: work that a candidate puts into the default stream is ordered with
  // it, and makes a capture fail instead of being left out.
  CUstream stream_;
  CudaScratch scratch_;
  Status images_;  // whether images are collected; sealing needs them
  Candidate& candidate_;
  Binding binding_;
  std::vector<gpu::VmmAllocation> regions_;
  std::vector<std::vector<std::uint64_t>> reported_;  // by slot and output; 0: not reported
  std::string dead_;                                  // why the context is unusable, once it is
};

// Errors after which a context does nothing any more (CUDA's "sticky" errors) show in every later call; one
// more wait tells them from those of a single call.
Outcome CudaSession::wait(const std::string& what) {
  const CUresult result = driver().cuCtxSynchronize();
  if (result == CUDA_SUCCESS) return {};
  const std::string text = driver().check(result, what).error().text();
  if (driver().cuCtxSynchronize() != CUDA_SUCCESS) dead_ = text;
  return Failure{"runtime", text};
}

Outcome CudaSession::bind(Binding binding) {
  if (!dead_.empty())
    return Failure{"runtime", "the GPU context is unusable since an earlier error: " + dead_};
  if (Outcome failed = wait("waiting for the previous binding's work")) return failed;
  const auto granularity = gpu::allocation_granularity(driver(), context_.index());
  if (!granularity.ok()) return ours(granularity.error());
  regions_.clear();
  reported_.clear();
  binding_ = {};
  for (BoundRegion& region : binding.regions) {
    const std::size_t bytes = gpu::round_up(region.bytes, *granularity);
    if (region.address < gpu::kWindowBase || bytes < region.bytes || bytes > gpu::kJudgeBytes ||
        region.address - gpu::kWindowBase > gpu::kJudgeBytes - bytes)
      return Failure{"worker", fmt::format("a region at {:#x} lies outside the judge's half of the window",
                                           region.address)};
    auto memory = gpu::VmmAllocation::import(driver(), context_.index(), region.fd, bytes);
    if (!memory.ok()) return ours(memory.error());
    const Status mapped =
        memory->map(region.address, region.writable ? gpu::MapAccess::kReadWrite : gpu::MapAccess::kRead);
    if (!mapped.ok()) return ours(mapped.error());
    region.mapped = region.address;
    region.fd.reset();
    regions_.push_back(std::move(*memory));
  }
  binding_ = std::move(binding);
  return {};
}

Outcome CudaSession::call(std::int64_t slot) {
  if (!dead_.empty())
    return Failure{"runtime", "the GPU context is unusable since an earlier error: " + dead_};
  Outcome failed = candidate_.call(slot, stream_, true);
  Outcome broken = wait("running the call");
  if (!failed) failed = std::move(broken);
  if (!failed) scratch_.idle();
  return failed;
}

void CudaSession::report_output(std::int64_t slot, std::int32_t output, std::uint64_t address) {
  constexpr std::int64_t kMostSlots = 1 << 20;
  constexpr std::int32_t kMostOutputs = 1 << 12;
  if (slot < 0 || slot >= kMostSlots || output < 0 || output >= kMostOutputs) return;
  const auto s = static_cast<std::size_t>(slot);
  const auto o = static_cast<std::size_t>(output);
  if (reported_.size() <= s) reported_.resize(s + 1);
  if (reported_[s].size() <= o) reported_[s].resize(o + 1, 0);
  reported_[s][o] = address;
}

std::vector<std::uint64_t> CudaSession::outputs_of(std::int64_t slot) const {
  std::vector<std::uint64_t> addresses;
  const auto s = static_cast<std::size_t>(slot);
  for (std::size_t i = 0; i < binding_.outputs.size(); ++i) {
    std::uint64_t address = binding_.address(binding_.outputs[i], slot);
    if (s < reported_.size() && i < reported_[s].size() && reported_[s][i] != 0) address = reported_[s][i];
    addresses.push_back(address);
  }
  return addresses;
}

std::vector<seal::Buffer> CudaSession::buffers() const {
  std::vector<seal::Buffer> out;
  const auto add = [&](const BoundTensor& tensor, bool output) {
    if (!tensor.scalar)
      out.push_back({tensor.name, output, binding_.address(tensor, 0), tensor.bytes, tensor.slot_stride});
  };
  for (const BoundTensor& tensor : binding_.inputs) add(tensor, false);
  for (const BoundTensor& tensor : binding_.outputs) add(tensor, true);
  return out;
}

Outcome CudaSession::capture_all(std::int64_t slots, std::vector<CapturedGraph>& graphs) {
  // Whatever a first call does once (compile, tune, allocate) must not fall into the capture; the results are
  // not copied out there, which may be another path of the candidate.
  for (const std::int64_t slot : {std::int64_t{0}, slots - 1}) {
    if (Outcome failed = candidate_.call(slot, stream_, false)) return failed;
    if (Outcome failed = wait("running the call before its capture")) return failed;
  }
  scratch_.idle();
  reported_.clear();
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    scratch_.set_capturing(true);
    Outcome failed;
    auto graph = capture(driver(), stream_, [&] { failed = candidate_.call(slot, stream_, false); });
    scratch_.set_capturing(false);
    // The same call worked a moment ago: what fails is the capture.
    if (failed) return unsealable(fmt::format("the call cannot be captured: {}", failed->message));
    if (!graph.ok()) return unsealable(graph.error().text());
    graphs.push_back(std::move(*graph));
  }
  return wait("waiting after the capture");
}

Result<seal::Seal> CudaSession::record_calls(const std::vector<CapturedGraph>& graphs,
                                             std::vector<ScratchRegion>& scratch) {
  seal::RecordRequest request;
  SOLMARK_TRY(const int major, context_.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  SOLMARK_TRY(const int minor, context_.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  request.compute_capability = major * 10 + minor;
  for (std::size_t slot = 0; slot < graphs.size(); ++slot) {
    request.graphs.push_back(graphs[slot].get());
    request.outputs.push_back(outputs_of(static_cast<std::int64_t>(slot)));
  }
  request.buffers = buffers();
  request.images = seal::ImageCollector::instance().images();
  SOLMARK_TRY(scratch, scratch_.share());
  if (scratch.size() > kMostScratch)
    return machine_error(fmt::format("the candidate's memory is in {} pieces, {} can be handed over",
                                     scratch.size(), kMostScratch));
  for (const ScratchRegion& region : scratch) {
    seal::Scratch& entry = request.scratch.emplace_back();
    entry.address = region.address;
    entry.bytes = region.bytes;
  }
  return seal::record(driver(), request);
}

Outcome CudaSession::seal(std::int64_t slots, SealReply& reply) {
  if (!dead_.empty())
    return Failure{"runtime", "the GPU context is unusable since an earlier error: " + dead_};
  if (!images_.ok()) return unsealable("images cannot be collected: " + images_.error().text());
  std::vector<CapturedGraph> graphs;
  if (Outcome failed = capture_all(slots, graphs)) return failed;
  std::vector<ScratchRegion> scratch;
  auto recorded = record_calls(graphs, scratch);
  scratch_.idle();
  if (!recorded.ok()) return unsealable(recorded.error().text());
  auto fd = seal::to_memfd(*recorded, reply.bytes);
  if (!fd.ok()) return ours(fd.error());
  reply.seal = std::move(*fd);
  reply.scratch = std::move(scratch);
  reply.summary_json = seal::summary_json(*recorded);
  return {};
}

Outcome CudaSession::serve(protocol::Doorbell& bell, std::int64_t slots, int channel, bool as_graph) {
  if (!dead_.empty())
    return Failure{"runtime", "the GPU context is unusable since an earlier error: " + dead_};
  auto floor = gpu::Module::load(context_, gpu::floor_image(), "floor kernels");
  if (!floor.ok()) return ours(floor.error());
  auto empty = floor->function("solmark_empty");
  if (!empty.ok()) return ours(empty.error());
  std::optional<LiveGraph> graph;
  if (as_graph) {
    std::vector<CapturedGraph> calls;
    if (Outcome failed = capture_all(slots, calls)) return failed;
    auto made = LiveGraph::make(driver(), calls);
    if (!made.ok()) return ours(made.error());
    graph.emplace(std::move(*made));
  }
  // Nothing of ours may stand between the candidate and the driver while the clock runs.
  (void)seal::ImageCollector::instance().watch_calls(false);
  protocol::serve_doorbell(bell, channel, [&](protocol::Ring ring) {
    protocol::RingResult result;
    Outcome failed;
    if (ring == protocol::Ring::kEmpty) {
      const CUresult launched =
          driver().cuLaunchKernel(*empty, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, nullptr);
      if (launched != CUDA_SUCCESS)
        failed = ours(driver().check(launched, "launching the empty kernel").error());
    }
    if (ring == protocol::Ring::kBatch && graph) {
      const CUresult launched = graph->launch(stream_);
      if (launched != CUDA_SUCCESS) failed = ours(driver().check(launched, "launching the calls").error());
    }
    for (std::int64_t slot = 0; ring == protocol::Ring::kBatch && !graph && slot < slots && !failed; ++slot) {
      failed = candidate_.call(slot, stream_, true);
      if (failed) result.failed_slot = static_cast<std::int32_t>(slot);
    }
    // All streams: work that a candidate leaves in another one belongs to the batch.
    Outcome broken = wait("running the batch");
    if (!failed && broken) {
      failed = std::move(broken);
      result.failed_slot = 0;  // any of them
    }
    if (failed) result.message = failed->kind + ": " + failed->message;
    return result;
  });
  (void)seal::ImageCollector::instance().watch_calls(true);
  scratch_.idle();
  return {};
}

}  // namespace

Result<std::unique_ptr<Session>> open_cuda_session(const OpenRequest& request, Candidate& candidate) {
  if (request.window_base != gpu::kWindowBase || request.window_bytes != gpu::kWindowBytes)
    return machine_error("the judge uses another address window than this worker");
  // Before the driver starts: modules that were loaded earlier are never seen.
  Status images = machine_error("this worker was started to be timed, not to seal");
  if (request.sealing) images = seal::ImageCollector::instance().start();
  if (images.ok()) images = seal::ImageCollector::instance().watch_calls(true);
  SOLMARK_TRY(const gpu::Driver* driver, gpu::driver());
  SOLMARK_CHECK_OK(gpu::reserve_window(*driver));
  SOLMARK_TRY(gpu::Context context, gpu::Context::open(*driver, request.device_index));
  CUstream stream = nullptr;
  SOLMARK_CHECK_OK(driver->check(driver->cuStreamCreate(&stream, CU_STREAM_DEFAULT), "creating a stream"));
  return std::unique_ptr<Session>(
      std::make_unique<CudaSession>(std::move(context), stream, std::move(images), candidate));
}

}  // namespace solmark::worker

#else

namespace solmark::worker {

Result<std::unique_ptr<Session>> open_cuda_session(const OpenRequest&, Candidate&) {
  return machine_error("this build has no cuda device", "build with the CUDA toolkit and -DSOLMARK_CUDA=ON");
}

}  // namespace solmark::worker

#endif
