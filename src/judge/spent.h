// Where the wall time of a workload goes.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "judge/trace.h"

namespace solmark::judge {

// Adds the time that its scope took to a step of a trace's account. Scopes of one trace do not nest.
class Spent {
 public:
  Spent(Trace& trace, std::string step) : trace_(trace), step_(std::move(step)), start_(Clock::now()) {}
  Spent(const Spent&) = delete;
  Spent& operator=(const Spent&) = delete;
  ~Spent() {
    double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    for (auto& [name, total] : trace_.spent_s) {
      if (name == step_) {
        total += seconds;
        return;
      }
    }
    trace_.spent_s.emplace_back(step_, seconds);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Trace& trace_;
  std::string step_;
  Clock::time_point start_;
};

}  // namespace solmark::judge
