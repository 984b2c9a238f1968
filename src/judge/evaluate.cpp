#include "judge/evaluate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "build/build.h"
#include "judge/bounds.h"
#include "judge/inputs.h"
#include "judge/recorder.h"
#include "judge/runner.h"
#include "judge/score.h"
#include "judge/seal_file.h"
#include "judge/spent.h"

namespace solmark::judge {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::uint64_t> draw_secret(const EvalOptions& options) {
  if (options.seed) return *options.seed;
  std::uint64_t secret = 0;
  if (getrandom(&secret, sizeof secret, 0) != static_cast<ssize_t>(sizeof secret)) {
    return machine_error("the system gives no random numbers");
  }
  return secret >> 11;  // exact in a JSON number
}

std::string local_time() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", parts);
}

class Evaluation {
 public:
  Evaluation(const EvalOptions& options, const EvalCallbacks& callbacks)
      : options_(options), callbacks_(callbacks) {}
  Result<EvalSummary> run();

 private:
  Status open();
  [[nodiscard]] oracle::OracleOptions oracle_options() const;
  Step ensure_oracle();
  void build_candidate();
  void prepare(Case& c);
  void record(Case& c);
  void add_bound(Case& c);
  void doubt_probe(Case& c);
  Step try_out(Case& c);
  void seal_or_measure(Case& c);
  void compare_live(Case& c);
  void measure_live(Case& c);
  Step import_scratch(const Case& c, std::vector<std::unique_ptr<device::Region>>& scratch);
  Step replay(Case& c);
  void measure_sealed(Case& c);
  void measure_sealed_cases();
  Step ensure_worker(Case& c, Worker& worker, bool sealing);
  Step retry_live(Case& c);
  Step load_replayer(Case& c, bool trace_graphs = false);
  Step profile(Case& c, const std::vector<std::vector<OutputPlace>>* places,
               const std::vector<const device::Region*>& regions);
  void settle(Case& c, const Step& fault);
  void finish(Case& c);
  void fail_all(TraceStatus status, const std::string& log);
  void emit();
  [[nodiscard]] std::string device_name() const {
    return options_.device == "cuda" ? "cuda:0" : options_.device;
  }
  void say(const std::string& line) const {
    if (callbacks_.progress) callbacks_.progress(line);
  }

  const EvalOptions& options_;
  const EvalCallbacks& callbacks_;
  EvalInputs in_;
  std::unique_ptr<device::Device> device_;
  std::optional<oracle::Oracle> oracle_;
  std::optional<Recorder> recorder_;
  std::optional<build::Artefact> artefact_;
  std::optional<arch::Arch> arch_;
  bool probed_again_ = false;
  Baseline baseline_;
  std::optional<Runner> runner_;
  Worker worker_;
  Worker live_worker_;  // for --compare-live
  Replayer replayer_;
  SealFile seal_file_;
  SealFileWriter seal_writer_;
  double build_s_ = 0;
  std::size_t emitted_ = 0;
  EvalSummary summary_;
};

Status Evaluation::open() {
  if (auto clock = arch::clock_from_text(options_.clock); !clock.ok()) return clock.error();
  SOLMARK_TRY(in_, read_inputs(options_));
  if (callbacks_.warning) {
    for (const std::string& warning : in_.warnings) callbacks_.warning(warning);
  }
  if (!options_.baseline_file.empty()) {
    SOLMARK_TRY(baseline_, read_baseline(options_.baseline_file));
  }
  // Both import PyTorch while the device is opened and the candidate built.
  SOLMARK_TRY(oracle::Oracle started, oracle::Oracle::spawn(oracle_options()));
  oracle_.emplace(std::move(started));
  if (options_.device != "cpu") recorder_.emplace(oracle_options(), in_.definition);
  SOLMARK_TRY(device_, device::open_device(options_.device));
  if (!options_.seal_file.empty()) {
    SOLMARK_TRY(seal_file_, read_seal_file(options_.seal_file));
    SOLMARK_CHECK_OK(check_seal_file(seal_file_, in_.definition, device_->info()));
  }
  std::string why;
  SOLMARK_TRY(arch_, choose_arch(options_, device_->info(), why));
  if (!arch_ && callbacks_.warning) callbacks_.warning(why);
  SOLMARK_TRY(std::uint64_t secret, draw_secret(options_));
  for (Case& c : in_.cases) {
    c.trace.solution = options_.seal_file.empty() ? in_.solution.name : seal_file_.solution;
    c.trace.hardware = device_->info().name;
    c.trace.machine = device_->info();
    c.trace.seed = secret;
  }
  SOLMARK_CHECK_OK(oracle_->greet());
  runner_.emplace(options_, in_.definition, *device_, *oracle_, secret);
  return success();
}

