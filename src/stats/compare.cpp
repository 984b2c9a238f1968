#include "stats/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace solmark::stats {
namespace {

using problem::Dtype;

// A small float format: 1 sign bit, `kExponent` exponent bits, `kMantissa` mantissa bits. Formats without
// infinities ("fn") have one NaN pattern instead; e2m1 has neither.
template <int kExponent, int kMantissa, bool kHasInf, bool kHasNan>
float decode_small(std::uint32_t bits) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  const std::uint32_t sign = bits >> (kExponent + kMantissa) & 1U;
  const std::uint32_t exponent = bits >> kMantissa & ((1U << kExponent) - 1);
  const std::uint32_t mantissa = bits & ((1U << kMantissa) - 1);
  constexpr std::uint32_t kTop = (1U << kExponent) - 1;
  float magnitude = 0;
  if (exponent == kTop && kHasInf) {
    magnitude =
        mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == kTop && kHasNan && mantissa == (1U << kMantissa) - 1) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa | (1U << kMantissa)),
                           static_cast<int>(exponent) - kBias - kMantissa);
  }
  return sign != 0 ? -magnitude : magnitude;
}

template <class T>
T load(const void* base, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * sizeof(T), sizeof(T));
  return value;
}

// An element as a double, and as an ordinal whose differences are distances in units in the last place.
struct Element {
  double value;
  std::int64_t ordinal;
};

std::int64_t ordinal_of(std::uint64_t bits, int width) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

template <Dtype kDtype>
Element element(const void* base, std::size_t i) {
  switch (kDtype) {
    case Dtype::kFloat64: {
      auto bits = load<std::uint64_t>(base, i);
      return {std::bit_cast<double>(bits), ordinal_of(bits, 64)};
    }
    case Dtype::kFloat32: {
      auto bits = load<std::uint32_t>(base, i);
      return {static_cast<double>(std::bit_cast<float>(bits)), ordinal_of(bits, 32)};
    }
    case Dtype::kFloat16: {
      auto bits = load<std::uint16_t>(base, i);
      return {static_cast<double>(decode_small<5, 10, true, true>(bits)), ordinal_of(bits, 16)};
    }
    case Dtype::kBfloat16: {
      auto bits = load<std::uint16_t>(base, i);
      return {static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16)),
              ordinal_of(bits, 16)};
    }
    case Dtype::kFloat8E4m3fn: {
      auto bits = load<std::uint8_t>(base, i);
      return {static_cast<double>(decode_small<4, 3, false, true>(bits)), ordinal_of(bits, 8)};
    }
    case Dtype::kFloat8E5m2: {
      auto bits = load<std::uint8_t>(base, i);
      return {static_cast<double>(decode_small<5, 2, true, true>(bits)), ordinal_of(bits, 8)};
    }
    case Dtype::kFloat4E2m1:
    case Dtype::kFloat4E2m1x2: {
      std::uint32_t pair = load<std::uint8_t>(base, i / 2);
      std::uint32_t bits = (i % 2 == 0 ? pair : pair >> 4) & 0xfU;
      return {static_cast<double>(decode_small<2, 1, false, false>(bits)), ordinal_of(bits, 4)};
    }
    case Dtype::kInt64: {
      auto v = load<std::int64_t>(base, i);
      return {static_cast<double>(v), v};
    }
    case Dtype::kInt32:
      return {static_cast<double>(load<std::int32_t>(base, i)), load<std::int32_t>(base, i)};
    case Dtype::kInt16:
      return {static_cast<double>(load<std::int16_t>(base, i)), load<std::int16_t>(base, i)};
    case Dtype::kInt8:
      return {static_cast<double>(load<std::int8_t>(base, i)), load<std::int8_t>(base, i)};
    case Dtype::kUint8:
    case Dtype::kBool:
      return {static_cast<double>(load<std::uint8_t>(base, i)), load<std::uint8_t>(base, i)};
  }
  return {0, 0};
}

// The tolerance rule in the arithmetic of T. The library is built with -ffp-contract=off, so nothing is
// fused.
template <class T>
bool matches(const CompareSpec& spec, T x, T y) {
  const T error = std::fabs(x - y);
  const T atol = static_cast<T>(spec.atol);
  const T relative = static_cast<T>(spec.rtol) * std::fabs(y);
  // FlashInfer-Trace: an element fails only when both errors are over.
  if (spec.rule == CompareRule::kFlashinfer) return !(error > atol && error > relative);
  return error <= atol + relative;
}

std::size_t ulp_bucket(std::uint64_t distance) {
  if (distance <= 2) return static_cast<std::size_t>(distance);
  if (distance <= 4) return 3;
  if (distance <= 16) return 4;
  if (distance <= 256) return 5;
  return distance <= 65536 ? 6 : 7;
}

