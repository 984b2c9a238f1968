#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <vector>

#include "gpu/check/checks.h"
#include "gpu/check/random_pair.h"
#include "stats/compare.h"

namespace solmark::gpu::check {
namespace {

using problem::Dtype;
using stats::CompareCounts;
using stats::CompareSpec;

constexpr std::array kDtypes = {
    Dtype::kFloat64,    Dtype::kFloat32,    Dtype::kFloat16,      Dtype::kBfloat16, Dtype::kFloat8E4m3fn,
    Dtype::kFloat8E5m2, Dtype::kFloat4E2m1, Dtype::kFloat4E2m1x2, Dtype::kInt64,    Dtype::kInt32,
    Dtype::kInt16,      Dtype::kInt8,       Dtype::kUint8,        Dtype::kBool};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// What differs, or nothing.
std::string difference(const CompareCounts& a, const CompareCounts& b) {
  const auto integer = [](const char* name, std::uint64_t x, std::uint64_t y) {
    return x == y ? std::string() : fmt::format(" {} {} instead of {}", name, x, y);
  };
  const auto real = [](const char* name, double x, double y) {
    return same(x, y) ? std::string() : fmt::format(" {} {} instead of {}", name, x, y);
  };
  std::string out = integer("elements", a.elements, b.elements) + integer("matched", a.matched, b.matched) +
                    integer("got_nan", a.got_nan, b.got_nan) + integer("got_inf", a.got_inf, b.got_inf) +
                    integer("expected_nan", a.expected_nan, b.expected_nan) +
                    integer("expected_inf", a.expected_inf, b.expected_inf) +
                    integer("got_nonzero", a.got_nonzero, b.got_nonzero) +
                    integer("expected_nonzero", a.expected_nonzero, b.expected_nonzero) +
                    real("max_absolute_error", a.max_absolute_error, b.max_absolute_error) +
                    real("max_relative_error", a.max_relative_error, b.max_relative_error) +
                    real("worst_score", a.worst_score, b.worst_score) +
                    integer("worst_index", a.worst_index, b.worst_index) +
                    real("worst_got", a.worst_got, b.worst_got) +
                    real("worst_expected", a.worst_expected, b.worst_expected);
  for (int i = 0; i < stats::kUlpBuckets; ++i) out += integer("ulp", a.ulp[i], b.ulp[i]);
  return out;
}

struct Place {
  std::size_t got_offset, expected_offset;
};

Status compare_once(const Gpu& gpu, device::Region& got, device::Region& expected, const CompareSpec& spec,
                    std::size_t elements, Place place, std::uint64_t seed) {
  const RandomPair data = random_pair(spec.dtype, elements, seed);
  SOLMARK_CHECK_OK(gpu.device.write(got, place.got_offset, data.got.data(), data.got.size()));
  SOLMARK_CHECK_OK(
      gpu.device.write(expected, place.expected_offset, data.expected.data(), data.expected.size()));
  SOLMARK_TRY(const CompareCounts there,
              gpu.device.compare(spec, got, place.got_offset, expected, place.expected_offset, elements));
  const CompareCounts here = stats::compare_on_cpu(spec, data.got.data(), data.expected.data(), elements);
  const std::string wrong = difference(there, here);
  if (wrong.empty()) return success();
  return internal_error(fmt::format("{} x {} (rule {}, offsets {} {}):{}", problem::dtype_name(spec.dtype),
                                    elements, static_cast<int>(spec.rule), place.got_offset,
                                    place.expected_offset, wrong));
}

}  // namespace

Outcome compare(const Gpu& gpu) {
  constexpr std::size_t kMost = 1'000'003;
  SOLMARK_TRY(auto got, gpu.device.allocate("got", kMost * 8 + 64));
  SOLMARK_TRY(auto expected, gpu.device.allocate("expected", kMost * 8 + 64));
  int cases = 0;
  for (const Dtype dtype : kDtypes) {
    for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{255},
                                       std::size_t{4099}, std::size_t{65536}, kMost}) {
      for (const auto rule : {stats::CompareRule::kSolExecbench, stats::CompareRule::kFlashinfer}) {
        CompareSpec spec;
        spec.dtype = dtype;
        spec.rule = rule;
        spec.allow_negative_inf = cases % 2 == 0;
        spec.atol = cases % 3 == 0 ? 0 : 0.01;
        // Aligned for wide loads every other time.
        const Place place = cases % 4 < 2 ? Place{0, 32} : Place{8, 16};
        ++cases;
        SOLMARK_CHECK_OK(
            compare_once(gpu, *got, *expected, spec, elements, place, static_cast<std::uint64_t>(cases)));
      }
    }
  }
  // Equal sides: nothing differs, and the first element is the worst.
  std::vector<float> ones(1000, 1.0F);
  SOLMARK_CHECK_OK(gpu.device.write(*got, 0, ones.data(), 4000));
  SOLMARK_CHECK_OK(gpu.device.write(*expected, 0, ones.data(), 4000));
  SOLMARK_TRY(const CompareCounts equal, gpu.device.compare({}, *got, 0, *expected, 0, 1000));
  if (equal.matched != 1000 || equal.worst_index != 0 || equal.ulp[0] != 1000) {
    return internal_error("equal sides are not counted as equal");
  }
  if (gpu.device.compare({}, *got, 2, *expected, 0, 4).ok())
    return internal_error("a misaligned comparison was run");
  return fmt::format("{} cases equal to the CPU's counts", cases + 1);
}

