// The files of an evaluation, read and checked before anything runs.
#pragma once

#include <string>
#include <vector>

#include "judge/case.h"
#include "judge/options.h"
#include "problem/definition.h"
#include "problem/solution.h"

namespace solmark::judge {

struct EvalInputs {
  problem::Definition definition;
  problem::Solution solution;
  problem::EvalConfig config;
  std::vector<Case> cases;
  std::vector<std::string> warnings;
};

// Reads the problem, the solution (unless only sealed calls are judged), and makes a Case of every workload
// asked for: axes resolved, tensors laid out, blobs found and their shape and dtype checked.
Result<EvalInputs> read_inputs(const EvalOptions& options);
// The same without a solution, for verbs that judge none.
Result<EvalInputs> read_problem_inputs(const EvalOptions& options);

// uuid -> seconds, from the traces of one solution that PASSED; `name` is the solution's. Of several traces
// of a workload the last one counts.
struct Baseline {
  std::string name;
  std::map<std::string, double> t_s;
};
Result<Baseline> decode_baseline(const std::string& text, const std::string& source);
Result<Baseline> read_baseline(const std::filesystem::path& file);

}  // namespace solmark::judge
