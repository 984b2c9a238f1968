// cuBLAS allocates its workspaces by a runtime of its own, outside the address window. A handle therefore
// gets a workspace in the window, one for each stream it is used with, at creation and whenever its stream is
// set (which resets it to cuBLAS's own). A workspace that the program sets itself stays.
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "worker/interpose_real.h"
#if SOLMARK_HAVE_CUDA

#include "worker/cuda_scratch.h"

#define SOLMARK_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

using solmark::worker::active_scratch;
using solmark::worker::real_function;

constexpr int kSuccess = 0;                                     // CUBLAS_STATUS_SUCCESS
constexpr int kNotInitialized = 1;                              // CUBLAS_STATUS_NOT_INITIALIZED
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what NVIDIA advises for Hopper
const char* const kLibrary = "libcublas.so";

struct Workspaces {
  std::mutex mutex;
  std::map<std::pair<void*, void*>, void*> by_handle_and_stream;
};
Workspaces& workspaces() {
  static auto* const all = new Workspaces;  // handles outlive static destructors
  return *all;
}

void use_window_workspace(void* handle, void* stream) {
  static int (*set_workspace)(void*, void*, std::size_t) = nullptr;
  auto* scratch = active_scratch();
  if (scratch == nullptr || real_function(set_workspace, "cublasSetWorkspace_v2", kLibrary) == nullptr)
    return;
  const std::lock_guard lock(workspaces().mutex);
  void*& workspace = workspaces().by_handle_and_stream[{handle, stream}];
  if (workspace == nullptr) workspace = scratch->allocate(kWorkspaceBytes, stream);
  // Without memory cuBLAS keeps its own: the call works, and sealing says why it does not.
  if (workspace != nullptr) (void)set_workspace(handle, workspace, kWorkspaceBytes);
}

}  // namespace

SOLMARK_INTERPOSED int cublasCreate_v2(void** handle) {
  static int (*real)(void**) = nullptr;
  if (real_function(real, "cublasCreate_v2", kLibrary) == nullptr) return kNotInitialized;
  const int result = real(handle);
  if (result == kSuccess && handle != nullptr) use_window_workspace(*handle, nullptr);
  return result;
}

SOLMARK_INTERPOSED int cublasSetStream_v2(void* handle, void* stream) {
  static int (*real)(void*, void*) = nullptr;
  if (real_function(real, "cublasSetStream_v2", kLibrary) == nullptr) return kNotInitialized;
  const int result = real(handle, stream);
  if (result == kSuccess) use_window_workspace(handle, stream);
  return result;
}

SOLMARK_INTERPOSED int cublasDestroy_v2(void* handle) {
  static int (*real)(void*) = nullptr;
  if (real_function(real, "cublasDestroy_v2", kLibrary) == nullptr) return kNotInitialized;
  const int result = real(handle);
  auto* scratch = active_scratch();
  const std::lock_guard lock(workspaces().mutex);
  auto& all = workspaces().by_handle_and_stream;
  for (auto entry = all.lower_bound({handle, nullptr}); entry != all.end() && entry->first.first == handle;) {
    // Work that still uses it may be under way in its stream only.
    if (scratch != nullptr && entry->second != nullptr)
      (void)scratch->release(entry->second, entry->first.second);
    entry = all.erase(entry);
  }
  return result;
}

#endif
