// The record of one evaluation of (definition, workload, solution, machine): SOL-ExecBench's trace with one
// added object, evaluation.solmark. One JSON line each; one for every workload under all circumstances.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "device/device.h"
#include "measure/timing.h"
#include "stats/compare.h"

namespace solmark::judge {

enum class TraceStatus {
  kPassed,
  kInvalidReference,
  kIncorrectShape,
  kIncorrectDtype,
  kIncorrectNumerical,
  kRuntimeError,
  kCompileError,
  kTimeout,
  kRewardHack,
  kInfraError,  // ours: never booked on the candidate
};
std::string status_name(TraceStatus status);
std::optional<TraceStatus> status_from_name(const std::string& name);

// Evidence that something is not what it seems.
struct Finding {
  std::string id;        // "faster_than_bound", "unsealable", "relies_on_zeroed_outputs", …
  std::string severity;  // "note", "warning", "error"
  std::string message;
};

// One output, over all checked calls.
struct OutputRecord {
  std::string name;
  stats::CompareCounts counts;   // summed over calls
  double matched_ratio_min = 1;  // of a single call
  std::string worst_index;       // "[3, 17]"
};

struct BoundRecord {
  std::string arch;
  std::string clock;
  double t_sol_s = 0;
  std::string level;
  std::string limiter;
  std::vector<std::pair<std::string, double>> levels_s;  // "L0" -> seconds
  std::vector<std::string> io_only_ops;
};

struct Trace {
  std::string definition;
  std::string workload_json;  // as written
  std::string uuid;
  std::string solution;
  TraceStatus status = TraceStatus::kInfraError;
  std::string log;
  std::string timestamp;  // local time, ISO 8601 without zone, as in SOL-ExecBench
  std::string hardware;
  std::vector<std::pair<std::string, std::string>> libraries;
  std::vector<OutputRecord> outputs;  // set when outputs were compared
  std::optional<measure::Timing> timing;
  std::optional<double> reference_s;  // the reference's own eager time
  std::string mode;                   // "sealed", "live", or empty when nothing was timed
  std::string why_live;
  std::optional<double> live_graph_s;  // one call in the worker's own graph, when asked for
  std::optional<BoundRecord> bound;
  std::optional<double> sol_score;
  std::optional<double> baseline_s;
  std::string baseline;  // "reference" or the baseline solution's name
  std::vector<Finding> findings;
  device::DeviceInfo machine;
  std::uint64_t seed = 0;
  std::shared_ptr<Json> profile;                        // kernels of one call, when asked for
  std::vector<std::pair<std::string, double>> spent_s;  // where the wall time of this workload went
};

Json trace_json(const Trace& trace);

}  // namespace solmark::judge
