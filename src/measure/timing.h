// The times of the batches of one workload, and what they come to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/device.h"
#include "stats/summary.h"

namespace solmark::measure {

struct Batch {
  double batch_s = 0;  // judge's clock, ring to done
  double empty_s = 0;  // the same with nothing in the batch, measured just before
  double call_s = 0;   // (batch_s - empty_s) / slots
  device::RunState state;
};

struct Timing {
  double t_s = 0;  // median of call_s
  stats::MedianInterval interval;
  double scaled_mad_s = 0;
  std::size_t slots = 0;
  bool slots_exceed_cache = false;
  bool warm = false;
  std::size_t input_sets = 0;   // distinct contents that were verified and timed
  std::vector<Batch> batches;   // every timed batch
  std::vector<Batch> left_out;  // batches during which a foreign process used the device
};

// Fills t_s, interval and scaled_mad_s from the batches (at least one).
void summarise(Timing& timing);

// Seconds of a batch, less the calibrated cost of an empty one, per call; never negative.
double call_seconds(double batch_s, double empty_s, std::size_t slots);

}  // namespace solmark::measure
