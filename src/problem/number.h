// Numbers as Python has them, within 64 bits: integers stay integers where Python keeps them, `/` gives a
// float,
// `//` and `%` round towards minus infinity. Where Python would grow an integer past 64 bits, there is an
// Error.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

#include "base/result.h"

namespace solmark::problem {

using Number = std::variant<std::int64_t, double>;

enum class BinaryOperator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

Result<Number> apply(BinaryOperator op, const Number& left, const Number& right);
Result<Number> negate(const Number& value);
bool is_truthy(const Number& value);
// Exact, also between an integer and a float; unordered with NaN.
std::partial_ordering compare(const Number& left, const Number& right);
// The integer, or an integral float as an integer; an Error for anything else.
Result<std::int64_t> to_integer(const Number& value);
std::string to_text(const Number& value);

}  // namespace solmark::problem
