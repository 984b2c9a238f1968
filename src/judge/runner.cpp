#include "judge/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "judge/check.h"
#include "judge/spent.h"
#include "measure/plan.h"

namespace solmark::judge {
namespace {

constexpr std::size_t kTrialSlots = 16;

// The seed of an input set: secret, so that the candidate cannot make the set itself; different for every
// workload, batch and set; repeatable from the evaluation's seed.
std::uint64_t set_seed(std::uint64_t secret, const std::string& uuid, std::uint64_t set) {
  std::string digest = Sha256().add(fmt::format("{}", secret)).add(uuid).add(fmt::format("{}", set)).hex();
  return std::stoull(digest.substr(0, 15), nullptr, 16);
}

protocol::Wait wait_for(const device::DeviceInfo& device) {
  // On the CPU the candidate needs every hardware thread; a GPU's host has some to spare.
  return device.kind == "cpu" && device.multiprocessors < 8 ? protocol::Wait::kSleep : protocol::Wait::kSpin;
}

}  // namespace

Runner::Runner(const EvalOptions& options, const problem::Definition& definition, device::Device& device,
               oracle::Oracle& oracle, std::uint64_t secret)
    : options_(options),
      definition_(definition),
      device_(device),
      oracle_(oracle),
      secret_(secret),
      random_(secret) {}

BindingView Runner::view(const Case& c, const Slots& slots) const {
  return {slots.inputs.get(), slots.outputs.get(), &c.inputs, &c.outputs,
          slots.count,        c.scalars.get(),     &c.axes};
}

Step Runner::stage(Case& c) {
  SOLMARK_STEP(restage(c));
  return make_set(c, 0);
}

Step Runner::restage(Case& c) {
  if (c.staging.sets == 0) {
    SOLMARK_STEP_TRY(c.staging, make_staging(device_, c.inputs, c.outputs,
                                             std::max<std::size_t>(1, options_.sets_per_batch)));
  }
  auto fault =
      oracle_.workload(definition_, c.workload, c.axes, c.inputs, c.outputs, c.blobs, c.scalars.get());
  SOLMARK_STEP_OK(fault);
  if (*fault) return Fault{TraceStatus::kInvalidReference, (*fault)->message, false};
  return {};
}

Step Runner::make_set(Case& c, std::size_t index) {
  oracle::SetRequest request;
  request.seed = set_seed(secret_, c.workload.uuid, c.sets_made++);
  request.inputs = c.staging.inputs.get();
  request.expected = c.staging.expected.get();
  request.input_layout = &c.inputs;
  request.expected_layout = &c.outputs;
  request.set = index;
  auto reply = oracle_.make_set(request);
  SOLMARK_STEP_OK(reply);
  if (reply->fault) return Fault{TraceStatus::kInvalidReference, reply->fault->message, false};
  for (const std::string& warning : reply->warnings) {
    bool known = false;
    for (const Finding& finding : c.trace.findings) known = known || finding.message == warning;
    if (!known) c.trace.findings.push_back({"oracle", "note", warning});
  }
  if (!c.scalars) c.scalars = std::make_shared<Json>(reply->scalars ? *reply->scalars : Json::object());
  return {};
}

Step Runner::time_reference(Case& c) {
  auto time = oracle_.time(0.02);
  SOLMARK_STEP_OK(time);
  if (time->fault) return Fault{TraceStatus::kInvalidReference, time->fault->message, false};
  c.trace.reference_s = time->t_s;
  return {};
}

// Before the batches only the first set is there.
Step Runner::bind_first_set(Case& c, Worker& worker) {
  SOLMARK_STEP_OK(deal_sets(device_, c.staging, 1, c.inputs, c.slots, random_));
  SOLMARK_STEP_OK(device_.idle());
  return worker.bind(view(c, c.slots), options_.limits);
}

Step Runner::trial(Case& c, Worker& worker, double& call_s) {
  SOLMARK_STEP_TRY(std::size_t available, device_.available_bytes());
  std::size_t slots = kTrialSlots;
  if (c.slot_bytes() > 0) slots = std::clamp<std::size_t>(available / 4 / c.slot_bytes(), 1, kTrialSlots);
  if (c.slot_bytes() > available / 2) {
    return Fault{TraceStatus::kInfraError,
                 fmt::format("one set of tensors takes {} bytes; {} are free", c.slot_bytes(), available),
                 false};
  }
  c.slots = {};
  SOLMARK_STEP_TRY(c.slots, make_slots(device_, c.inputs, c.outputs, slots));
  SOLMARK_STEP(bind_first_set(c, worker));
  SOLMARK_STEP(worker.call(0, options_.limits.first_call));
  SOLMARK_STEP(worker.call(c.slots.count - 1, options_.limits.call));
  SOLMARK_STEP(worker.start_serving(1, wait_for(device_.info())));
  auto one = worker.ring(protocol::Ring::kBatch, options_.limits);
  if (auto* fault = std::get_if<Fault>(&one)) return *fault;
  SOLMARK_STEP(worker.stop_serving(options_.limits));
  call_s = std::get<double>(one);
  // Short calls: once more over all slots, where the cost of ringing no longer counts.
  if (call_s * static_cast<double>(c.slots.count) < 0.2) {
    SOLMARK_STEP(worker.start_serving(c.slots.count, wait_for(device_.info())));
    for (int round = 0; round < 2; ++round) {
      auto all = worker.ring(protocol::Ring::kBatch, options_.limits);
      if (auto* fault = std::get_if<Fault>(&all)) return *fault;
      call_s = std::min(call_s, std::get<double>(all) / static_cast<double>(c.slots.count));
    }
    SOLMARK_STEP(worker.stop_serving(options_.limits));
  }
  return {};
}

Step Runner::bind_slots(Case& c, Worker& worker, double call_s) {
  c.slots = {};
  SOLMARK_STEP_TRY(std::size_t available, device_.available_bytes());
  measure::PlanInput input;
  // A sealed call runs without the host's launch cost, which a live estimate contains.
  bool sealing = device_.info().kind != "cpu" && !options_.live_only;
  input.call_s = sealing ? call_s / 2 : call_s;
  input.slot_bytes = c.slot_bytes();
  input.cache_bytes = device_.info().last_level_cache_bytes;
  input.memory_bytes = std::min<std::size_t>(available / 3, std::size_t{16} << 30);
  input.max_slots = options_.max_slots;
  // A host streams slower than a GPU, over larger caches, and first calls say too little about its later
  // ones.
  if (device_.info().kind == "cpu") input.batch_limit_s = 0.4;
  input.warm = options_.warm;
  measure::Plan plan = measure::plan_slots(input);
  if (!plan.fits) {
    return Fault{TraceStatus::kInfraError,
                 fmt::format("one set of tensors takes {} bytes; {} may be used for slots", c.slot_bytes(),
                             input.memory_bytes),
                 false};
  }
  c.slots_exceed_cache = plan.exceeds_cache;
  SOLMARK_STEP_TRY(c.slots, make_slots(device_, c.inputs, c.outputs, plan.slots));
  return bind_first_set(c, worker);
}

Step Runner::refresh(Case& c, const std::vector<std::vector<OutputPlace>>* places,
                     const std::vector<const device::Region*>& regions) {
  {
    Spent spent(c.trace, "input_sets");
    for (std::size_t k = 0; k < c.staging.sets; ++k) SOLMARK_STEP(make_set(c, k));
  }
  Spent spent(c.trace, "refresh");
  return prepare_slots(c, places, regions);
}

Step Runner::prepare_slots(Case& c, const std::vector<std::vector<OutputPlace>>* places,
                           const std::vector<const device::Region*>& regions) {
  // Before the first batch only the first set is there.
  const std::size_t sets = std::min<std::size_t>(c.staging.sets, std::max<std::uint64_t>(1, c.sets_made));
  SOLMARK_STEP_OK(deal_sets(device_, c.staging, sets, c.inputs, c.slots, random_));
  const std::uint32_t pattern = c.zero_outputs ? 0 : kPoison;
  SOLMARK_STEP_OK(device_.fill(*c.slots.outputs, 0, c.slots.outputs->bytes(), pattern));
  if (places != nullptr) SOLMARK_STEP(poison_own_places(c, *places, regions, pattern));
  if (!options_.warm) {
    const std::vector<const device::Region*> slots = {c.slots.inputs.get(), c.slots.outputs.get()};
    SOLMARK_STEP_OK(device_.flush_caches(regions.empty() ? slots : regions));
  }
  SOLMARK_STEP_OK(device_.idle());
  return {};
}

// Results that a sealed call leaves in its own memory. Those in the slots' outputs hold poison already; a
// view of an input stays as it is, or the input would be spoilt.
Step Runner::poison_own_places(Case& c, const std::vector<std::vector<OutputPlace>>& places,
                               const std::vector<const device::Region*>& regions, std::uint32_t pattern) {
  for (const auto& slot : places) {
    for (std::size_t output = 0; output < slot.size(); ++output) {
      const auto number = static_cast<std::size_t>(slot[output].region);
      if (regions[number] == c.slots.inputs.get() || regions[number] == c.slots.outputs.get()) continue;
      auto* region = const_cast<device::Region*>(regions[number]);
      SOLMARK_STEP_OK(device_.fill(*region, slot[output].offset, c.outputs.tensors[output].bytes, pattern));
    }
  }
  return {};
}

Step Runner::run_batch(Case& c, Server& server, measure::Batch& batch) {
  Spent spent(c.trace, "batches");
  double empty_s = 0;
  for (int i = 0; i < 3; ++i) {  // the first one also wakes a child that naps
    auto empty = server.ring(protocol::Ring::kEmpty, options_.limits);
    if (auto* fault = std::get_if<Fault>(&empty)) return *fault;
    empty_s = i == 0 ? std::get<double>(empty) : std::min(empty_s, std::get<double>(empty));
  }
  auto rung = server.ring(protocol::Ring::kBatch, options_.limits);
  if (auto* fault = std::get_if<Fault>(&rung)) return *fault;
  batch.batch_s = std::get<double>(rung);
  batch.empty_s = empty_s;
  batch.call_s = measure::call_seconds(batch.batch_s, empty_s, c.slots.count);
  batch.state = device_.state();
  return {};
}

Step Runner::time_live_graph(Case& c, Worker& worker, double& call_s) {
  std::vector<double> batch_times;
  std::vector<double> call_times;
  SOLMARK_STEP(worker.bind(view(c, c.slots), options_.limits));
  SOLMARK_STEP(worker.start_serving(c.slots.count, wait_for(device_.info()), true));
  for (std::size_t number = 0;; ++number) {
    SOLMARK_STEP(prepare_slots(c, nullptr, {}));
    measure::Batch batch;
    SOLMARK_STEP(run_batch(c, worker, batch));
    if (number == 0) continue;
    batch_times.push_back(batch.batch_s);
    call_times.push_back(batch.call_s);
    if (stats::enough(options_.stopping, batch_times, call_times)) break;
  }
  SOLMARK_STEP(worker.stop_serving(options_.limits));
  call_s = stats::median(call_times);
  return {};
}

Step Runner::measure(Case& c, Server& server, const std::vector<std::vector<OutputPlace>>* places,
                     const std::vector<const device::Region*>& regions) {
  CheckInput check;
  check.device = &device_;
  check.outputs = &c.outputs;
  check.staging = &c.staging;
  check.slots = &c.slots;
  check.places = places;
  check.regions = regions;
  check.tolerance = c.workload.tolerance;
  check.rule = options_.rule;
  c.trace.outputs.clear();
  for (const auto& tensor : c.outputs.tensors) {
    OutputRecord record;
    record.name = tensor.name;
    c.trace.outputs.push_back(std::move(record));
  }
  measure::Timing timing;
  timing.slots = c.slots.count;
  timing.slots_exceed_cache = c.slots_exceed_cache;
  timing.warm = options_.warm;
  std::vector<double> batch_s;
  std::vector<double> call_s;
  const std::uint64_t sets_before = c.sets_made;
  SOLMARK_STEP(server.start_serving(c.slots.count, wait_for(device_.info())));
  // The first batch warms up clocks and code: it is checked like any other, and not counted.
  for (std::size_t number = 0;; ++number) {
    SOLMARK_STEP(refresh(c, places, regions));
    measure::Batch batch;
    SOLMARK_STEP(run_batch(c, server, batch));
    std::optional<Spent> spent(std::in_place, c.trace, "checks");
    CheckResult checked = check_batch(check, c.trace.outputs);
    spent.reset();
    if (checked.fault) {
      if (!checked.unwritten || c.zero_outputs) return checked.fault;
      // SOL-ExecBench hands out zero-filled outputs, so leaving zeros unwritten is legal there: once more
      // that way.
      SOLMARK_STEP(server.stop_serving(options_.limits));
      c.zero_outputs = true;
      Step again = measure(c, server, places, regions);
      if (again) return checked.fault;
      c.trace.findings.push_back(
          {"relies_on_zeroed_outputs", "warning",
           "outputs are right only because they start as zeros: some elements are never written"});
      return {};
    }
    if (number == 0) continue;
    if (batch.state.foreign_processes > 0 && timing.left_out.size() < 20) {
      timing.left_out.push_back(batch);
      continue;
    }
    batch_s.push_back(batch.batch_s);
    call_s.push_back(batch.call_s);
    timing.batches.push_back(batch);
    if (stats::enough(options_.stopping, batch_s, call_s)) break;
  }
  SOLMARK_STEP(server.stop_serving(options_.limits));
  timing.input_sets = c.sets_made - sets_before;
  measure::summarise(timing);
  c.trace.timing = std::move(timing);
  return {};
}

}  // namespace solmark::judge
