#include "gpu/cupti.h"

#if SOLMARK_HAVE_CUDA

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>

namespace solmark::gpu {
namespace {

constexpr std::array kNames = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return out;
}

void* open_any(const std::vector<std::string>& files, std::string& file, std::string& reason) {
  for (const char* name : kNames) {
    if (void* loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) {
      file = name;
      return loaded;
    }
  }
  for (const std::string& candidate : files) {
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      file = candidate;
      return library;
    }
    const char* text = dlerror();
    if (reason.empty() && text != nullptr) reason = text;
  }
  return nullptr;
}

Result<std::unique_ptr<Cupti>> load(const std::vector<std::string>& directories) {
  auto table = std::make_unique<Cupti>();
  std::string reason;
  void* library = open_any(cupti_candidates(directories), table->file, reason);
  if (library == nullptr) {
    return machine_error("cannot open CUPTI: " + reason,
                         "install the CUDA toolkit's CUPTI, or name its folder in SOLMARK_CUPTI_DIR");
  }
#define SOLMARK_RESOLVE(name)                                                   \
  table->name = reinterpret_cast<decltype(table->name)>(dlsym(library, #name)); \
  if (table->name == nullptr)                                                   \
    return machine_error(table->file + " lacks " #name, "install CUPTI of CUDA 12 or 13");
  SOLMARK_CUPTI_FUNCTIONS(SOLMARK_RESOLVE)
#undef SOLMARK_RESOLVE
  SOLMARK_CHECK_OK(table->check(table->cuptiGetVersion(&table->version), "asking CUPTI for its version"));
  return table;
}

}  // namespace

Status Cupti::check(CUptiResult result, const std::string& what) const {
  if (result == CUPTI_SUCCESS) return success();
  const char* text = nullptr;
  if (cuptiGetResultString == nullptr || cuptiGetResultString(result, &text) != CUPTI_SUCCESS) text = nullptr;
  return machine_error(
      fmt::format("{}: {} (CUPTI {})", what, text ? text : "unknown error", static_cast<int>(result)));
}

std::vector<std::string> cupti_candidates(const std::vector<std::string>& directories) {
  std::vector<std::string> folders = directories;
  if (const char* named = std::getenv("SOLMARK_CUPTI_DIR")) {
    std::istringstream parts(named);
    for (std::string part; std::getline(parts, part, ':');) {
      if (!part.empty()) folders.push_back(part);
    }
  }
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    for (const char* name : kNames) out.push_back(folder + "/" + name);
  }
  out.insert(out.end(), kNames.begin(), kNames.end());
  for (const char* place : {"/usr/local/cuda*/extras/CUPTI/lib64", "/usr/local/cuda*/lib64"}) {
    for (const char* name : kNames) {
      for (std::string& file : matches(std::string(place) + "/" + name)) out.push_back(std::move(file));
    }
  }
  return out;
}

Result<const Cupti*> cupti(const std::vector<std::string>& directories) {
  static std::mutex mutex;
  static std::unique_ptr<Cupti> table;
  const std::lock_guard lock(mutex);
  if (table == nullptr) {
    SOLMARK_TRY(table, load(directories));
  }
  return table.get();
}

}  // namespace solmark::gpu

#endif