Outcome compare_speed(const Gpu& gpu) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  SOLMARK_TRY(auto got, gpu.device.allocate("got", kBytes));
  SOLMARK_TRY(auto expected, gpu.device.allocate("expected", kBytes));
  SOLMARK_CHECK_OK(gpu.device.fill(*got, 0, kBytes, 0x3c003c01U));
  SOLMARK_CHECK_OK(gpu.device.fill(*expected, 0, kBytes, 0x3c003c00U));
  std::string out;
  for (const Dtype dtype : {Dtype::kFloat64, Dtype::kFloat32, Dtype::kFloat16, Dtype::kFloat8E4m3fn}) {
    CompareSpec spec;
    spec.dtype = dtype;
    const std::size_t elements = kBytes * 8 / problem::dtype_bits(dtype);
    double best = 0;
    for (int i = 0; i < 4; ++i) {
      const auto start = std::chrono::steady_clock::now();
      SOLMARK_CHECK_OK(gpu.device.compare(spec, *got, 0, *expected, 0, elements));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best = std::max(best, 2 * static_cast<double>(kBytes) / took.count());
    }
    out += fmt::format("{}{} {:.0f} GB/s", out.empty() ? "" : ", ", problem::dtype_name(dtype), best * 1e-9);
  }
  return out;
}

Outcome equal(const Gpu& gpu) {
  constexpr std::size_t kBytes = 5'000'011;
  SOLMARK_TRY(auto a, gpu.device.allocate("a", kBytes + 64));
  SOLMARK_TRY(auto b, gpu.device.allocate("b", kBytes + 64));
  for (const Place place : {Place{0, 16}, Place{3, 5}}) {
    SOLMARK_CHECK_OK(gpu.device.fill(*a, place.got_offset, kBytes, 0x01020304U));
    SOLMARK_CHECK_OK(gpu.device.fill(*b, place.expected_offset, kBytes, 0x01020304U));
    // Beside two other pairs: one that is equal whatever happens, and an empty one.
    const auto ask = [&]() -> Result<bool> {
      SOLMARK_TRY(const auto same,
                  gpu.device.equal({{b.get(), 16, b.get(), 16, kBytes - 16},
                                    {a.get(), place.got_offset, b.get(), place.expected_offset, kBytes},
                                    {a.get(), 0, b.get(), 0, 0}}));
      if (!same[0] || !same[2]) return internal_error("a range differs from itself");
      return bool(same[1]);
    };
    SOLMARK_TRY(const bool same_at_first, ask());
    if (!same_at_first) return internal_error("equal ranges are not equal");
    for (const std::size_t at : {std::size_t{0}, std::size_t{1'234'567}, kBytes - 1}) {
      std::uint8_t byte = 0;
      SOLMARK_CHECK_OK(gpu.device.read(&byte, *a, place.got_offset + at, 1));
      const auto other = static_cast<std::uint8_t>(byte ^ 0x10U);
      SOLMARK_CHECK_OK(gpu.device.write(*a, place.got_offset + at, &other, 1));
      SOLMARK_TRY(const bool same_now, ask());
      if (same_now) return internal_error(fmt::format("a difference in byte {} was not seen", at));
      SOLMARK_CHECK_OK(gpu.device.write(*a, place.got_offset + at, &byte, 1));
    }
  }
  return fmt::format("{} bytes, differences in the first, a middle and the last byte seen", kBytes);
}

}  // namespace solmark::gpu::check
