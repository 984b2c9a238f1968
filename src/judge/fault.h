// What went wrong in one workload, as data: whose fault it is is in the status.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "judge/trace.h"

namespace solmark::judge {

struct Fault {
  TraceStatus status = TraceStatus::kInfraError;
  std::string words;
  bool process_lost = false;  // the child is gone or must be ended: the next workload needs a new one
};
// Nothing, or a fault.
using Step = std::optional<Fault>;

inline Fault infra_fault(const Error& error) { return {TraceStatus::kInfraError, error.text(), false}; }

}  // namespace solmark::judge

// The enclosing function (which returns Step) returns our own error as a fault of the harness.
#define SOLMARK_STEP_TRY(declaration, expression) \
  SOLMARK_STEP_TRY_(SOLMARK_CONCAT(result_, __LINE__), declaration, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration and a name
#define SOLMARK_STEP_TRY_(name, declaration, expression)              \
  auto name = (expression);                                           \
  if (!name.ok()) return ::solmark::judge::infra_fault(name.error()); \
  declaration = std::move(name).value()
// NOLINTEND(bugprone-macro-parentheses)
#define SOLMARK_STEP_OK(expression)                                   \
  do {                                                                \
    if (auto&& status_of_step = (expression); !status_of_step.ok()) { \
      return ::solmark::judge::infra_fault(status_of_step.error());   \
    }                                                                 \
  } while (false)
// The enclosing function returns the fault of an inner step, if there is one.
#define SOLMARK_STEP(expression)                                       \
  do {                                                                 \
    if (auto inner_step = (expression); inner_step) return inner_step; \
  } while (false)
