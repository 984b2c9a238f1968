#include "measure/plan.h"

#include <algorithm>
#include <cmath>

namespace solmark::measure {

Plan plan_slots(const PlanInput& in) {
  Plan out;
  const double call_s = std::max(in.call_s, 1e-7);
  auto by_time = static_cast<std::size_t>(std::ceil(in.batch_target_s / call_s));
  std::size_t by_cache = 1;
  if (in.slot_bytes > 0) by_cache = (4 * in.cache_bytes + in.slot_bytes - 1) / in.slot_bytes;
  auto by_patience = static_cast<std::size_t>(std::max(1.0, in.batch_limit_s / call_s));
  std::size_t slots = std::max(by_time, std::min(by_cache, by_patience));
  slots = std::clamp<std::size_t>(slots, 2, std::max<std::size_t>(2, in.max_slots));
  if (in.warm) slots = 1;
  if (in.slot_bytes > 0) {
    std::size_t by_memory = in.memory_bytes / in.slot_bytes;
    out.fits = by_memory >= 1;
    slots = std::min(slots, std::max<std::size_t>(1, by_memory));
  }
  out.slots = slots;
  out.exceeds_cache = in.slot_bytes > 0 && slots >= by_cache;
  return out;
}

}  // namespace solmark::measure
