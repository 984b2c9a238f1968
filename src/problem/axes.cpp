#include <fmt/format.h>

#include "problem/expression.h"
#include "problem/workload.h"

namespace solmark::problem {
namespace {

Error axis_error(const Definition& definition, const Workload& workload, const std::string& message,
                 const std::string& mend) {
  return input_error(fmt::format("workload {}: {}", workload.uuid, message),
                     workload.where.empty() ? definition.file.string() : workload.where, mend);
}

std::string values_of(const Expression& expression, const AxisValues& values) {
  std::string out;
  for (const std::string& name : expression.names()) {
    auto it = values.find(name);
    if (it != values.end()) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, it->second);
  }
  return out;
}

Status check_constraints(const Definition& definition, const Workload& workload, const AxisValues& values) {
  for (const std::string& text : definition.constraints) {
    auto fail = [&](const std::string& message, const std::string& mend) {
      return axis_error(definition, workload, fmt::format("constraint `{}` {}", text, message), mend);
    };
    auto condition = Expression::parse(text, Expression::Grammar::kCondition);
    if (!condition.ok()) return fail("cannot be read: " + condition.error().message, condition.error().mend);
    auto value = condition->evaluate(values);
    if (!value.ok()) return fail("cannot be evaluated: " + value.error().message, value.error().mend);
    if (!is_truthy(*value)) {
      return fail(fmt::format("does not hold ({})", values_of(*condition, values)),
                  "mend the workload's axes or the definition's constraint");
    }
  }
  return success();
}

}  // namespace

Result<AxisValues> resolve_axes(const Definition& definition, const Workload& workload) {
  AxisValues values;
  for (const Axis& axis : definition.axes) {
    if (axis.kind == Axis::Kind::kConst) values[axis.name] = axis.value;
  }
  for (const auto& [name, value] : workload.axes) values[name] = value;
  for (const Axis& axis : definition.axes) {
    if (axis.kind == Axis::Kind::kVar && !values.contains(axis.name)) {
      return axis_error(definition, workload, fmt::format("variable axis \"{}\" has no value", axis.name),
                        fmt::format("add \"{}\" to the workload's axes", axis.name));
    }
  }
  for (const Axis& axis : definition.axes) {
    if (axis.kind != Axis::Kind::kExpression) continue;
    auto value = evaluate_axis(axis.expression, values);
    if (!value.ok()) {
      return axis_error(
          definition, workload,
          fmt::format("axis \"{}\" = `{}`: {}", axis.name, axis.expression, value.error().message),
          value.error().mend.empty() ? "expressions are evaluated in document order" : value.error().mend);
    }
    if (*value < 0) {
      return axis_error(definition, workload,
                        fmt::format("axis \"{}\" = `{}` is negative: {}", axis.name, axis.expression, *value),
                        {});
    }
    values[axis.name] = *value;
  }
  SOLMARK_CHECK_OK(check_constraints(definition, workload, values));
  return values;
}

}  // namespace solmark::problem
