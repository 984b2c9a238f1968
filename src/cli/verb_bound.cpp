#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "arch/registry.h"
#include "base/files.h"
#include "base/json.h"
#include "bound/bound.h"
#include "bound/bound_json.h"
#include "bound/explain.h"
#include "cli/verbs.h"
#include "device/device.h"
#include "graph/graph_json.h"
#include "judge/inputs.h"
#include "judge/installation.h"
#include "oracle/oracle.h"
#include "report/verdict_table.h"

namespace solmark::cli {
namespace fs = std::filesystem;
namespace {

struct NamedGraph {
  std::string name;  // the workload's uuid, or the file
  graph::OpGraph graph;
};

// A recorded graph is a .json file with the schema's name in it; everything else is a problem.
bool is_graph_file(const std::string& target) {
  if (fs::path(target).extension() != ".json" || !fs::is_regular_file(target)) return false;
  auto json = read_json(target);
  return json.ok() && json->is_object() && json->contains("ops") && json->contains("storages");
}

Result<std::vector<NamedGraph>> record_graphs(const BoundCommand& command, const World& world) {
  judge::EvalOptions options;
  SOLMARK_TRY(options.installation, judge::find_installation(world.environment, command.python));
  options.problem = command.target;
  options.workloads = command.workloads;
  SOLMARK_TRY(judge::EvalInputs in, judge::read_problem_inputs(options));
  for (const auto& warning : in.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  oracle::OracleOptions oracle_options;
  oracle_options.python = options.installation.python;
  oracle_options.package_root = options.installation.python_root;
  oracle_options.environment = judge::child_environment(options.installation);
  oracle_options.device = command.device == "cuda" ? "cuda:0" : command.device;
  SOLMARK_TRY(oracle::Oracle oracle, oracle::Oracle::start(oracle_options));
  SOLMARK_TRY(auto load_fault, oracle.load(in.definition));
  if (load_fault) return input_error(load_fault->message, in.definition.file.string(), "mend the reference");
  std::vector<NamedGraph> out;
  for (judge::Case& c : in.cases) {
    SOLMARK_TRY(auto fault,
                oracle.workload(in.definition, c.workload, c.axes, c.inputs, c.outputs, c.blobs, nullptr));
    if (fault)
      return input_error(fault->message, in.definition.file.string(), "mend the workload or the reference");
    SOLMARK_TRY(auto recorded, oracle.record());
    if (recorded.fault)
      return input_error(recorded.fault->message, in.definition.file.string(), "mend the reference");
    if (!command.save_graph.empty()) {
      fs::path file = fs::path(command.save_graph) / (in.definition.name + "." + c.workload.uuid + ".json");
      SOLMARK_CHECK_OK(write_file(file, to_json_line(*recorded.graph) + "\n"));
    }
    SOLMARK_TRY(graph::OpGraph graph, graph::graph_from_json(*recorded.graph, "recorded reference"));
    out.push_back({c.workload.uuid, std::move(graph)});
  }
  return out;
}

std::string short_row(const std::string& name, const bound::Bound& b, int level) {
  const auto& chosen = b.levels[static_cast<std::size_t>(level)];
  return fmt::format("{:<36}  {:<12} {:>10}  {:>10}  {:>10}  {:<10} {}\n", name, b.arch,
                     report::duration(chosen.t_s), report::duration(b.levels[0].t_s),
                     report::duration(b.levels[2].t_s), chosen.limiter, b.label);
}

}  // namespace

Result<int> bound(const BoundCommand& command, const World& world) {
  std::vector<arch::Arch> archs;
  for (const std::string& name : command.archs) {
    SOLMARK_TRY(arch::Arch found, arch::find_arch(name));
    archs.push_back(std::move(found));
  }
  bound::BoundOptions options;
  SOLMARK_TRY(options.clock, arch::clock_from_text(command.clock));
  options.cache = command.warm ? bound::CacheState::kWarm : bound::CacheState::kCold;
  std::vector<NamedGraph> graphs;
  if (is_graph_file(command.target)) {
    SOLMARK_TRY(graph::OpGraph graph, graph::read_graph(command.target));
    graphs.push_back({fs::path(command.target).filename().string(), std::move(graph)});
  } else {
    SOLMARK_TRY(graphs, record_graphs(command, world));
  }
  if (!command.json && !command.explain) {
    std::printf("%s", fmt::format("{:<36}  {:<12} {:>10}  {:>10}  {:>10}  {:<10} {}\n", "workload", "arch",
                                  "bound", "L0", "L2", "limiter", "level")
                          .c_str());
  }
  for (const NamedGraph& g : graphs) {
    for (const arch::Arch& a : archs) {
      SOLMARK_TRY(bound::Bound computed, bound::compute_bound(g.graph, a, options));
      if (command.json) {
        Json line = bound::bound_json(computed);
        line["workload"] = g.name;
        line["chosen_level"] = command.level;
        std::printf("%s\n", to_json_line(line).c_str());
      } else if (command.explain) {
        std::printf("%s\n%s\n", g.name.c_str(), bound::bound_table(computed).c_str());
      } else {
        std::printf("%s", short_row(g.name, computed, command.level).c_str());
      }
    }
  }
  return 0;
}

}  // namespace solmark::cli
