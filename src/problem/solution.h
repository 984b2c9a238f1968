// Candidate sources plus build spec (solution.json), and evaluation options (config.json).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::problem {

enum class Language {
  kPytorch,
  kTriton,
  kCuteDsl,
  kCutile,
  kCudnnFrontend,
  kPython,
  kCutlass,
  kCudnn,
  kCublas,
  kCudaCpp,
  kCpp
};
enum class Binding { kTorch, kDlpack };

struct CompileOptions {
  std::vector<std::string> cflags;
  std::vector<std::string> cuda_cflags;
  std::vector<std::string> ld_flags;
};

struct Source {
  std::string path;  // relative, unique, no ".."
  std::string content;
};

struct Solution {
  std::string name;
  std::string definition;
  std::string author;
  std::string description;
  std::vector<Language> languages;
  std::vector<std::string> target_hardware;
  std::string entry_file;
  std::string entry_function;
  std::vector<std::string> dependencies;
  bool destination_passing_style = true;
  Binding binding = Binding::kTorch;              // C++ group only
  std::optional<CompileOptions> compile_options;  // absent: no flags at all (SOL-ExecBench's rule)
  std::vector<Source> sources;
  std::filesystem::path file;
  [[nodiscard]] bool is_python() const;  // by language group
};

struct LoadedSolution {
  Solution solution;
  std::vector<std::string> warnings;
};
// Sources with empty content are read from files beside the JSON.
Result<LoadedSolution> load_solution(const std::filesystem::path& file);
Result<LoadedSolution> decode_solution(std::string_view text, const std::string& source,
                                       const std::filesystem::path& folder);

// config.json of SOL-ExecBench; every key optional.
struct EvalConfig {
  int warmup_runs = 10;
  int iterations = 50;
  bool lock_clocks = false;
  bool benchmark_reference = true;
  std::uint64_t seed = 200;
  std::vector<std::string> warnings;
};
Result<EvalConfig> decode_config(std::string_view text, const std::string& source);
Result<EvalConfig> load_config(const std::filesystem::path& file);

// A problem as the user names it: a folder with definition.json, workload.jsonl (and perhaps config.json,
// solution.json), or a definition file. FlashInfer-Trace trees are found too: definitions/<op>/<name>.json
// with workloads/<op>/<name>.jsonl.
struct ProblemFiles {
  std::filesystem::path definition;
  std::filesystem::path workload;
  std::optional<std::filesystem::path> config;
  std::optional<std::filesystem::path> solution;
  std::vector<std::filesystem::path> blob_roots;
};
Result<ProblemFiles> find_problem(const std::filesystem::path& problem);

}  // namespace solmark::problem
