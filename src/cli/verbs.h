// What each verb needs, filled in by run.cpp, and the verbs themselves. Each returns the exit code or an
// Error.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run.h"
#include "judge/options.h"

namespace solmark::cli {

struct EvalCommand {
  judge::EvalOptions options;
  std::string python;
  bool json = false;
  std::string output;  // -o: traces as JSON lines
  bool quiet = false;
};
Result<int> eval(EvalCommand command, const World& world);

struct SealCommand {
  judge::EvalOptions options;
  std::string python;
  std::string output;
};
Result<int> seal(SealCommand command, const World& world);

struct BoundCommand {
  std::string target;  // problem folder, definition or recorded graph (.json)
  std::vector<std::string> archs;
  std::vector<std::string> workloads;
  std::string clock = "max";
  std::string device = "cpu";  // that the reference is recorded for
  std::string save_graph;      // folder to write the recorded graphs into
  std::string python;
  int level = 2;
  bool explain = false;
  bool json = false;
  bool warm = false;
};
Result<int> bound(const BoundCommand& command, const World& world);

Result<int> arch_list(bool json);
Result<int> arch_show(const std::string& name, bool json);
struct ArchProbeCommand {
  std::string output;
  std::string device = "cpu";
};
Result<int> arch_probe(const ArchProbeCommand& command);

Result<int> problems_list(const std::string& folder, bool json);
Result<int> problems_show(const std::string& problem, bool json);
Result<int> problems_check(const std::vector<std::string>& problems, bool json);

struct DoctorCommand {
  std::string python;
  bool json = false;
};
Result<int> doctor(const DoctorCommand& command, const World& world);

}  // namespace solmark::cli
