#include "gpu/address_space.h"

#include <gtest/gtest.h>

#include <limits>

namespace solmark::gpu {
namespace {

constexpr std::uint64_t kBase = 0x1000;
constexpr std::uint64_t kUnit = 0x10;

AddressSpace four_units() { return {kBase, 4 * kUnit, kUnit}; }

TEST(AddressSpace, GivesRisingAddressesRoundedToTheGranularity) {
  AddressSpace space = four_units();
  EXPECT_EQ(space.take(1).value(), kBase);
  EXPECT_EQ(space.take(kUnit + 1).value(), kBase + kUnit);
  EXPECT_EQ(space.take(kUnit).value(), kBase + 3 * kUnit);
}

TEST(AddressSpace, ZeroBytesStillHaveAnAddressOfTheirOwn) {
  AddressSpace space = four_units();
  EXPECT_NE(space.take(0).value(), space.take(0).value());
}

TEST(AddressSpace, ExhaustionIsAMachineErrorThatNamesTheSizes) {
  AddressSpace space = four_units();
  ASSERT_TRUE(space.take(3 * kUnit).ok());
  const auto failed = space.take(2 * kUnit);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kMachine);
  EXPECT_NE(failed.error().message.find("32 bytes"), std::string::npos);
  EXPECT_NE(failed.error().message.find("largest free range is 16"), std::string::npos);
  EXPECT_TRUE(space.take(kUnit).ok()) << "a failed request takes nothing";
}

TEST(AddressSpace, ASizeNearTheLargestIntegerDoesNotWrap) {
  AddressSpace space = four_units();
  EXPECT_FALSE(space.take(std::numeric_limits<std::uint64_t>::max()).ok());
  EXPECT_FALSE(space.take_at(kBase, std::numeric_limits<std::uint64_t>::max() - 1).ok());
}

TEST(AddressSpace, UsesAFreedRangeAgainLowestFirst) {
  AddressSpace space = four_units();
  const auto a = space.take(kUnit).value();
  const auto b = space.take(kUnit).value();
  const auto c = space.take(kUnit).value();
  space.give_back(c, kUnit);
  space.give_back(a, kUnit);
  EXPECT_EQ(space.take(kUnit).value(), a);
  EXPECT_EQ(space.take(kUnit).value(), c);
  EXPECT_NE(b, c);
}

TEST(AddressSpace, NeighboursJoinWhenFreedInAnyOrder) {
  for (const bool middle_last : {true, false}) {
    AddressSpace space = four_units();
    const auto a = space.take(kUnit).value();
    const auto b = space.take(kUnit).value();
    const auto c = space.take(kUnit).value();
    if (!middle_last) space.give_back(b, kUnit);
    space.give_back(c, kUnit);
    space.give_back(a, kUnit);
    if (middle_last) space.give_back(b, kUnit);
    EXPECT_EQ(space.largest_free(), 4 * kUnit);
  }
}

TEST(AddressSpace, TakesAnExactPlaceOnlyWhenItIsAlignedInsideAndFree) {
  AddressSpace space = four_units();
  ASSERT_TRUE(space.take_at(kBase + kUnit, kUnit).ok());
  EXPECT_FALSE(space.take_at(kBase + kUnit, kUnit).ok()) << "taken";
  EXPECT_FALSE(space.take_at(kBase, 2 * kUnit).ok()) << "reaches into what is taken";
  EXPECT_FALSE(space.take_at(kBase + 2 * kUnit + 1, 1).ok()) << "misaligned";
  EXPECT_FALSE(space.take_at(kBase - kUnit, kUnit).ok()) << "below";
  EXPECT_FALSE(space.take_at(kBase + 3 * kUnit, 2 * kUnit).ok()) << "beyond the end";
  EXPECT_FALSE(space.take_at(kBase + 4 * kUnit, kUnit).ok()) << "at the end";
  EXPECT_EQ(space.take(kUnit).value(), kBase);
  EXPECT_EQ(space.take(kUnit).value(), kBase + 2 * kUnit) << "goes around what is taken";
}

}  // namespace
}  // namespace solmark::gpu