oracle::OracleOptions Evaluation::oracle_options() const {
  oracle::OracleOptions options;
  options.python = options_.installation.python;
  options.package_root = options_.installation.python_root;
  options.environment = child_environment(options_.installation);
  options.device = device_name();
  options.reference_limit = options_.limits.reference;
  return options;
}

void Evaluation::fail_all(TraceStatus status, const std::string& log) {
  for (Case& c : in_.cases) {
    if (c.done) continue;
    c.trace.status = status;
    c.trace.log = log;
    finish(c);
  }
}

void Evaluation::build_candidate() {
  auto start = Clock::now();
  say("building " + in_.solution.name);
  build::BuildRequest request;
  request.solution = in_.solution;
  request.device_kind = device_->info().kind;
  request.compute_capability = device_->info().compute_capability;
  request.cache_folder = options_.installation.cache / "build";
  request.time_limit = options_.limits.compile;
  request.python = options_.installation.python;
  request.python_root = options_.installation.python_root;
  auto outcome = build::build(request);
  build_s_ = std::chrono::duration<double>(Clock::now() - start).count();
  if (!outcome.ok()) return fail_all(TraceStatus::kInfraError, outcome.error().text());
  if (!outcome->ok) {
    std::string head = outcome->timed_out ? "the compiler took longer than its time limit\n" : "";
    return fail_all(TraceStatus::kCompileError, head + outcome->log);
  }
  artefact_ = std::move(outcome->artefact);
}

// A reference that hung or ended the oracle costs its own workload; the next one gets a new oracle.
Step Evaluation::ensure_oracle() {
  if (!oracle_->gone()) return {};
  SOLMARK_STEP_TRY(oracle::Oracle fresh, oracle::Oracle::start(oracle_options()));
  *oracle_ = std::move(fresh);  // in place: the runner keeps its address
  SOLMARK_STEP_TRY(auto fault, oracle_->load(in_.definition));
  if (fault) return Fault{TraceStatus::kInvalidReference, fault->message, false};
  return {};
}

// The parts that need no candidate: input sets, the reference's time.
void Evaluation::prepare(Case& c) {
  Step fault;
  {
    Spent spent(c.trace, "inputs_and_reference");
    fault = ensure_oracle();
    if (!fault) fault = runner_->stage(c);
    if (!fault && recorder_ && arch_) recorder_->ask(c);
    if (!fault && options_.time_reference && in_.config.benchmark_reference)
      fault = runner_->time_reference(c);
  }
  if (fault) settle(c, fault);
}

// The graph that the bound is computed from: the recorder's, if it can. On a CPU there is none, and no
// process but the candidate's may be busy while the clock runs: then just before the first clock of the
// workload.
void Evaluation::record(Case& c) {
  if (!arch_ || c.graph) return;
  Spent spent(c.trace, "bound");
  if (recorder_) c.graph = recorder_->take(c);
  if (c.graph) return;
  auto graph = oracle_->record();
  if (!graph.ok() || graph->fault) {
    std::string words = graph.ok() ? graph->fault->message : graph.error().text();
    c.trace.findings.push_back({"no_bound", "warning", "the reference could not be recorded: " + words});
    return;
  }
  c.graph = graph->graph;
}

// After the measurement, which decides how many slots the batch form of the bound is for.
void Evaluation::add_bound(Case& c) {
  if (!c.graph || !arch_) return;
  auto bound = bound_of(*c.graph, *arch_, options_, c.trace.timing ? c.trace.timing->slots : 1);
  if (bound.ok()) {
    c.trace.bound = std::move(*bound);
  } else {
    c.trace.findings.push_back({"no_bound", "warning", bound.error().text()});
  }
}

