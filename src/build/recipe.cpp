#include "build/recipe.h"

#include <fmt/format.h>

#include <algorithm>

namespace solmark::build {
namespace fs = std::filesystem;

bool is_cuda_source(const std::string& path) { return path.ends_with(".cu"); }

std::vector<std::string> compiled_sources(const problem::Solution& solution) {
  std::vector<std::string> out;
  for (const auto& source : solution.sources) {
    std::string extension = fs::path(source.path).extension().string();
    for (const char* compiled : {".cu", ".cpp", ".cc", ".cxx", ".c"}) {
      if (extension == compiled) out.push_back(fs::path(source.path).lexically_normal().string());
    }
  }
  return out;
}

bool has_language(const problem::Solution& solution, problem::Language language) {
  return std::find(solution.languages.begin(), solution.languages.end(), language) !=
         solution.languages.end();
}

std::vector<std::string> arch_flags(const BuildRequest& request, const std::vector<std::string>& flags) {
  for (const auto& flag : flags) {
    if (flag.find("-gencode") != std::string::npos || flag.find("-arch") != std::string::npos) return {};
  }
  if (request.compute_capability <= 0) return {};
  return {
      fmt::format("-arch=sm_{}{}", request.compute_capability, request.compute_capability >= 90 ? "a" : "")};
}

problem::CompileOptions given_options(const BuildRequest& request) {
  problem::CompileOptions out = request.solution.compile_options.value_or(problem::CompileOptions{});
  if (request.device_kind != "cuda") std::erase(out.ld_flags, "-lcuda");
  return out;
}

std::vector<std::string> cutlass_folders(const Toolchain& tools) {
  auto found = tools.environment.find("CUTLASS_DIR");
  if (found == tools.environment.end() || found->second.empty()) return {};
  return {found->second + "/include", found->second + "/tools/util/include"};
}

std::vector<std::string> language_libraries(const problem::Solution& solution) {
  std::vector<std::string> out;
  if (has_language(solution, problem::Language::kCublas)) out = {"-lcublas", "-lcublasLt"};
  if (has_language(solution, problem::Language::kCudnn)) out.emplace_back("-lcudnn");
  return out;
}

std::vector<std::string> cudnn_folders(const Toolchain& tools, const char* folder) {
  std::vector<std::string> out;
  for (const char* name : {"CUDNN_HOME", "CUDNN_PATH"}) {
    auto found = tools.environment.find(name);
    if (found != tools.environment.end() && !found->second.empty())
      out.push_back(found->second + "/" + folder);
  }
  return out;
}

}  // namespace solmark::build
