#include <gtest/gtest.h>

#include "measure/plan.h"

namespace solmark::measure {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

PlanInput h200(double call_s, std::size_t slot_bytes) {
  PlanInput in;
  in.call_s = call_s;
  in.slot_bytes = slot_bytes;
  in.cache_bytes = 60 * kMiB;
  in.memory_bytes = 40960 * kMiB;
  return in;
}

TEST(Plan, ShortCallsFillTheBatch) {
  // 240 MiB of cold slots would take 61,440 of them: the count's limit ends it.
  Plan p = plan_slots(h200(4e-6, 4096));
  EXPECT_EQ(p.slots, 1024U);
  EXPECT_FALSE(p.exceeds_cache);
  EXPECT_NEAR(static_cast<double>(plan_slots(h200(4e-6, 0)).slots), 500,
              1);  // nothing to keep cold: 2 ms of calls
}

TEST(Plan, MediumSlotsExceedTheCache) {
  Plan p = plan_slots(h200(100e-6, 2 * kMiB));
  EXPECT_EQ(p.slots, 120U);
  EXPECT_TRUE(p.exceeds_cache);
}

TEST(Plan, LongCallsAreFewButNeverOne) {
  Plan p = plan_slots(h200(0.5, 2 * kMiB));
  EXPECT_EQ(p.slots, 2U);
  EXPECT_FALSE(p.exceeds_cache);
}

TEST(Plan, MemoryAndCountLimit) {
  EXPECT_EQ(plan_slots(h200(1e-7, 0)).slots, 1024U);
  PlanInput in = h200(1e-6, 512 * kMiB);
  in.memory_bytes = 1000 * kMiB;
  EXPECT_EQ(plan_slots(in).slots, 1U);
  EXPECT_TRUE(plan_slots(in).fits);
  in.memory_bytes = 100 * kMiB;
  EXPECT_FALSE(plan_slots(in).fits);
}

TEST(Plan, WarmIsOneSlot) {
  PlanInput in = h200(1e-6, 4096);
  in.warm = true;
  EXPECT_EQ(plan_slots(in).slots, 1U);
}

}  // namespace
}  // namespace solmark::measure
