// Everything `eval` can be asked for; the command line fills it in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "judge/installation.h"
#include "judge/limits.h"
#include "stats/compare.h"
#include "stats/summary.h"

namespace solmark::judge {

struct EvalOptions {
  std::filesystem::path problem;
  std::filesystem::path solution;       // empty: the problem folder's solution.json
  std::filesystem::path workload_file;  // empty: the problem folder's workload.jsonl
  std::filesystem::path config_file;    // empty: the problem folder's config.json, if any
  std::filesystem::path seal_file;      // judge these sealed calls instead of a solution
  std::filesystem::path seal_output;    // write the sealed calls here and judge nothing
  std::filesystem::path baseline_file;  // traces of another solution: t_b
  std::string device = "cpu";
  std::string arch;                    // name or file; empty: by the device
  std::string clock = "max";           // clock policy of the bound
  std::vector<std::string> workloads;  // uuids; empty: all
  stats::CompareRule rule = stats::CompareRule::kSolExecbench;
  stats::StoppingRule stopping;
  std::size_t sets_per_batch = 2;  // fresh input sets in each batch
  std::size_t max_slots = 1024;
  bool warm = false;
  bool live_only = false;       // do not seal
  bool require_sealed = false;  // what cannot be sealed is a fault
  bool compare_live = false;    // also time the worker's own graph of the calls that were sealed
  bool profile = false;         // list the kernels of one call (sealed only)
  bool time_reference = true;
  std::optional<std::uint64_t> seed;  // for repeating an evaluation; else drawn from the system
  Limits limits;
  Installation installation;
};

}  // namespace solmark::judge