// A bound from a probe is as good as the moment of the probe. Before a candidate is said to have beaten it,
// the probe is repeated, once an evaluation.
void Evaluation::doubt_probe(Case& c) {
  const Trace& t = c.trace;
  if (probed_again_ || !options_.arch.empty() || device_->info().kind != "cpu") return;
  if (t.status != TraceStatus::kPassed || !t.timing || !t.bound || t.timing->t_s >= t.bound->t_sol_s) return;
  probed_again_ = true;
  auto higher = probe_again(options_, device_->info(), *arch_);
  if (!higher.ok()) return;
  arch_ = std::move(*higher);
  add_bound(c);
}

Step Evaluation::ensure_worker(Case& c, Worker& worker, bool sealing) {
  if (worker.started()) return {};
  Spent spent(c.trace, "worker_start");
  Step fault = worker.start(options_.installation, device_name(), *artefact_,
                            in_.solution.destination_passing_style, sealing, options_.limits);
  if (fault) worker.end();
  return fault;
}

// A few calls, and slots for as many as the measurement needs.
Step Evaluation::try_out(Case& c) {
  Spent spent(c.trace, "trial");
  double call_s = 0;
  SOLMARK_STEP(runner_->trial(c, worker_, call_s));
  return runner_->bind_slots(c, worker_, call_s);
}

void Evaluation::seal_or_measure(Case& c) {
  say(fmt::format("workload {}", c.trace.uuid));
  const bool sealing = device_->info().kind != "cpu" && !options_.live_only;
  Step fault = ensure_worker(c, worker_, sealing);
  if (!fault) fault = try_out(c);
  if (fault) {
    // A worker whose call failed may hold a broken device context or a half-served doorbell: the next
    // workload gets a fresh one.
    worker_.end();
    return settle(c, fault);
  }
  if (!sealing) return measure_live(c);
  std::variant<SealedCalls, Worker::Unsealable, Fault> sealed = [&] {
    Spent spent(c.trace, "seal");
    return worker_.seal(c.slots.count, options_.limits);
  }();
  if (auto* broken = std::get_if<Fault>(&sealed)) {
    worker_.end();
    return settle(c, *broken);
  }
  if (auto* unsealable = std::get_if<Worker::Unsealable>(&sealed)) {
    c.trace.why_live = unsealable->reason;
    if (options_.require_sealed) {
      return settle(c, Fault{TraceStatus::kRuntimeError, "cannot be sealed: " + unsealable->reason, false});
    }
    // A capture that failed leaves errors behind in the candidate's runtime: live, it starts anew.
    worker_.end();
    fault = retry_live(c);
    return settle(c, fault);
  }
  if (options_.compare_live) compare_live(c);
  c.sealed = std::move(std::get<SealedCalls>(sealed));
  if (!options_.seal_output.empty()) {
    Spent spent(c.trace, "save");
    auto added = seal_writer_.add(*device_, c);
    c.trace.mode = "sealed";
    settle(c, added.ok() ? Step() : Step(infra_fault(added.error())));
  }
}

// No verdict rests on it: a failure is a remark.
void Evaluation::compare_live(Case& c) {
  double call_s = 0;
  Step fault = ensure_worker(c, live_worker_, false);
  Spent spent(c.trace, "compare_live");
  if (!fault) fault = runner_->time_live_graph(c, live_worker_, call_s);
  if (!fault) {
    c.trace.live_graph_s = call_s;
    return;
  }
  c.trace.findings.push_back({"no_live_graph", "note", fault->words});
  live_worker_.end();
}

void Evaluation::measure_live(Case& c) {
  c.trace.mode = "live";
  if (!recorder_) record(c);
  Step fault = runner_->measure(c, worker_, nullptr, {});
  record(c);
  if (fault) worker_.end();
  settle(c, fault);
}

