#include "judge/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "problem/safetensors.h"

namespace solmark::judge {
namespace {

// Blobs of one workload: found, and their header compared with the definition, before anything runs.
Status find_blobs(const problem::Definition& definition, const problem::ProblemFiles& files, Case& c) {
  for (std::size_t i = 0; i < definition.inputs.size(); ++i) {
    const auto& input = definition.inputs[i];
    auto it = c.workload.inputs.find(input.name);
    if (it == c.workload.inputs.end()) continue;
    const auto* blob = std::get_if<problem::SafetensorsInput>(&it->second);
    if (blob == nullptr) continue;
    std::string place = fmt::format("workload {}, input `{}`", c.workload.uuid, input.name);
    auto found = problem::find_blob(blob->path, files.blob_roots);
    if (!found.ok()) return found.error().in(place);
    if (!input.is_scalar()) {
      auto checked = problem::check_blob(*found, blob->tensor_key, input.dtype, c.inputs.tensors[i].shape);
      if (!checked.ok()) return checked.error().in(place);
    }
    c.blobs[input.name] = *found;
  }
  return success();
}

Result<Case> make_case(const problem::Definition& definition, const problem::ProblemFiles& files,
                       problem::Workload workload) {
  Case c;
  c.workload = std::move(workload);
  SOLMARK_TRY(c.axes, problem::resolve_axes(definition, c.workload));
  SOLMARK_TRY(c.inputs, device::lay_out(definition.inputs, c.axes));
  SOLMARK_TRY(c.outputs, device::lay_out(definition.outputs, c.axes));
  SOLMARK_CHECK_OK(find_blobs(definition, files, c));
  c.trace.definition = definition.name;
  c.trace.workload_json = c.workload.json;
  c.trace.uuid = c.workload.uuid;
  return c;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

namespace {

Status read_solution(const EvalOptions& options, const problem::ProblemFiles& files, EvalInputs& out) {
  std::filesystem::path file = options.solution;
  if (file.empty() && files.solution) file = *files.solution;
  if (file.empty()) {
    return usage_error("no solution is named and the problem folder has none", "give --solution FILE");
  }
  SOLMARK_TRY(auto loaded, problem::load_solution(file));
  append(out.warnings, loaded.warnings);
  out.solution = std::move(loaded.solution);
  if (out.solution.definition == out.definition.name) return success();
  return input_error(fmt::format("the solution is for definition \"{}\", the problem is \"{}\"",
                                 out.solution.definition, out.definition.name),
                     file.string(), "name the right problem or mend the solution's `definition`");
}

// Cases of the workloads asked for, in the file's order.
Status read_cases(const EvalOptions& options, const problem::ProblemFiles& files,
                  std::vector<problem::Workload> workloads, EvalInputs& out) {
  std::vector<std::string> wanted = options.workloads;
  for (problem::Workload& workload : workloads) {
    if (!options.workloads.empty()) {
      auto it = std::find(wanted.begin(), wanted.end(), workload.uuid);
      if (it == wanted.end()) continue;
      wanted.erase(it);
    }
    SOLMARK_TRY(Case c, make_case(out.definition, files, std::move(workload)));
    out.cases.push_back(std::move(c));
  }
  if (!wanted.empty()) {
    return usage_error(fmt::format("no workload has the uuid {}", fmt::join(wanted, ", ")),
                       "see `solmark problems show` for the workloads of a problem");
  }
  if (out.cases.empty()) {
    return input_error("no workloads", files.workload.string(), "add one JSON object a line");
  }
  return success();
}

Result<EvalInputs> read_all(const EvalOptions& options, bool with_solution) {
  EvalInputs out;
  SOLMARK_TRY(problem::ProblemFiles files, problem::find_problem(options.problem));
  if (!options.workload_file.empty()) files.workload = options.workload_file;
  if (!options.config_file.empty()) files.config = options.config_file;
  const auto& environment = options.installation.environment;
  if (auto it = environment.find("FLASHINFER_TRACE_DIR"); it != environment.end()) {
    files.blob_roots.emplace_back(it->second);
  }
  SOLMARK_TRY(auto definition, problem::load_definition(files.definition));
  append(out.warnings, definition.warnings);
  out.definition = std::move(definition.definition);
  SOLMARK_TRY(auto workloads, problem::load_workloads(files.workload, out.definition));
  append(out.warnings, workloads.warnings);
  if (files.config) {
    SOLMARK_TRY(out.config, problem::load_config(*files.config));
    append(out.warnings, out.config.warnings);
  }
  if (with_solution) SOLMARK_CHECK_OK(read_solution(options, files, out));
  SOLMARK_CHECK_OK(read_cases(options, files, std::move(workloads.workloads), out));
  return out;
}

}  // namespace

Result<EvalInputs> read_inputs(const EvalOptions& options) {
  return read_all(options, options.seal_file.empty());
}
Result<EvalInputs> read_problem_inputs(const EvalOptions& options) { return read_all(options, false); }

namespace {

// One trace into the baseline; one that did not pass is no part of it.
Status add_trace(const Json& trace, const std::string& place, Baseline& out) {
  std::string solution;
  std::string uuid;
  double latency_ms = 0;
  try {
    const Json& evaluation = trace.at("evaluation");
    if (evaluation.at("status") != "PASSED") return success();
    latency_ms = evaluation.at("performance").at("latency_ms").get<double>();
    uuid = trace.at("workload").at("uuid").get<std::string>();
    if (trace.at("solution").is_string()) solution = trace.at("solution").get<std::string>();
  } catch (const Json::exception&) {
    return input_error("is not a trace with a status, a latency and a workload uuid", place,
                       "give a file written by `solmark eval -o`");
  }
  if (!std::isfinite(latency_ms) || latency_ms <= 0) {
    return input_error(fmt::format("latency_ms {} is no time", latency_ms), place,
                       "give a file written by `solmark eval -o`");
  }
  if (!out.t_s.empty() && solution != out.name) {
    return input_error(fmt::format("a trace of solution \"{}\" after those of \"{}\"", solution, out.name),
                       place, "give the traces of one solution: they are its t_b");
  }
  out.name = solution;
  out.t_s[uuid] = latency_ms * 1e-3;
  return success();
}

}  // namespace

Result<Baseline> decode_baseline(const std::string& text, const std::string& source) {
  Baseline out;
  std::istringstream in(text);
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    SOLMARK_TRY(Json trace, parse_json(line, source, kPythonJson, number));
    SOLMARK_CHECK_OK(add_trace(trace, fmt::format("{}:{}", source, number), out));
  }
  if (out.t_s.empty()) return input_error("holds no trace that PASSED", source);
  return out;
}

Result<Baseline> read_baseline(const std::filesystem::path& file) {
  SOLMARK_TRY(std::string text, read_file(file));
  return decode_baseline(text, file.string());
}

}  // namespace solmark::judge
