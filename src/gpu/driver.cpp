#include "gpu/driver.h"

#if SOLMARK_HAVE_CUDA

#include <dlfcn.h>

#include <string_view>

namespace solmark::gpu {
namespace {

template <class Function>
bool resolve(Function& slot, const std::function<void*(const char*)>& lookup, const char* symbol) {
  slot = reinterpret_cast<Function>(lookup(symbol));
  return slot != nullptr;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<Driver> open_and_initialize() {
  SOLMARK_TRY(Driver table, load_driver_library("libcuda.so.1"));
  SOLMARK_CHECK_OK(table.check(table.cuInit(0), "starting the NVIDIA driver (cuInit)"));
  return table;
}

}  // namespace

Status Driver::check(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return success();
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName == nullptr || cuGetErrorName(result, &name) != CUDA_SUCCESS) name = nullptr;
  if (cuGetErrorString == nullptr || cuGetErrorString(result, &text) != CUDA_SUCCESS) text = nullptr;
  std::string message = what + ": " + (name ? std::string(name) : "CUDA error " + std::to_string(result));
  if (text) message += std::string(" (") + text + ")";
  return machine_error(std::move(message));
}

Error missing_function(int driver_version, const std::string& name) {
  return machine_error("the NVIDIA driver (CUDA " + version_text(driver_version) + ") has no " + name,
                       "install a driver for CUDA 12.4 or later");
}

Result<Driver> load_driver(const std::function<void*(const char*)>& lookup) {
  Driver table;
  // The symbol's text comes from the expanded name, so that cuda.h's version macros apply to it too.
#define SOLMARK_TEXT(symbol) #symbol
#define SOLMARK_REQUIRE(name)                                      \
  if (!resolve(table.name, lookup, SOLMARK_TEXT(name)))            \
    return machine_error("libcuda.so.1 lacks " SOLMARK_TEXT(name), \
                         "install a driver for CUDA 12.4 or "      \
                         "later");
#define SOLMARK_OFFER(name) resolve(table.name, lookup, SOLMARK_TEXT(name));
  SOLMARK_DRIVER_REQUIRED(SOLMARK_REQUIRE)
  SOLMARK_DRIVER_OPTIONAL(SOLMARK_OFFER)
#undef SOLMARK_OFFER
#undef SOLMARK_REQUIRE
#undef SOLMARK_TEXT
  // The older symbol has the same prototype; the newer one only times more kinds of events.
  if (table.cuEventElapsedTime == nullptr) resolve(table.cuEventElapsedTime, lookup, "cuEventElapsedTime");
  SOLMARK_CHECK_OK(table.check(table.cuDriverGetVersion(&table.version), "asking for the driver's version"));
  return table;
}

Result<Driver> load_driver_library(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return machine_error("cannot open the NVIDIA driver: " + std::string(reason ? reason : file),
                         "run on a machine with an NVIDIA GPU and its driver, or use --device cpu");
  }
  return load_driver([library](const char* symbol) { return dlsym(library, symbol); });
}

Result<const Driver*> driver() {
  static const Result<Driver> table = open_and_initialize();
  if (!table.ok()) return table.error();
  return &table.value();
}

}  // namespace solmark::gpu

#else

namespace solmark::gpu {

Result<const Driver*> driver() {
  return machine_error("built without the CUDA backend", "build with the CUDA toolkit and -DSOLMARK_CUDA=ON");
}

}  // namespace solmark::gpu

#endif
