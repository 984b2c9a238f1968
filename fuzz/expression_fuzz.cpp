#include "problem/expression.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_expression(std::string_view bytes) {
  using problem::Expression;
  static const std::map<std::string, std::int64_t> values = {
      {"B", 4}, {"S", 4096}, {"zero", 0}, {"n", -7}, {"big", INT64_MAX}, {"low", INT64_MIN}};
  auto arithmetic = Expression::parse(bytes, Expression::Grammar::kArithmetic);
  auto condition = Expression::parse(bytes, Expression::Grammar::kCondition);
  if (!arithmetic.ok()) require(!arithmetic.error().message.empty(), "an error says what");
  if (condition.ok()) {
    auto value = condition->evaluate(values);
    if (!value.ok()) require(!value.error().message.empty(), "an error says what");
  }
  if (!arithmetic.ok()) return;
  auto value = arithmetic->evaluate(values);
  if (!value.ok()) return;
  auto whole = problem::to_integer(*value);
  auto axis = problem::evaluate_axis(bytes, values);
  require(whole.ok() == axis.ok(), "an axis is the expression's whole value");
  if (whole.ok()) require(*whole == *axis, "an axis is the expression's whole value");
  // arithmetic is a part of the grammar of conditions, with the same meaning ("True" and "False" apart)
  if (!condition.ok()) return;
  auto same = condition->evaluate(values);
  if (same.ok()) require(problem::to_text(*same) == problem::to_text(*value), "both grammars agree");
}

}  // namespace solmark::fuzz
