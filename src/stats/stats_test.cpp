#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "stats/compare.h"
#include "stats/summary.h"

namespace solmark::stats {
namespace {
using problem::Dtype;

CompareSpec spec(Dtype dtype = Dtype::kFloat32) {
  return {dtype, CompareRule::kSolExecbench, false, 0.01, 0.01};
}

// The rule, element by element, as sol-execbench states it: float32 arithmetic, two roundings.
std::size_t slow_matches(const std::vector<float>& x, const std::vector<float>& y, float atol, float rtol) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    volatile float relative = rtol * std::fabs(y[i]);
    volatile float allowed = atol + relative;
    volatile float error = x[i] - y[i];
    if (std::fabs(error) <= allowed) ++n;
  }
  return n;
}

TEST(Compare, AgreesWithASlowModelOnRandomData) {
  std::mt19937 rng(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> x(997);
    std::vector<float> y(997);
    std::normal_distribution<float> normal(0, std::pow(10.0F, static_cast<float>(round % 7) - 3));
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = normal(rng);
      x[i] = y[i] +
             (0.01F + 0.01F * std::fabs(y[i])) * (0.999F + 0.002F * static_cast<float>(rng() % 1000) / 1000);
    }
    EXPECT_EQ(compare_on_cpu(spec(), x.data(), y.data(), x.size()).matched, slow_matches(x, y, 0.01F, 0.01F));
  }
}

TEST(Compare, CountsNonFiniteAndDropsAllowedNegativeInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {1, -inf, NAN, inf, -inf};
  std::vector<float> y = {1, -inf, 1, 1, 1};
  auto c = compare_on_cpu(spec(), x.data(), y.data(), 5);
  EXPECT_EQ(c.elements, 5U);
  EXPECT_EQ(c.matched, 1U);
  EXPECT_EQ(c.got_nan, 1U);
  EXPECT_EQ(c.got_inf, 3U);
  EXPECT_EQ(c.expected_inf, 1U);
  auto allowing = spec();
  allowing.allow_negative_inf = true;
  c = compare_on_cpu(allowing, x.data(), y.data(), 5);
  EXPECT_EQ(c.elements, 4U);
  EXPECT_EQ(c.got_inf, 2U);
}

TEST(Compare, NamesTheWorstElement) {
  std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y = {1, 2.5F, 3, 5};
  auto c = compare_on_cpu(spec(), x.data(), y.data(), 4);
  EXPECT_EQ(c.worst_index, 3U);
  EXPECT_EQ(c.worst_got, 4);
  EXPECT_EQ(c.worst_expected, 5);
  EXPECT_DOUBLE_EQ(c.max_absolute_error, 1);
}

TEST(Compare, FlashinferFailsOnlyWhenBothErrorsAreOver) {
  std::vector<float> x = {0.0115F, 100.5F, 200};
  std::vector<float> y = {0.0F, 100, 100};  // absolute only over; absolute over but relative under; both over
  auto s = spec();
  s.rule = CompareRule::kFlashinfer;
  EXPECT_EQ(compare_on_cpu(s, x.data(), y.data(), 3).matched, 1U);
  EXPECT_EQ(compare_on_cpu(spec(), x.data(), y.data(), 3).matched, 1U);
  y[0] = 0.002F;  // |error| 0.0095 <= atol
  EXPECT_EQ(compare_on_cpu(s, x.data(), y.data(), 3).matched, 2U);
}

TEST(Compare, LargeIndicesDoNotCollide) {
  std::vector<std::int64_t> x = {(1LL << 30) + 1};
  std::vector<std::int64_t> y = {1LL << 30};
  auto s = spec(Dtype::kInt64);
  s.atol = 0;
  s.rtol = 0;
  EXPECT_EQ(compare_on_cpu(s, x.data(), y.data(), 1).matched, 0U);
}

TEST(Compare, ReadsSmallFormats) {
  std::uint16_t bf = 0x3f80;  // 1
  std::uint16_t half = 0x3c00;
  std::uint8_t e4m3 = 0x38;
  std::uint8_t e5m2 = 0x3c;
  for (auto [dtype, at] : {std::pair{Dtype::kBfloat16, static_cast<void*>(&bf)},
                           {Dtype::kFloat16, &half},
                           {Dtype::kFloat8E4m3fn, &e4m3},
                           {Dtype::kFloat8E5m2, &e5m2}}) {
    EXPECT_EQ(compare_on_cpu(spec(dtype), at, at, 1).worst_got, 1.0);
  }
  std::uint8_t nan = 0x7f;
  EXPECT_EQ(compare_on_cpu(spec(Dtype::kFloat8E4m3fn), &nan, &e4m3, 1).got_nan, 1U);
  std::uint8_t top = 0x7e;
  EXPECT_EQ(compare_on_cpu(spec(Dtype::kFloat8E4m3fn), &top, &top, 1).worst_got, 448.0);
  std::uint8_t pair = 0x71;  // low nibble 0.5, high nibble 6
  std::uint8_t zero = 0;
  auto c = compare_on_cpu(spec(Dtype::kFloat4E2m1x2), &pair, &zero, 1);
  EXPECT_EQ(c.elements, 2U);
  EXPECT_EQ(c.worst_got, 6.0);
  EXPECT_EQ(c.worst_index, 1U);
}

