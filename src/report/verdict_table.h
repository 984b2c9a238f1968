// The table that `solmark eval` prints for people. Every number in it is in the JSON too.
#pragma once

#include <string>
#include <vector>

#include "judge/trace.h"

namespace solmark::report {

// "1.234 µs", "12.3 ms": three or four significant digits and a unit that fits.
std::string duration(double seconds);

struct VerdictTable {
  // One line per workload, then logs and findings below.
  static std::string header(const judge::Trace& first);
  static std::string row(const judge::Trace& trace);
  // Faults and findings in words, each with its workload; empty when there is nothing to say.
  static std::string details(const std::vector<judge::Trace>& traces);
  static std::string footer(const std::vector<judge::Trace>& traces);
};

}  // namespace solmark::report
