// libcuda.so.1 as a table of function pointers, opened at run time: one binary runs with and without a GPU.
// Members carry CUDA's names, so a call reads `driver.cuMemCreate(...)`. The table is plain data: tests fill
// it with fakes. In a build without the CUDA backend only driver() exists, and it always fails with the
// reason.
#pragma once

#include "base/result.h"

#if SOLMARK_HAVE_CUDA
#include <cuda.h>

#include <functional>
#include <string>

#include "gpu/driver_functions.h"
#endif

namespace solmark::gpu {

struct Driver;

// The table of this process, with cuInit done; opened at the first call, the same answer ever after. kMachine
// errors say whether the library, a symbol or the device is missing.
Result<const Driver*> driver();

#if SOLMARK_HAVE_CUDA

// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name
#define SOLMARK_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
struct Driver {
  SOLMARK_DRIVER_REQUIRED(SOLMARK_DRIVER_MEMBER)
  SOLMARK_DRIVER_OPTIONAL(SOLMARK_DRIVER_MEMBER)
  int version = 0;  // of the driver: 13000 is CUDA 13.0

  // Success, or a kMachine error "what: CUDA_ERROR_NAME (text)".
  [[nodiscard]] Status check(CUresult result, const std::string& what) const;
};
#undef SOLMARK_DRIVER_MEMBER

// SOLMARK_NEEDS(driver, cuFuncGetParamInfo): the enclosing function returns an error when this driver lacks
// it.
#define SOLMARK_NEEDS(table, name)                                                                \
  do {                                                                                            \
    if ((table).name == nullptr) return ::solmark::gpu::missing_function((table).version, #name); \
  } while (false)
[[nodiscard]] Error missing_function(int driver_version, const std::string& name);

// Fills the table by asking `lookup` for each exact symbol; an error names the first missing required one.
Result<Driver> load_driver(const std::function<void*(const char* symbol)>& lookup);
// The same from a library file; the library stays open for the life of the process.
Result<Driver> load_driver_library(const std::string& file);

#endif

}  // namespace solmark::gpu
