// Checks the outputs of every call of a batch against the expectation of the set it was dealt.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "device/layout.h"
#include "judge/candidate.h"
#include "judge/fault.h"
#include "judge/memory.h"
#include "judge/trace.h"
#include "problem/workload.h"
#include "stats/compare.h"

namespace solmark::judge {

struct CheckInput {
  device::Device* device = nullptr;
  const device::Layout* outputs = nullptr;
  const Staging* staging = nullptr;
  const Slots* slots = nullptr;
  // [slot][output] and the regions they name, when a sealed call leaves its results in its own memory; else
  // empty.
  const std::vector<std::vector<OutputPlace>>* places = nullptr;
  std::vector<const device::Region*> regions;
  problem::Tolerance tolerance;
  stats::CompareRule rule = stats::CompareRule::kSolExecbench;
};

struct CheckResult {
  Step fault;              // the first wrong output, in words
  bool unwritten = false;  // the wrong element still holds the judge's poison
};

// Adds this batch's counts to `records` (one for each output) and stops at the first wrong output.
CheckResult check_batch(const CheckInput& input, std::vector<OutputRecord>& records);

}  // namespace solmark::judge