TEST(Compare, CountsUlps) {
  float y = 1.0F;
  float one_up = std::nextafter(1.0F, 2.0F);
  auto c = compare_on_cpu(spec(), &one_up, &y, 1);
  EXPECT_EQ(c.ulp[1], 1U);
  float minus = -0.0F;
  float plus = 0.0F;
  EXPECT_EQ(compare_on_cpu(spec(), &minus, &plus, 1).ulp[0], 1U);
  float far = 2.0F;
  EXPECT_EQ(compare_on_cpu(spec(), &far, &y, 1).ulp[7], 1U);
}

TEST(Compare, MergeEqualsOnePass) {
  std::mt19937 rng(3);
  std::vector<float> x(1000);
  std::vector<float> y(1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    y[i] = static_cast<float>(rng() % 100) / 10;
    x[i] = y[i] + static_cast<float>(rng() % 100) / 1000;
  }
  auto whole = compare_on_cpu(spec(), x.data(), y.data(), 1000);
  CompareCounts parts;
  for (std::size_t from = 0; from < 1000; from += 300) {
    std::size_t n = std::min<std::size_t>(300, 1000 - from);
    merge(parts, compare_on_cpu(spec(), x.data() + from, y.data() + from, n), from);
  }
  // Bit for bit, NaN and signs of zero too; there is no padding.
  EXPECT_EQ(std::memcmp(&whole, &parts, sizeof whole), 0);  // NOLINT(bugprone-suspicious-memory-comparison)
}

TEST(Summary, MedianAndInterval) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  std::vector<double> ten = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  auto i = median_interval(ten);  // n = 10: ranks 2 and 9 cover 97.9 %
  EXPECT_EQ(i.lo, 2);
  EXPECT_EQ(i.hi, 9);
  EXPECT_NEAR(i.covered, 0.9785, 1e-3);
  auto six = median_interval({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(six.lo, 1);
  EXPECT_NEAR(six.covered, 0.96875, 1e-9);
}

TEST(Summary, IntervalCoversTheMedianAsOftenAsItSays) {
  std::mt19937 rng(11);
  std::exponential_distribution<double> skewed(1.0);
  int covered = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> v(15);
    for (double& x : v) x = skewed(rng);
    auto i = median_interval(v);
    if (i.lo <= std::log(2.0) && std::log(2.0) <= i.hi) ++covered;
  }
  EXPECT_GT(covered, 1900);
}

TEST(Summary, StopsOnTargetBudgetOrCount) {
  StoppingRule rule;
  std::vector<double> steady(6, 0.001);
  EXPECT_TRUE(enough(rule, steady, steady));
  EXPECT_FALSE(enough(rule, {0.001, 0.001}, {1, 1}));
  std::vector<double> noisy = {1, 2, 3, 4, 5, 6};
  EXPECT_FALSE(enough(rule, steady, noisy));
  EXPECT_TRUE(enough(rule, std::vector<double>(6, 0.004), {1.00, 1.01, 1.02, 1.03, 1.04, 1.05}));
}

// With eight values the 95 % interval of the median runs from the least to the greatest: one disturbed batch
// makes it as wide as the disturbance. With nine it leaves out both.
TEST(Summary, OneDisturbedBatchDoesNotEndTheMeasurementAtTheBudget) {
  const StoppingRule rule;
  std::vector<double> call = {1, 1, 1, 1.8, 1, 1.001, 1};
  for (int more = 0; more < 2; ++more) {
    EXPECT_FALSE(enough(rule, std::vector<double>(call.size(), 0.005), call)) << call.size();
    call.push_back(1);
  }
  EXPECT_TRUE(enough(rule, std::vector<double>(call.size(), 0.005), call));
  EXPECT_LE(median_interval(call).hi, 1.001);
  // Nor does a candidate that is never steady get more than that.
  EXPECT_TRUE(enough(rule, std::vector<double>(9, 0.005), {1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace solmark::stats
