// Errors are values. Result<T> holds a T or an Error that says what is wrong, where, and how to mend it.
// A candidate's failure is not an Error: it is data (a status in a Trace). Errors are for us, the user's
// files and the machine; their code decides the exit code of the command line.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace solmark {

enum class ErrorCode {
  kUsage,     // exit 2: a wrong option or a combination that makes no sense
  kBadInput,  // exit 3: a file that does not say what it must
  kMachine,   // exit 4: this machine cannot do it
  kInternal,  // exit 5: our fault
  kTimeout,   // exit 124: a time limit of ours ended
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // lower case, no final period
  std::string where;    // file:line:column or file#/json/pointer; may be empty
  std::string mend;     // what the user can do; may be empty

  // "where: message; mend"
  [[nodiscard]] std::string text() const;
  // The same error with an outer context put before its message: "context: message".
  [[nodiscard]] Error in(const std::string& context) const;
};

[[nodiscard]] Error usage_error(std::string message, std::string mend = {});
[[nodiscard]] Error input_error(std::string message, std::string where, std::string mend = {});
[[nodiscard]] Error machine_error(std::string message, std::string mend = {});
[[nodiscard]] Error internal_error(std::string message);
[[nodiscard]] Error timeout_error(std::string message, std::string mend = {});
// kMachine with the text of errno.
[[nodiscard]] Error errno_error(const std::string& what, int error_number);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

[[nodiscard]] inline Status success() { return {}; }

}  // namespace solmark

#define SOLMARK_CONCAT_(a, b) a##b
#define SOLMARK_CONCAT(a, b) SOLMARK_CONCAT_(a, b)
// SOLMARK_TRY(auto x, f()): x gets the value, or the enclosing function returns the error.
#define SOLMARK_TRY(declaration, expression) \
  SOLMARK_TRY_(SOLMARK_CONCAT(result_, __LINE__), declaration, expression)
// A declaration and a variable's name cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define SOLMARK_TRY_(name, declaration, expression) \
  auto name = (expression);                         \
  if (!name.ok()) return name.error();              \
  declaration = std::move(name).value()
// NOLINTEND(bugprone-macro-parentheses)
// SOLMARK_CHECK_OK(f()): the enclosing function returns the error of a Status or Result, if there is one.
#define SOLMARK_CHECK_OK(expression)                                            \
  do {                                                                          \
    if (auto status_of_expression = (expression); !status_of_expression.ok()) { \
      return status_of_expression.error();                                      \
    }                                                                           \
  } while (false)
