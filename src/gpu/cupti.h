// CUPTI as a table of function pointers, opened at run time. It is found under its plain name, in the
// toolkit's usual places, in the directories named by SOLMARK_CUPTI_DIR (colon-separated) and in those the
// caller passes (Python's nvidia wheels hold a copy). A copy that the process has already loaded is used
// before any other.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cupti.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::gpu {

#define SOLMARK_CUPTI_FUNCTIONS(X)  \
  X(cuptiGetVersion)                \
  X(cuptiGetResultString)           \
  X(cuptiSubscribe)                 \
  X(cuptiUnsubscribe)               \
  X(cuptiEnableCallback)            \
  X(cuptiEnableDomain)              \
  X(cuptiActivityRegisterCallbacks) \
  X(cuptiActivityEnable)            \
  X(cuptiActivityDisable)           \
  X(cuptiActivityFlushAll)          \
  X(cuptiActivityGetNextRecord)     \
  X(cuptiActivityGetNumDroppedRecords)

struct Cupti {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name
#define SOLMARK_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  SOLMARK_CUPTI_FUNCTIONS(SOLMARK_CUPTI_MEMBER)
#undef SOLMARK_CUPTI_MEMBER
  std::uint32_t version = 0;
  std::string file;  // where it was found

  [[nodiscard]] Status check(CUptiResult result, const std::string& what) const;
};

// Opened at the first successful call, the same table ever after; a failed call may be repeated with
// directories.
Result<const Cupti*> cupti(const std::vector<std::string>& directories = {});

// Every file name that is tried, in order.
std::vector<std::string> cupti_candidates(const std::vector<std::string>& directories);

}  // namespace solmark::gpu

#endif
