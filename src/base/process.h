// Child processes: spawned with an explicit environment and descriptors, in their own process group, with
// their output kept up to a limit and thrown away beyond it; killed, with their whole group, when the handle
// dies.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace solmark {

struct SpawnSpec {
  std::vector<std::string> argv;                   // argv[0] is a path or is looked up on PATH
  std::map<std::string, std::string> environment;  // the child's whole environment
  std::filesystem::path folder;                    // working folder; empty: ours
  std::vector<std::pair<int, int>> descriptors;    // (ours, child's number); all others are closed
  std::size_t output_limit = std::size_t{64}
                             << 10;  // bytes of stdout+stderr kept (the first half and the last)
  std::size_t core_limit_bytes = 0;
};

struct ExitState {
  bool signalled = false;
  int code = 0;  // exit code, or the signal's number
  // "exited with code 3" or "was killed by signal 11 (Segmentation fault)".
  [[nodiscard]] std::string text() const;
};

class Child {
 public:
  static Result<Child> spawn(const SpawnSpec& spec);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  // Waits for the end; kTimeout when the time is up (the child goes on).
  Result<ExitState> wait(std::chrono::milliseconds limit);
  // True while the child has not ended.
  bool running();
  // Kills the whole process group and reaps the child.
  void kill();
  // What the child has printed so far; "[... N bytes left out ...]" in the middle when it printed too much.
  [[nodiscard]] std::string output() const;
  [[nodiscard]] int pid() const;

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Our own environment, as a map to start a child's from.
std::map<std::string, std::string> current_environment();

}  // namespace solmark
