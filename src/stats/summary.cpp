#include "stats/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace solmark::stats {

double median(std::vector<double> values) {
  std::size_t n = values.size();
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(values.begin(), middle, values.end());
  double upper = *middle;
  if (n % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), middle)) / 2;
}

MedianInterval median_interval(std::vector<double> values, double confidence) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  // P(X_(k+1) <= median <= X_(n-k)) = 1 - 2 P(Binomial(n, 1/2) <= k); the largest k that keeps the
  // confidence.
  double log_half_n = static_cast<double>(n) * std::log(0.5);
  double tail = 0;
  std::size_t k = 0;
  double covered = 1;
  for (std::size_t i = 0; i < n / 2; ++i) {
    auto dn = static_cast<double>(n);
    auto di = static_cast<double>(i);
    tail += std::exp(std::lgamma(dn + 1) - std::lgamma(di + 1) - std::lgamma(dn - di + 1) + log_half_n);
    if (i > 0 && 1 - 2 * tail < confidence) break;
    k = i;
    covered = 1 - 2 * tail;
  }
  return {median(values), values[k], values[n - 1 - k], n < 2 ? 0 : covered};
}

double scaled_mad(const std::vector<double>& values) {
  double m = median(values);
  std::vector<double> distance;
  distance.reserve(values.size());
  for (double v : values) distance.push_back(std::fabs(v - m));
  return 1.4826 * median(std::move(distance));
}

bool enough(const StoppingRule& rule, const std::vector<double>& batch_s, const std::vector<double>& call_s) {
  if (batch_s.size() < rule.min_batches) return false;
  if (batch_s.size() >= rule.max_batches) return true;
  const MedianInterval interval = median_interval(call_s);
  const auto within = [&](double share) {
    return (interval.hi - interval.lo) / 2 <= share * interval.median;
  };
  if (within(rule.target_relative_half_width)) return true;
  if (std::accumulate(batch_s.begin(), batch_s.end(), 0.0) < rule.budget_s) return false;
  return batch_s.size() >= rule.undisturbed_batches || within(rule.disturbed_relative_half_width);
}

}  // namespace solmark::stats