// Two passes, each on fresh contents and cold caches: the nodes in the process that was timed, the graph as a
// whole in a second one, which has CUPTI from its start. CUPTI leaves its mark on a process (0.3 us a node on
// an H200), so neither serves another case.
Step Evaluation::profile(Case& c, const std::vector<std::vector<OutputPlace>>* places,
                         const std::vector<const device::Region*>& regions) {
  Spent spent(c.trace, "profile");
  SOLMARK_STEP(runner_->refresh(c, places, regions));
  auto nodes = replayer_.profile(options_.limits, false);
  replayer_.end();
  if (!nodes.ok()) {
    c.trace.findings.push_back({"no_profile", "note", nodes.error().text()});
    return {};
  }
  SOLMARK_STEP(load_replayer(c, true));
  SOLMARK_STEP(runner_->refresh(c, places, regions));
  auto whole = replayer_.profile(options_.limits, true);
  replayer_.end();
  // The replay lists the whole batch; the trace keeps the first call's kernels and the batch's totals.
  const auto calls = std::max<std::size_t>(1, nodes->value("calls", std::size_t{1}));
  const auto activities = nodes->value("activities", std::size_t{0});
  Json first_call = Json::array();
  for (const Json& kernel : nodes->value("kernels", Json::array())) {
    if (first_call.size() >= activities / calls) break;
    first_call.push_back(kernel);
  }
  const auto per_call = [&](const Json& reply) {
    return reply.value("span_ns", 0.0) / static_cast<double>(calls);
  };
  Json profile{{"calls", calls}, {"span_ns_per_call", per_call(*nodes)}, {"kernels", std::move(first_call)}};
  if (whole.ok()) {
    profile["graph_ns_per_call"] = per_call(*whole);
  } else {
    c.trace.findings.push_back({"no_graph_time", "note", whole.error().text()});
  }
  c.trace.profile = std::make_shared<Json>(std::move(profile));
  return {};
}

// The sealed case's scratch memory as regions of the judge, after the slots' two.
Step Evaluation::import_scratch(const Case& c, std::vector<std::unique_ptr<device::Region>>& scratch) {
  for (const ScratchRegion& piece : c.sealed->scratch) {
    SOLMARK_STEP_TRY(Fd copy, piece.fd.duplicate());
    SOLMARK_STEP_TRY(auto imported, device_->import(std::move(copy), piece.address, piece.bytes));
    scratch.push_back(std::move(imported));
  }
  return {};
}

Step Evaluation::load_replayer(Case& c, bool trace_graphs) {
  const BindingView view{c.slots.inputs.get(), c.slots.outputs.get(), &c.inputs, &c.outputs,
                         c.slots.count,        c.scalars.get(),       &c.axes};
  return replayer_.load(options_.installation, device_name(), view, *c.sealed, options_.limits, trace_graphs);
}

// Loads the sealed calls into the replayer and measures them there; no candidate host code is alive.
Step Evaluation::replay(Case& c) {
  std::vector<std::unique_ptr<device::Region>> scratch;
  SOLMARK_STEP(import_scratch(c, scratch));
  std::vector<const device::Region*> regions = {c.slots.inputs.get(), c.slots.outputs.get()};
  for (const auto& region : scratch) regions.push_back(region.get());
  {
    Spent spent(c.trace, "replayer_load");
    SOLMARK_STEP(load_replayer(c));
  }
  const auto places = replayer_.output_places();  // a copy: the profile loads another replayer
  for (const auto& slot : places) {
    for (const OutputPlace& place : slot) {
      if (place.region >= 0 && static_cast<std::size_t>(place.region) < regions.size()) continue;
      return Fault{TraceStatus::kInfraError, "the Seal names an output in memory that is not there", true};
    }
  }
  const auto* own_places = places.empty() ? nullptr : &places;
  SOLMARK_STEP(runner_->measure(c, replayer_, own_places, regions));
  if (options_.profile) SOLMARK_STEP(profile(c, own_places, regions));
  return {};
}

void Evaluation::measure_sealed(Case& c) {
  c.trace.mode = "sealed";
  Step fault;
  {
    Spent spent(c.trace, "inputs_and_reference");
    fault = ensure_oracle();
    if (!fault) fault = runner_->restage(c);
  }
  if (!fault) fault = replay(c);
  record(c);
  // After any fault the next case gets a fresh process: this one may serve, hang, or hold a broken context.
  if (fault) replayer_.end();
  // A host that plans from input values is honest, but its work cannot be sealed: judged once more, live. So
  // is a Seal that cannot be rebuilt, which is our fault.
  bool worth_it = fault && (fault->status == TraceStatus::kIncorrectNumerical ||
                            fault->status == TraceStatus::kInfraError);
  if (worth_it && artefact_ && !options_.require_sealed) {
    Step live = retry_live(c);
    if (!live) {
      c.trace.why_live = "the sealed calls did not do on fresh inputs: " + fault->words;
      fault.reset();
    } else {
      c.trace.mode = "sealed";
    }
  }
  c.sealed.reset();
  settle(c, fault);
}

