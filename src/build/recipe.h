// What a build will run, before anything runs: commands with paths relative to the staged sources, so that
// the same sources give the same recipe wherever they are staged. The recipe is also what identifies the
// build in the cache.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "build/build.h"
#include "build/toolchain.h"

namespace solmark::build {

// Folders of a workspace as its commands see them; the working folder is `src`.
inline constexpr const char* kObjectFolder = "../obj";
inline constexpr const char* kOutputFolder = "../out";
// SOL-ExecBench's name for the result: extensions that write it out instead of TORCH_EXTENSION_NAME load too.
inline constexpr const char* kModuleName = "benchmark_kernel";

struct Recipe {
  ArtefactKind kind = ArtefactKind::kSharedObject;
  std::vector<std::vector<std::string>> compile;  // may run side by side
  std::vector<std::string> link;                  // runs after them
  std::map<std::string, std::string> files;       // written beside the sources' folder before anything runs
  std::map<std::string, std::string> environment;
  std::vector<std::string> identity;  // versions and whatever else decides the result and is in no command
};

// `headers` is the include root of solmark/call.h.
Result<Recipe> shared_object_recipe(const BuildRequest& request, const Toolchain& tools,
                                    const std::string& headers);
Result<Recipe> torch_extension_recipe(const BuildRequest& request, const Toolchain& tools);

// Sources that a compiler is called for, in document order: .cu .cpp .cc .cxx .c, in sub-folders too.
std::vector<std::string> compiled_sources(const problem::Solution& solution);
bool is_cuda_source(const std::string& path);
bool has_language(const problem::Solution& solution, problem::Language language);
// -arch for the request's GPU, unless a flag names one already; sm_90 and later with their own features
// (sm_90a).
std::vector<std::string> arch_flags(const BuildRequest& request, const std::vector<std::string>& flags);
// The solution's compile options; on a device without CUDA they link no CUDA driver, which the format's
// default for ld_flags names and such a machine lacks.
problem::CompileOptions given_options(const BuildRequest& request);
// Folders of $CUTLASS_DIR, if it is set.
std::vector<std::string> cutlass_folders(const Toolchain& tools);
// -lcublas -lcublasLt, -lcudnn for the languages that mean them.
std::vector<std::string> language_libraries(const problem::Solution& solution);
// Include and library folders of $CUDNN_HOME or $CUDNN_PATH.
std::vector<std::string> cudnn_folders(const Toolchain& tools, const char* folder);

}  // namespace solmark::build
