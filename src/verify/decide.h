// The verdict on one output of one call, from its counts: SOL-ExecBench's rule (non-finite values, all-zero
// answers, matched ratio, error cap) or FlashInfer-Trace's.
#pragma once

#include <string>

#include "device/layout.h"
#include "problem/workload.h"
#include "stats/compare.h"

namespace solmark::verify {

enum class Outcome {
  kMatches,
  kBadReference,  // the expectation itself is not finite: nobody could match it
  kNonFinite,     // NaN or infinity from the candidate
  kAllZero,       // nothing but zeros where the reference is not zero
  kTooFew,        // matched ratio below the required one
  kOverCap,       // largest error over max_error_cap
};

struct Decision {
  Outcome outcome = Outcome::kMatches;
  double matched_ratio = 1;
  std::string words;  // "output `y`: element [3, 17] is 0.5, expected 0.25 (…)"; empty when it matches
  [[nodiscard]] bool ok() const { return outcome == Outcome::kMatches; }
};

Decision decide(const device::TensorPlacement& output, const stats::CompareCounts& counts,
                const problem::Tolerance& tolerance, stats::CompareRule rule);

// "[3, 17]": the index of a flat element in a shape (the element of a packed pair counts in the unpacked
// shape).
std::string index_words(const device::TensorPlacement& output, std::uint64_t flat);

}  // namespace solmark::verify
