// One binding of the variable axes, the input kinds and the tolerance. A workload.jsonl holds one a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "problem/definition.h"

namespace solmark::problem {

struct RandomInput {};
struct CustomInput {};
struct ScalarInput {
  std::variant<std::int64_t, double, bool> value;
};
struct SafetensorsInput {
  std::string path;  // as written
  std::string tensor_key;
};
using InputSource = std::variant<RandomInput, CustomInput, ScalarInput, SafetensorsInput>;

struct Tolerance {  // SOL-ExecBench's defaults
  double max_atol = 0.01;
  double max_rtol = 0.01;
  double required_matched_ratio = 0.99;
  std::optional<double> max_error_cap;
  bool allow_negative_inf = false;
};

struct Workload {
  std::string uuid;
  std::map<std::string, std::int64_t> axes;
  std::map<std::string, InputSource> inputs;  // an input without an entry is random
  Tolerance tolerance;
  std::string json;   // the workload as written, one line: it goes into the Trace whole
  std::string where;  // "file:line", for errors found later
};

struct LoadedWorkloads {
  std::vector<Workload> workloads;
  std::vector<std::string> warnings;
};
// Both workload.jsonl (bare workloads) and FlashInfer-Trace workload traces ({"definition","workload",…}) are
// read.
Result<LoadedWorkloads> load_workloads(const std::filesystem::path& file, const Definition& definition);
Result<LoadedWorkloads> decode_workloads(std::string_view text, const std::string& source,
                                         const Definition& definition);

// Constants, then the workload's axes, then expressions in document order; checks that every `var` has a
// value and that the definition's constraints hold.
Result<AxisValues> resolve_axes(const Definition& definition, const Workload& workload);

// A blob as SOL-ExecBench finds it: each root in order, the path whole, then with leading components stripped
// one by one; absolute paths as they are. Never outside a root by "..".
Result<std::filesystem::path> find_blob(const std::string& path,
                                        const std::vector<std::filesystem::path>& roots);

}  // namespace solmark::problem
