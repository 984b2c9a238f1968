#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "verify/decide.h"

namespace solmark::verify {
namespace {
using problem::Dtype;
using problem::Tolerance;
using stats::CompareRule;
using testing::HasSubstr;

device::TensorPlacement output(std::vector<std::int64_t> shape, Dtype dtype = Dtype::kFloat32) {
  device::TensorPlacement out;
  out.name = "y";
  out.dtype = dtype;
  out.shape = std::move(shape);
  return out;
}

Decision judge(const std::vector<float>& x, const std::vector<float>& y, const Tolerance& t,
               CompareRule rule = CompareRule::kSolExecbench) {
  stats::CompareSpec spec{Dtype::kFloat32, rule, t.allow_negative_inf, t.max_atol, t.max_rtol};
  auto counts = stats::compare_on_cpu(spec, x.data(), y.data(), x.size());
  return decide(output({static_cast<std::int64_t>(x.size())}), counts, t, rule);
}

TEST(Decide, AllZeroFailsThoughTheRatioWouldPass) {
  std::vector<float> y(1000, 0.001F);
  EXPECT_EQ(judge(std::vector<float>(1000, 0), y, {}).outcome, Outcome::kAllZero);
  EXPECT_TRUE(judge(std::vector<float>(1000, 0), std::vector<float>(1000, 0), {}).ok());
}

TEST(Decide, NonFiniteFailsOnBothSidesAndIsBookedRight) {
  EXPECT_EQ(judge({NAN, 1}, {1, 1}, {}).outcome, Outcome::kNonFinite);
  EXPECT_EQ(judge({INFINITY, 1}, {1, 1}, {}).outcome, Outcome::kNonFinite);
  EXPECT_EQ(judge({1, 1}, {1, INFINITY}, {}).outcome, Outcome::kBadReference);
  Tolerance t;
  t.allow_negative_inf = true;
  EXPECT_TRUE(judge({-INFINITY, 1}, {-INFINITY, 1}, t).ok());
  EXPECT_EQ(judge({-INFINITY, 1}, {0, 1}, t).outcome, Outcome::kNonFinite);
  EXPECT_EQ(judge({INFINITY, 1}, {INFINITY, 1}, t).outcome, Outcome::kBadReference);
}

TEST(Decide, RatioBoundaryIsInclusive) {
  std::vector<float> y(100, 1);
  std::vector<float> x = y;
  x[7] = 5;
  EXPECT_TRUE(judge(x, y, {}).ok());  // 99 of 100 with 0.99 required
  x[8] = 5;
  auto d = judge(x, y, {});
  EXPECT_EQ(d.outcome, Outcome::kTooFew);
  EXPECT_THAT(d.words, HasSubstr("element [7] is 5, expected 1"));
  EXPECT_THAT(d.words, HasSubstr("98 of 100"));
}

TEST(Decide, CapCatchesTheOnePercent) {
  std::vector<float> y(1000, 1);
  std::vector<float> x = y;
  x[3] = 1e30F;
  EXPECT_TRUE(judge(x, y, {}).ok());
  Tolerance t;
  t.max_error_cap = 1.0;
  EXPECT_EQ(judge(x, y, t).outcome, Outcome::kOverCap);
}

TEST(Decide, EmptyPasses) { EXPECT_TRUE(judge({}, {}, {}).ok()); }

TEST(Decide, FlashinferWantsEveryElement) {
  std::vector<float> y(1000, 1);
  std::vector<float> x = y;
  x[3] = 2;
  EXPECT_TRUE(judge(x, y, {}).ok());
  EXPECT_FALSE(judge(x, y, {}, CompareRule::kFlashinfer).ok());
}

TEST(Decide, WritesIndices) {
  EXPECT_EQ(index_words(output({2, 3, 4}), 23), "[1, 2, 3]");
  EXPECT_EQ(index_words(output({}), 0), "[]");
  EXPECT_EQ(index_words(output({2, 2}, Dtype::kFloat4E2m1x2), 5), "[1, 1]");
}

// The whole rule as its authors state it, over tensors, against ours.
bool slow_rule(const std::vector<float>& x, const std::vector<float>& y, const Tolerance& t) {
  std::vector<float> a;
  std::vector<float> b;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (t.allow_negative_inf && x[i] == -INFINITY && y[i] == -INFINITY) continue;
    a.push_back(x[i]);
    b.push_back(y[i]);
  }
  if (a.empty()) return true;
  double norm_a = 0;
  double norm_b = 0;
  std::size_t ok = 0;
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return false;
    norm_a += std::fabs(static_cast<double>(a[i]));
    norm_b += std::fabs(static_cast<double>(b[i]));
    volatile float relative = static_cast<float>(t.max_rtol) * std::fabs(b[i]);
    volatile float allowed = static_cast<float>(t.max_atol) + relative;
    float error = std::fabs(a[i] - b[i]);
    if (error <= allowed) ++ok;
    largest = std::max(largest, error);
  }
  if (norm_a == 0 && norm_b > 0) return false;
  if (static_cast<double>(ok) / static_cast<double>(a.size()) < t.required_matched_ratio) return false;
  return !t.max_error_cap || largest <= static_cast<float>(*t.max_error_cap);
}

TEST(Decide, AgreesWithASlowModel) {
  std::mt19937 rng(5);
  int passed = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<float> x(1 + rng() % 40);
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = static_cast<float>(static_cast<int>(rng() % 200) - 100) / 50;
      x[i] = y[i] + static_cast<float>(static_cast<int>(rng() % 100) - 50) / 2000;
      if (rng() % 300 == 0) x[i] = NAN;
      if (rng() % 100 == 0) x[i] = y[i] = -INFINITY;
      if (rng() % 5 == 0) x[i] = 0;
    }
    if (rng() % 10 == 0) std::fill(x.begin(), x.end(), 0.0F);
    Tolerance t;
    t.required_matched_ratio = static_cast<double>(rng() % 5) / 4;
    t.allow_negative_inf = rng() % 2 == 0;
    if (rng() % 3 == 0) t.max_error_cap = 0.5;
    bool ours = judge(x, y, t).ok();
    EXPECT_EQ(ours, slow_rule(x, y, t)) << "round " << round;
    passed += ours ? 1 : 0;
  }
  EXPECT_GT(passed, 500);
}

}  // namespace
}  // namespace solmark::verify
