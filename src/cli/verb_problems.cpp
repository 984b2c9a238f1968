#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/verbs.h"
#include "device/layout.h"
#include "problem/definition.h"
#include "problem/safetensors.h"
#include "problem/solution.h"
#include "problem/workload.h"

namespace solmark::cli {
namespace fs = std::filesystem;
namespace {

struct Problem {
  problem::ProblemFiles files;
  problem::Definition definition;
  std::vector<problem::Workload> workloads;
  std::vector<std::string> warnings;
};

Result<Problem> read_problem(const fs::path& path) {
  Problem out;
  SOLMARK_TRY(out.files, problem::find_problem(path));
  SOLMARK_TRY(auto definition, problem::load_definition(out.files.definition));
  out.warnings = definition.warnings;
  out.definition = std::move(definition.definition);
  SOLMARK_TRY(auto workloads, problem::load_workloads(out.files.workload, out.definition));
  out.warnings.insert(out.warnings.end(), workloads.warnings.begin(), workloads.warnings.end());
  out.workloads = std::move(workloads.workloads);
  if (out.files.config) {
    SOLMARK_TRY(auto config, problem::load_config(*out.files.config));
    out.warnings.insert(out.warnings.end(), config.warnings.begin(), config.warnings.end());
  }
  return out;
}

// What `check` does beyond reading: axes, shapes, blobs of every workload, and every solution.json below the
// folder.
Status check_everything(const fs::path& path, Problem& problem) {
  for (const auto& workload : problem.workloads) {
    SOLMARK_TRY(auto axes, problem::resolve_axes(problem.definition, workload));
    SOLMARK_TRY(auto inputs, device::lay_out(problem.definition.inputs, axes));
    SOLMARK_TRY(auto outputs, device::lay_out(problem.definition.outputs, axes));
    for (std::size_t i = 0; i < problem.definition.inputs.size(); ++i) {
      const auto& input = problem.definition.inputs[i];
      auto it = workload.inputs.find(input.name);
      const auto* blob =
          it == workload.inputs.end() ? nullptr : std::get_if<problem::SafetensorsInput>(&it->second);
      if (blob == nullptr) continue;
      std::string place = fmt::format("workload {}, input `{}`", workload.uuid, input.name);
      auto file = problem::find_blob(blob->path, problem.files.blob_roots);
      if (!file.ok()) return file.error().in(place);
      if (input.is_scalar()) continue;
      auto checked = problem::check_blob(*file, blob->tensor_key, input.dtype, inputs.tensors[i].shape);
      if (!checked.ok()) return checked.error().in(place);
    }
  }
  if (!fs::is_directory(path)) return success();
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.path().filename() != "solution.json") continue;
    SOLMARK_TRY(auto solution, problem::load_solution(entry.path()));
    problem.warnings.insert(problem.warnings.end(), solution.warnings.begin(), solution.warnings.end());
    if (solution.solution.definition != problem.definition.name) {
      return input_error(fmt::format("is for definition \"{}\", not \"{}\"", solution.solution.definition,
                                     problem.definition.name),
                         entry.path().string());
    }
  }
  return success();
}

std::string shape_text(const problem::TensorSpec& tensor) {
  return tensor.is_scalar() ? "scalar" : fmt::format("[{}]", fmt::join(*tensor.shape, ", "));
}

Json tensor_json(const problem::TensorSpec& tensor) {
  Json shape = nullptr;
  if (tensor.shape) shape = *tensor.shape;
  return Json{{"name", tensor.name},
              {"shape", shape},
              {"dtype", std::string(problem::dtype_name(tensor.dtype))},
              {"description", tensor.description}};
}

}  // namespace

Result<int> problems_list(const std::string& folder, bool json) {
  if (!fs::is_directory(folder)) return input_error("is not a folder", folder);
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "definition.json") found.push_back(entry.path().parent_path());
  }
  std::sort(found.begin(), found.end());
  for (const auto& path : found) {
    auto problem = read_problem(path);
    if (json) {
      Json line{{"path", path.string()}};
      if (problem.ok()) {
        line["name"] = problem->definition.name;
        line["op_type"] = problem->definition.op_type;
        line["workloads"] = problem->workloads.size();
      } else {
        line["error"] = problem.error().text();
      }
      std::printf("%s\n", to_json_line(line).c_str());
    } else if (problem.ok()) {
      std::printf("%s\n", fmt::format("{:<28} {:<12} {:>3} workloads  {}", problem->definition.name,
                                      problem->definition.op_type, problem->workloads.size(), path.string())
                              .c_str());
    } else {
      std::printf(
          "%s\n",
          fmt::format("{:<28} unreadable: {}", path.filename().string(), problem.error().text()).c_str());
    }
  }
  return 0;
}

Result<int> problems_show(const std::string& path, bool json) {
  SOLMARK_TRY(Problem p, read_problem(path));
  if (json) {
    Json out{{"name", p.definition.name},
             {"op_type", p.definition.op_type},
             {"description", p.definition.description}};
    Json inputs = Json::array();
    Json outputs = Json::array();
    Json workloads = Json::array();
    for (const auto& t : p.definition.inputs) inputs.push_back(tensor_json(t));
    for (const auto& t : p.definition.outputs) outputs.push_back(tensor_json(t));
    for (const auto& w : p.workloads) {
      SOLMARK_TRY(auto axes, problem::resolve_axes(p.definition, w));
      workloads.push_back(Json{{"uuid", w.uuid}, {"axes", axes}});
    }
    out["inputs"] = std::move(inputs);
    out["outputs"] = std::move(outputs);
    out["workloads"] = std::move(workloads);
    std::printf("%s\n", to_json_line(out).c_str());
    return 0;
  }
  std::printf("%s\n%s\n\n", p.definition.name.c_str(), p.definition.description.c_str());
  for (const auto* group : {&p.definition.inputs, &p.definition.outputs}) {
    std::printf("%s\n", group == &p.definition.inputs ? "inputs" : "outputs");
    for (const auto& t : *group) {
      std::printf("%s\n", fmt::format("  {:<20} {:<18} {:<28} {}", t.name, problem::dtype_name(t.dtype),
                                      shape_text(t), t.description)
                              .c_str());
    }
  }
  std::printf("workloads\n");
  for (const auto& w : p.workloads) {
    SOLMARK_TRY(auto axes, problem::resolve_axes(p.definition, w));
    std::vector<std::string> parts;
    for (const auto& [name, value] : axes) parts.push_back(fmt::format("{}={}", name, value));
    std::printf("%s\n", fmt::format("  {}  {}", w.uuid, fmt::join(parts, " ")).c_str());
  }
  return 0;
}

Result<int> problems_check(const std::vector<std::string>& paths, bool json) {
  int bad = 0;
  for (const std::string& path : paths) {
    auto problem = read_problem(path);
    Status checked = problem.ok() ? check_everything(path, *problem) : Status(problem.error());
    if (!checked.ok()) ++bad;
    std::vector<std::string> warnings = problem.ok() ? problem->warnings : std::vector<std::string>();
    if (json) {
      Json line{{"problem", path}, {"ok", checked.ok()}, {"warnings", warnings}};
      if (!checked.ok()) line["error"] = checked.error().text();
      std::printf("%s\n", to_json_line(line).c_str());
      continue;
    }
    std::printf("%s  %s\n", checked.ok() ? "ok  " : "FAIL", path.c_str());
    if (!checked.ok()) std::printf("      %s\n", checked.error().text().c_str());
    for (const auto& warning : warnings) std::printf("      warning: %s\n", warning.c_str());
  }
  return bad == 0 ? 0 : 3;
}

}  // namespace solmark::cli
