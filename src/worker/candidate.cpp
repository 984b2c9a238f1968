#include <fmt/format.h>

#include <array>

#include "worker/session.h"

namespace solmark::worker {
namespace {

constexpr std::size_t kErrorBytes = 8192;

class ErrorText {
 public:
  char* data() { return bytes_.data(); }
  std::string text() {
    bytes_.back() = '\0';
    return bytes_.data();
  }

 private:
  std::array<char, kErrorBytes> bytes_{};
};

const char* kind_of(int result) {
  switch (result) {
    case SOLMARK_CALL_WRONG_SHAPE:
      return "shape";
    case SOLMARK_CALL_WRONG_DTYPE:
      return "dtype";
    case SOLMARK_CALL_WRONG_DEVICE:
      return "device";
    default:
      return "runtime";
  }
}

}  // namespace

Outcome Candidate::load(const std::string& request_json) {
  ErrorText error;
  if (hooks_.load(hooks_.self, request_json.c_str(), error.data(), kErrorBytes) == SOLMARK_CALL_OK) return {};
  return Failure{"load", error.text()};
}

Outcome Candidate::bind(const std::string& request_json) {
  ErrorText error;
  if (hooks_.bind(hooks_.self, request_json.c_str(), error.data(), kErrorBytes) == SOLMARK_CALL_OK) return {};
  return Failure{"worker", error.text()};
}

Outcome Candidate::call(std::int64_t slot, void* stream, bool copy_out) {
  // Not cleared before each call: 8 KiB of stores inside a timed batch.
  thread_local ErrorText error;
  error.data()[0] = '\0';
  int result = hooks_.call(hooks_.self, slot, stream, copy_out ? 1 : 0, error.data(), kErrorBytes);
  if (result == SOLMARK_CALL_OK) return {};
  return Failure{kind_of(result), error.text()};
}

void Session::report_output(std::int64_t, std::int32_t, std::uint64_t) {}
void* Session::allocate(std::size_t, void*) { return nullptr; }
void Session::deallocate(void*, std::size_t, void*) {}

}  // namespace solmark::worker