// The dtype is known to the compiler: asked for each element it would cost more than the comparison.
template <Dtype kDtype>
CompareCounts compare_values(const CompareSpec& spec, const void* got, const void* expected,
                             std::size_t elements) {
  CompareCounts c;
  const bool wide = kDtype == Dtype::kFloat64 || !problem::dtype_is_float(kDtype);
  std::size_t values = problem::dtype_is_packed(kDtype) ? 2 * elements : elements;
  for (std::size_t i = 0; i < values; ++i) {
    Element x = element<kDtype>(got, i);
    Element y = element<kDtype>(expected, i);
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (spec.allow_negative_inf && x.value == -kInf && y.value == -kInf) continue;
    ++c.elements;
    c.got_nan += std::isnan(x.value) ? 1 : 0;
    c.got_inf += std::isinf(x.value) ? 1 : 0;
    c.expected_nan += std::isnan(y.value) ? 1 : 0;
    c.expected_inf += std::isinf(y.value) ? 1 : 0;
    c.got_nonzero += x.value != 0 ? 1 : 0;
    c.expected_nonzero += y.value != 0 ? 1 : 0;
    bool finite = std::isfinite(x.value) && std::isfinite(y.value);
    double error = finite ? std::fabs(x.value - y.value) : kInf;
    double allowed = finite ? spec.atol + spec.rtol * std::fabs(y.value) : 0;
    bool ok = finite && (wide ? matches(spec, x.value, y.value)
                              : matches(spec, static_cast<float>(x.value), static_cast<float>(y.value)));
    c.matched += ok ? 1 : 0;
    if (finite) {
      c.max_absolute_error = std::max(c.max_absolute_error, error);
      double scale = std::max(std::fabs(y.value), spec.atol);
      // Most elements are equal: no division for those.
      if (error > 0 && scale > 0) c.max_relative_error = std::max(c.max_relative_error, error / scale);
      std::uint64_t distance =
          x.ordinal > y.ordinal
              ? static_cast<std::uint64_t>(x.ordinal) - static_cast<std::uint64_t>(y.ordinal)
              : static_cast<std::uint64_t>(y.ordinal) - static_cast<std::uint64_t>(x.ordinal);
      ++c.ulp[ulp_bucket(distance)];
    } else {
      ++c.ulp[kUlpBuckets - 1];
    }
    double score = finite ? error - allowed : kInf;
    if (c.elements == 1 || score > c.worst_score) {
      c.worst_score = score;
      c.worst_index = i;
      c.worst_got = x.value;
      c.worst_expected = y.value;
    }
  }
  return c;
}

}  // namespace

CompareCounts compare_on_cpu(const CompareSpec& spec, const void* got, const void* expected,
                             std::size_t elements) {
  switch (spec.dtype) {
#define SOLMARK_CASE(dtype) \
  case Dtype::dtype:        \
    return compare_values<Dtype::dtype>(spec, got, expected, elements)
    SOLMARK_CASE(kFloat64);
    SOLMARK_CASE(kFloat32);
    SOLMARK_CASE(kFloat16);
    SOLMARK_CASE(kBfloat16);
    SOLMARK_CASE(kFloat8E4m3fn);
    SOLMARK_CASE(kFloat8E5m2);
    SOLMARK_CASE(kFloat4E2m1);
    SOLMARK_CASE(kFloat4E2m1x2);
    SOLMARK_CASE(kInt64);
    SOLMARK_CASE(kInt32);
    SOLMARK_CASE(kInt16);
    SOLMARK_CASE(kInt8);
    SOLMARK_CASE(kUint8);
    SOLMARK_CASE(kBool);
#undef SOLMARK_CASE
  }
  return {};
}

void merge(CompareCounts& into, const CompareCounts& part, std::uint64_t first_index) {
  if (part.elements > 0 && (into.elements == 0 || part.worst_score > into.worst_score)) {
    into.worst_score = part.worst_score;
    into.worst_index = part.worst_index + first_index;
    into.worst_got = part.worst_got;
    into.worst_expected = part.worst_expected;
  }
  into.elements += part.elements;
  into.matched += part.matched;
  into.got_nan += part.got_nan;
  into.got_inf += part.got_inf;
  into.expected_nan += part.expected_nan;
  into.expected_inf += part.expected_inf;
  into.got_nonzero += part.got_nonzero;
  into.expected_nonzero += part.expected_nonzero;
  into.max_absolute_error = std::max(into.max_absolute_error, part.max_absolute_error);
  into.max_relative_error = std::max(into.max_relative_error, part.max_relative_error);
  for (int i = 0; i < kUlpBuckets; ++i) into.ulp[i] += part.ulp[i];
}

}  // namespace solmark::stats
