#include "worker/scalar_bytes.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace solmark::worker {
namespace {

using Bytes = std::array<std::byte, 8>;

template <class T>
Bytes store(T value) {
  Bytes out{};
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

// IEEE half of a double, rounded to nearest even, with one rounding only.
std::uint16_t to_half(double value) {
  auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00U);
  int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  // The significand in units of the last place; a carry into the next exponent comes out right by addition.
  auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  unsigned biased = units < 1024U ? units : (static_cast<unsigned>(exponent + 15) << 10U) + (units - 1024U);
  return static_cast<std::uint16_t>(sign | biased);
}

std::uint16_t to_bfloat(double value) {
  if (std::isnan(value)) return 0x7fc0;
  auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  double size = std::fabs(value);
  if (size >= 0x1.ffp127) return static_cast<std::uint16_t>(sign | 0x7f80U);
  int exponent = size < 0x1p-126 ? -126 : std::ilogb(size);
  auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 7 - exponent)));
  unsigned biased = units < 128U ? units : (static_cast<unsigned>(exponent + 127) << 7U) + (units - 128U);
  return static_cast<std::uint16_t>(sign | biased);
}

template <class T>
std::optional<Bytes> store_integer(std::int64_t value) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return std::nullopt;
  return store(static_cast<T>(value));
}

}  // namespace

std::optional<Bytes> scalar_bytes(problem::Dtype dtype,
                                  const std::variant<std::int64_t, double, bool>& value) {
  double real = std::visit([](auto v) { return static_cast<double>(v); }, value);
  // A fraction given for an integer is cut off, as Python's int() does.
  std::int64_t whole = 0;
  if (const auto* number = std::get_if<double>(&value)) {
    if (!(std::fabs(*number) < 0x1p63) && !problem::dtype_is_float(dtype)) return std::nullopt;
    whole = problem::dtype_is_float(dtype) ? 0 : static_cast<std::int64_t>(*number);
  } else {
    whole = std::holds_alternative<bool>(value) ? std::int64_t{std::get<bool>(value)}
                                                : std::get<std::int64_t>(value);
  }
  switch (dtype) {
    case problem::Dtype::kFloat64:
      return store(real);
    case problem::Dtype::kFloat32:
      return store(static_cast<float>(real));
    case problem::Dtype::kFloat16:
      return store(to_half(real));
    case problem::Dtype::kBfloat16:
      return store(to_bfloat(real));
    case problem::Dtype::kInt64:
      return store(whole);
    case problem::Dtype::kInt32:
      return store_integer<std::int32_t>(whole);
    case problem::Dtype::kInt16:
      return store_integer<std::int16_t>(whole);
    case problem::Dtype::kInt8:
      return store_integer<std::int8_t>(whole);
    case problem::Dtype::kUint8:
      return store_integer<std::uint8_t>(whole);
    case problem::Dtype::kBool:
      return store(static_cast<std::uint8_t>(whole != 0 || (real != 0)));
    default:
      return std::nullopt;
  }
}

}  // namespace solmark::worker
