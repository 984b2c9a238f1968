#include "base/result.h"

#include <cstring>

namespace solmark {

std::string Error::text() const {
  std::string out = where.empty() ? message : where + ": " + message;
  if (!mend.empty()) out += "; " + mend;
  return out;
}

Error Error::in(const std::string& context) const {
  Error outer = *this;
  outer.message = context + ": " + message;
  return outer;
}

Error usage_error(std::string message, std::string mend) {
  return {ErrorCode::kUsage, std::move(message), {}, std::move(mend)};
}
Error input_error(std::string message, std::string where, std::string mend) {
  return {ErrorCode::kBadInput, std::move(message), std::move(where), std::move(mend)};
}
Error machine_error(std::string message, std::string mend) {
  return {ErrorCode::kMachine, std::move(message), {}, std::move(mend)};
}
Error internal_error(std::string message) { return {ErrorCode::kInternal, std::move(message), {}, {}}; }
Error timeout_error(std::string message, std::string mend) {
  return {ErrorCode::kTimeout, std::move(message), {}, std::move(mend)};
}
Error errno_error(const std::string& what, int error_number) {
  return machine_error(what + ": " + std::strerror(error_number));
}

}  // namespace solmark
