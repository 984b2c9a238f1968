#include "judge/trace.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace solmark::judge {
namespace {

constexpr std::array kNames = {
    "PASSED",        "INVALID_REFERENCE", "INCORRECT_SHAPE", "INCORRECT_DTYPE", "INCORRECT_NUMERICAL",
    "RUNTIME_ERROR", "COMPILE_ERROR",     "TIMEOUT",         "REWARD_HACK",     "INFRA_ERROR"};

// JSON has no infinities: they become null, and the counts of non-finite values say why.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json nanoseconds(double seconds) { return number(seconds * 1e9); }

Json correctness_json(const Trace& trace) {
  stats::CompareCounts all;
  for (const OutputRecord& output : trace.outputs) stats::merge(all, output.counts, 0);
  return Json{{"max_relative_error", all.max_relative_error},
              {"max_absolute_error", all.max_absolute_error},
              {"has_nan", all.got_nan + all.expected_nan > 0},
              {"has_inf", all.got_inf + all.expected_inf > 0},
              {"extra", nullptr}};
}

Json outputs_json(const Trace& trace) {
  Json out = Json::array();
  for (const OutputRecord& o : trace.outputs) {
    const auto& c = o.counts;
    Json ulp = Json::object();
    const std::array<const char*, stats::kUlpBuckets> buckets = {"0",    "1",      "2",         "3-4",
                                                                 "5-16", "17-256", "257-65536", "more"};
    for (std::size_t i = 0; i < buckets.size(); ++i) ulp[buckets[i]] = c.ulp[i];
    out.push_back(Json{
        {"name", o.name},
        {"elements", c.elements},
        {"matched", c.matched},
        {"matched_ratio_min", o.matched_ratio_min},
        {"max_absolute_error", c.max_absolute_error},
        {"max_relative_error", c.max_relative_error},
        {"worst",
         {{"index", o.worst_index}, {"got", number(c.worst_got)}, {"expected", number(c.worst_expected)}}},
        {"nan", c.got_nan},
        {"inf", c.got_inf},
        {"ulp", std::move(ulp)}});
  }
  return out;
}

Json state_json(const device::RunState& s) {
  auto known = [](double v) { return v < 0 ? Json(nullptr) : Json(v); };
  return Json{{"sm_clock_hz", known(s.sm_clock_hz)},
              {"memory_clock_hz", known(s.memory_clock_hz)},
              {"temperature_c", known(s.temperature_c)},
              {"power_w", known(s.power_w)},
              {"throttle_reasons", s.throttle_reasons < 0 ? Json(nullptr) : Json(s.throttle_reasons)}};
}

Json batches_json(const std::vector<measure::Batch>& batches) {
  Json out = Json::array();
  for (const auto& b : batches) {
    out.push_back(Json{{"batch_ns", nanoseconds(b.batch_s)},
                       {"empty_ns", nanoseconds(b.empty_s)},
                       {"call_ns", nanoseconds(b.call_s)},
                       {"state", state_json(b.state)}});
  }
  return out;
}

Json machine_json(const device::DeviceInfo& m) {
  return Json{{"device", m.kind},
              {"name", m.name},
              {"driver", m.driver},
              {"compute_capability", m.compute_capability},
              {"multiprocessors", m.multiprocessors},
              {"memory_bytes", m.memory_bytes},
              {"last_level_cache_bytes", m.last_level_cache_bytes}};
}

Json solmark_json(const Trace& trace) {
  Json s = Json::object();
  const auto& t = trace.timing;
  s["t_ns"] = t ? nanoseconds(t->t_s) : Json(nullptr);
  s["t_ci_ns"] = t ? Json::array({nanoseconds(t->interval.lo), nanoseconds(t->interval.hi)}) : Json(nullptr);
  s["mode"] = trace.mode.empty() ? Json(nullptr) : Json(trace.mode);
  if (!trace.why_live.empty()) s["why_live"] = trace.why_live;
  if (trace.live_graph_s) s["live_graph_ns"] = nanoseconds(*trace.live_graph_s);
  const auto& b = trace.bound;
  s["t_sol_ns"] = b ? nanoseconds(b->t_sol_s) : Json(nullptr);
  s["level"] = b ? Json(b->level) : Json(nullptr);
  s["limiter"] = b ? Json(b->limiter) : Json(nullptr);
  s["sol_score"] = trace.sol_score ? Json(*trace.sol_score) : Json(nullptr);
  s["baseline"] = trace.baseline_s
                      ? Json{{"source", trace.baseline}, {"t_b_ns", nanoseconds(*trace.baseline_s)}}
                      : Json(nullptr);
  if (b) {
    Json levels = Json::object();
    for (const auto& [name, seconds] : b->levels_s) levels[name + "_ns"] = nanoseconds(seconds);
    s["bound"] = Json{{"arch", b->arch},
                      {"clock", b->clock},
                      {"levels", std::move(levels)},
                      {"io_only_ops", b->io_only_ops}};
  }
  s["batches"] = t ? batches_json(t->batches) : Json::array();
  if (t) {
    s["batches_left_out"] = batches_json(t->left_out);
    s["slots"] = t->slots;
    s["slots_exceed_cache"] = t->slots_exceed_cache;
    s["cache"] = t->warm ? "warm" : "cold";
    s["input_sets"] = t->input_sets;
    s["ci_coverage"] = t->interval.covered;
    s["scaled_mad_ns"] = nanoseconds(t->scaled_mad_s);
  }
  s["outputs"] = outputs_json(trace);
  Json findings = Json::array();
  for (const Finding& f : trace.findings) {
    findings.push_back(Json{{"id", f.id}, {"severity", f.severity}, {"message", f.message}});
  }
  s["findings"] = std::move(findings);
  s["machine"] = machine_json(trace.machine);
  s["seed"] = trace.seed;
  if (trace.profile) s["profile"] = *trace.profile;
  Json spent = Json::object();
  for (const auto& [step, seconds] : trace.spent_s) spent[step + "_s"] = seconds;
  s["spent"] = std::move(spent);
  return s;
}

}  // namespace

