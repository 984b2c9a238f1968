#include "problem/number.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace solmark::problem {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
__extension__ typedef unsigned __int128 Wide;

Error overflow() { return input_error("integer overflow: a value does not fit 64 bits", {}); }
Error division_by_zero() { return input_error("division by zero", {}); }

double as_double(const Number& value) {
  return std::visit([](auto v) { return static_cast<double>(v); }, value);
}

std::uint64_t magnitude(std::int64_t v) {
  return v < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
}

// Python rounds int / int once, correctly; dividing two rounded doubles would round three times.
double true_divide(std::int64_t a, std::int64_t b) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  std::uint64_t ua = magnitude(a);
  std::uint64_t ub = magnitude(b);
  double sign = (a < 0) != (b < 0) ? -1.0 : 1.0;
  if (ua == 0 || (ua <= kExact && ub <= kExact))
    return sign * (static_cast<double>(ua) / static_cast<double>(ub));
  int shift = 0;
  Wide scaled = ua;
  while (scaled < (Wide{1} << 126)) {
    scaled <<= 1;
    ++shift;
  }
  // At least 63 bits of quotient: more than a double and its rounding bit hold, so one sticky bit decides
  // ties.
  Wide quotient = scaled / ub;
  if (scaled % ub != 0) quotient |= 1;
  return sign * std::ldexp(static_cast<double>(quotient), -shift);
}

// Floor quotient and remainder of floats, as Python's float.__divmod__ defines them.
struct FloatDivision {
  double quotient;
  double remainder;
};
FloatDivision divide_floats(double a, double b) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1.0;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  double floored = std::copysign(0.0, a / b);
  if (div != 0) {
    floored = std::floor(div);
    if (div - floored > 0.5) floored += 1.0;
  }
  return {floored, mod};
}

Result<Number> power_floats(double a, double b) {
  if (a == 0 && b < 0) return division_by_zero();
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::floor(b) != b) {
    return input_error("a negative number to a fractional power is complex", {});
  }
  double out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) return input_error("float overflow in **", {});
  return Number(out);
}

Result<Number> power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return power_floats(static_cast<double>(base), static_cast<double>(exponent));
  std::int64_t out = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(out, base, &out)) return overflow();
    exponent >>= 1;
    if (exponent == 0) break;
    if (base == 0 || base == 1) continue;
    if (__builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Number(out);
}

Result<Number> apply_integers(BinaryOperator op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  switch (op) {
    case BinaryOperator::kAdd:
      return __builtin_add_overflow(a, b, &out) ? Result<Number>(overflow()) : Number(out);
    case BinaryOperator::kSubtract:
      return __builtin_sub_overflow(a, b, &out) ? Result<Number>(overflow()) : Number(out);
    case BinaryOperator::kMultiply:
      return __builtin_mul_overflow(a, b, &out) ? Result<Number>(overflow()) : Number(out);
    case BinaryOperator::kPower:
      return power(a, b);
    default:
      break;
  }
  if (b == 0) return division_by_zero();
  if (op == BinaryOperator::kDivide) return Number(true_divide(a, b));
  if (b == -1) {  // INT64_MIN / -1 traps on x86
    if (op == BinaryOperator::kModulo) return Number(std::int64_t{0});
    return negate(Number(a));
  }
  std::int64_t quotient = a / b;
  std::int64_t remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return Number(op == BinaryOperator::kFloorDivide ? quotient : remainder);
}

}  // namespace

Result<Number> apply(BinaryOperator op, const Number& left, const Number& right) {
  if (std::holds_alternative<std::int64_t>(left) && std::holds_alternative<std::int64_t>(right)) {
    return apply_integers(op, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
  }
  double a = as_double(left);
  double b = as_double(right);
  switch (op) {
    case BinaryOperator::kAdd:
      return Number(a + b);
    case BinaryOperator::kSubtract:
      return Number(a - b);
    case BinaryOperator::kMultiply:
      return Number(a * b);
    case BinaryOperator::kPower:
      return power_floats(a, b);
    default:
      break;
  }
  if (b == 0) return division_by_zero();
  if (op == BinaryOperator::kDivide) return Number(a / b);
  FloatDivision d = divide_floats(a, b);
  return Number(op == BinaryOperator::kFloorDivide ? d.quotient : d.remainder);
}

Result<Number> negate(const Number& value) {
  if (const double* real = std::get_if<double>(&value)) return Number(-*real);
  std::int64_t out = 0;
  if (__builtin_sub_overflow(std::int64_t{0}, std::get<std::int64_t>(value), &out)) return overflow();
  return Number(out);
}

bool is_truthy(const Number& value) {
  return std::visit([](auto v) { return v != 0; }, value);
}

std::partial_ordering compare(const Number& left, const Number& right) {
  const auto* a = std::get_if<std::int64_t>(&left);
  const auto* b = std::get_if<std::int64_t>(&right);
  if ((a != nullptr) && (b != nullptr)) return *a <=> *b;
  if ((a == nullptr) && (b == nullptr)) return std::get<double>(left) <=> std::get<double>(right);
  if (a == nullptr) return 0 <=> compare(right, left);
  double real = std::get<double>(right);
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= kTwo63) return std::partial_ordering::less;
  if (real < -kTwo63) return std::partial_ordering::greater;
  auto whole = static_cast<std::int64_t>(real);
  if (*a != whole) return *a <=> whole;
  return 0.0 <=> (real - std::trunc(real));
}

Result<std::int64_t> to_integer(const Number& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  double real = std::get<double>(value);
  if (!std::isfinite(real) || std::trunc(real) != real) {
    return input_error(fmt::format("the result {} is not a whole number", to_text(value)), {},
                       "use // for whole division");
  }
  if (real >= kTwo63 || real < -kTwo63) return overflow();
  return static_cast<std::int64_t>(real);
}

std::string to_text(const Number& value) {
  return std::visit([](auto v) { return fmt::format("{}", v); }, value);
}

}  // namespace solmark::problem
