#include "measure/timing.h"

#include <algorithm>

namespace solmark::measure {

void summarise(Timing& timing) {
  std::vector<double> calls;
  for (const Batch& batch : timing.batches) calls.push_back(batch.call_s);
  timing.interval = stats::median_interval(calls);
  timing.t_s = timing.interval.median;
  timing.scaled_mad_s = stats::scaled_mad(calls);
}

double call_seconds(double batch_s, double empty_s, std::size_t slots) {
  return std::max(0.0, batch_s - empty_s) / static_cast<double>(std::max<std::size_t>(1, slots));
}

}  // namespace solmark::measure
