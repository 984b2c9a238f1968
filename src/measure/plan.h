// How many slots a batch has. Enough that the doorbell's cost is under 1 % of the batch, and that all slots
// together exceed four times the last-level cache, so that every call meets cold caches by construction;
// within limits of memory, of capture cost and of time.
#pragma once

#include <cstddef>
#include <string>

namespace solmark::measure {

struct PlanInput {
  double call_s = 0;              // estimate of one call
  std::size_t slot_bytes = 0;     // inputs and outputs of one slot
  std::size_t cache_bytes = 0;    // last-level cache
  std::size_t memory_bytes = 0;   // that slots may take
  double batch_target_s = 0.002;  // length of a batch that makes the doorbell's cost negligible
  double batch_limit_s = 0.1;     // no slots are added for the cache's sake beyond this
  std::size_t max_slots = 1024;
  bool warm = false;  // one slot: every call meets the caches as the last one left them
};

struct Plan {
  std::size_t slots = 1;
  bool exceeds_cache = false;  // slots * slot_bytes >= 4 * cache_bytes
  // The judge reads other data through the caches before every batch; each slot is visited once a batch, so
  // every call is cold even where the slots do not exceed the cache.
  bool fits = true;  // false: not even one slot fits into memory_bytes
};

Plan plan_slots(const PlanInput& input);

}  // namespace solmark::measure
