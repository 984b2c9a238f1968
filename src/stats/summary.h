// Robust summaries of repeated measurements, and when to stop measuring.
#pragma once

#include <cstddef>
#include <vector>

namespace solmark::stats {

double median(std::vector<double> values);  // of a non-empty list

// A distribution-free 95 % confidence interval of the median by order statistics (binomial with p = 1/2;
// Conover, Practical Nonparametric Statistics, section 3.2). With fewer than 6 values there is none: lo and
// hi are then the extremes and `covered` says what they cover.
struct MedianInterval {
  double median = 0;
  double lo = 0;
  double hi = 0;
  double covered = 0;  // probability that [lo, hi] holds the median, >= 0.95 when there are 6 values or more
};
MedianInterval median_interval(std::vector<double> values, double confidence = 0.95);

// Median of |x - median|, scaled by 1.4826 so that it estimates a normal distribution's deviation.
double scaled_mad(const std::vector<double>& values);

struct StoppingRule {
  double target_relative_half_width = 0.005;  // of the 95 % interval of the median
  double budget_s = 0.020;                    // measured time (sum of batches) after which to stop
  std::size_t min_batches = 6;                // fewer give no 95 % interval
  // Up to eight batches the 95 % interval reaches from the least to the greatest, so that a single disturbed
  // batch decides its width. An interval wider than this at the end of the budget gets batches until there
  // are nine, with which it leaves out the extremes.
  double disturbed_relative_half_width = 0.05;
  std::size_t undisturbed_batches = 9;
  std::size_t max_batches = 1000;
};
// `batch_s`: whole batches' durations; `call_s`: the same per call.
bool enough(const StoppingRule& rule, const std::vector<double>& batch_s, const std::vector<double>& call_s);

}  // namespace solmark::stats
