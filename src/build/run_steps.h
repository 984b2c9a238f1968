// Runs the commands of a recipe: side by side, with one time limit for all, each in its own process group.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::build {

struct StepsResult {
  bool ok = true;
  bool timed_out = false;
  std::string log;
};

// Stops after the group of commands in which one failed. What is still running when the time is up is killed.
Result<StepsResult> run_steps(const std::vector<std::vector<std::string>>& commands,
                              const std::filesystem::path& folder,
                              const std::map<std::string, std::string>& environment,
                              std::chrono::steady_clock::time_point end, std::size_t log_limit);

// The first and the last part of a text, when it is longer than the limit.
std::string shorten(const std::string& text, std::size_t limit);

}  // namespace solmark::build