Step Evaluation::retry_live(Case& c) {
  c.sealed.reset();
  c.trace.mode = "live";
  Step fault = ensure_worker(c, worker_, false);
  if (!fault) fault = try_out(c);
  if (!fault) fault = runner_->measure(c, worker_, nullptr, {});
  if (!fault) record(c);
  worker_.end();
  return fault;
}

void Evaluation::measure_sealed_cases() {
  bool any = false;
  for (Case& c : in_.cases) any = any || (c.sealed && !c.done);
  if (!any) return;
  worker_.end();  // before the first clock starts
  live_worker_.end();
  for (Case& c : in_.cases) {
    if (c.sealed && !c.done) measure_sealed(c);
  }
}

void Evaluation::settle(Case& c, const Step& fault) {
  c.trace.status = fault ? fault->status : TraceStatus::kPassed;
  c.trace.log = fault ? fault->words : "";
  if (fault) {
    c.trace.timing.reset();
    if (fault->status != TraceStatus::kIncorrectNumerical) c.trace.outputs.clear();
  }
  finish(c);
}

void Evaluation::finish(Case& c) {
  Trace& t = c.trace;
  t.timestamp = local_time();
  t.libraries = oracle_ ? oracle_->libraries() : t.libraries;
  if (build_s_ > 0) t.spent_s.emplace_back("build", build_s_);
  if (auto it = baseline_.t_s.find(t.uuid); it != baseline_.t_s.end()) {
    t.baseline_s = it->second;
    t.baseline = baseline_.name;
  } else if (t.reference_s) {
    t.baseline_s = t.reference_s;
    t.baseline = "reference";
  }
  add_bound(c);
  doubt_probe(c);
  if (t.status == TraceStatus::kPassed && t.timing && t.bound) {
    if (t.timing->t_s < t.bound->t_sol_s) {
      t.findings.push_back(
          {"faster_than_bound", "error",
           fmt::format(
               "{:.4g} µs is below the bound of {:.4g} µs ({}): the work was not all done, or the bound or "
               "the arch file is wrong; there is no score",
               t.timing->t_s * 1e6, t.bound->t_sol_s * 1e6, t.bound->limiter)});
    } else if (t.baseline_s) {
      t.sol_score = sol_score(t.timing->t_s, t.bound->t_sol_s, *t.baseline_s);
    }
  }
  c.done = true;
  c.release();
  ++summary_.workloads;
  if (t.status == TraceStatus::kPassed) ++summary_.passed;
  emit();
}

void Evaluation::emit() {
  for (; emitted_ < in_.cases.size() && in_.cases[emitted_].done; ++emitted_) {
    if (callbacks_.trace) callbacks_.trace(in_.cases[emitted_].trace);
  }
}

Result<EvalSummary> Evaluation::run() {
  SOLMARK_CHECK_OK(open());
  if (options_.seal_file.empty()) build_candidate();
  if (artefact_ || !options_.seal_file.empty()) {
    // The oracle has been importing PyTorch while the candidate was built.
    auto loaded = oracle_->load(in_.definition);
    if (!loaded.ok()) return loaded.error();
    if (*loaded) fail_all(TraceStatus::kInvalidReference, (*loaded)->message);
  }
  SOLMARK_TRY(std::size_t available, device_->available_bytes());
  for (Case& c : in_.cases) {
    if (c.done) continue;
    if (!options_.seal_file.empty()) {
      // Before the first input set: the Seal was made with its scalars.
      if (Step fault = restore_sealed(seal_file_, *device_, c)) {
        settle(c, fault);
        continue;
      }
    }
    prepare(c);
    if (c.done) continue;
    if (c.sealed) {
      measure_sealed(c);
      continue;
    }
    seal_or_measure(c);
    // Sealed calls wait with their memory until the worker has been ended; not too many at once.
    auto left = device_->available_bytes();
    if (left.ok() && *left < available / 2) measure_sealed_cases();
  }
  measure_sealed_cases();
  worker_.end();
  if (!options_.seal_output.empty() && seal_writer_.size() > 0) {
    SOLMARK_CHECK_OK(
        seal_writer_.write(options_.seal_output, in_.definition.name, in_.solution.name, device_->info()));
  }
  return summary_;
}

}  // namespace

Result<EvalSummary> evaluate(const EvalOptions& options, const EvalCallbacks& callbacks) {
  return Evaluation(options, callbacks).run();
}

}  // namespace solmark::judge
