// The whole of `solmark eval`: from files to one Trace for every workload.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/options.h"
#include "judge/trace.h"

namespace solmark::judge {

struct EvalCallbacks {
  std::function<void(const Trace&)> trace;  // in the order of the workloads, each as soon as it can be
  std::function<void(const std::string&)> progress;  // one line of what is going on
  std::function<void(const std::string&)> warning;   // what the user should know about his files
};

struct EvalSummary {
  std::size_t workloads = 0;
  std::size_t passed = 0;
};

// An Error only where no workload could be looked at: unreadable files, a machine that cannot do it.
// Everything else is in the traces.
Result<EvalSummary> evaluate(const EvalOptions& options, const EvalCallbacks& callbacks);

}  // namespace solmark::judge