std::string status_name(TraceStatus status) { return kNames[static_cast<std::size_t>(status)]; }
std::optional<TraceStatus> status_from_name(const std::string& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<TraceStatus>(i);
  }
  return std::nullopt;
}

Json trace_json(const Trace& trace) {
  Json libs = Json::object();
  for (const auto& [name, version] : trace.libraries) libs[name] = version;
  // SOL-ExecBench's reader wants: PASSED with both, INCORRECT_NUMERICAL with correctness only, others with
  // neither.
  const bool passed = trace.status == TraceStatus::kPassed;
  const bool compared = passed || trace.status == TraceStatus::kIncorrectNumerical;
  Json performance = nullptr;
  if (passed && trace.timing) {
    double reference = trace.reference_s.value_or(0);
    performance = Json{
        {"latency_ms", trace.timing->t_s * 1e3},
        {"reference_latency_ms", reference * 1e3},
        {"speedup_factor", reference > 0 && trace.timing->t_s > 0 ? reference / trace.timing->t_s : 0.0}};
  }
  auto workload = parse_json(trace.workload_json, "workload", kPythonJson);
  return Json{{"definition", trace.definition},
              {"workload", workload.ok() ? std::move(*workload) : Json::object()},
              {"solution", trace.solution},
              {"evaluation",
               {{"status", status_name(trace.status)},
                {"environment", {{"hardware", trace.hardware}, {"libs", std::move(libs)}}},
                {"timestamp", trace.timestamp},
                {"log", trace.log},
                {"correctness", compared ? correctness_json(trace) : Json(nullptr)},
                {"performance", std::move(performance)},
                {"solmark", solmark_json(trace)}}}};
}

}  // namespace solmark::judge
