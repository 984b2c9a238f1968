#include "build/toolchain.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/process.h"

namespace solmark::build {
namespace fs = std::filesystem;
namespace {

// What a compiler may see of our environment. An allowlist, because sources can read it (/proc/self/environ)
// and print it into the log.
constexpr const char* kPassedOn[] = {
    "PATH",         "HOME",        "TMPDIR",     "LD_LIBRARY_PATH", "CUDA_HOME",         "CUDA_PATH",
    "CUTLASS_DIR",  "CUDNN_HOME",  "CUDNN_PATH", "CPATH",           "C_INCLUDE_PATH",    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH", "VIRTUAL_ENV", "CCACHE_DIR", "MAX_JOBS",        "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS",
};

std::map<std::string, std::string> build_environment() {
  std::map<std::string, std::string> out;
  auto ours = current_environment();
  for (const char* name : kPassedOn) {
    if (auto found = ours.find(name); found != ours.end()) out[name] = found->second;
  }
  out["LC_ALL"] = "C";
  if (!out.contains("PATH")) out["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  return out;
}

std::string find_nvcc(const BuildRequest& request, const std::map<std::string, std::string>& environment) {
  std::string found = find_program(request.nvcc, environment.at("PATH"));
  if (!found.empty() || request.nvcc.find('/') != std::string::npos) return found;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (!found.empty() || !environment.contains(name)) continue;
    found = find_program((fs::path(environment.at(name)) / "bin" / request.nvcc).string(), {});
  }
  return found.empty() ? find_program("/usr/local/cuda/bin/" + request.nvcc, {}) : found;
}

fs::path first_folder_with(const std::vector<fs::path>& folders, const char* file) {
  for (const auto& folder : folders) {
    std::error_code ec;
    if (fs::exists(folder / file, ec)) return folder.lexically_normal();
  }
  return {};
}

}  // namespace

std::string find_program(const std::string& name, const std::string& path) {
  auto runs = [](const std::string& file) {
    std::error_code ec;
    return fs::is_regular_file(file, ec) && access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? fs::absolute(name).string() : std::string();
  for (std::size_t start = 0; start <= path.size();) {
    std::size_t end = std::min(path.find(':', start), path.size());
    std::string file = path.substr(start, end - start) + "/" + name;
    if (end > start && runs(file)) return file;
    start = end + 1;
  }
  return {};
}

Result<std::string> ask_program(const std::vector<std::string>& argv,
                                const std::map<std::string, std::string>& environment) {
  SpawnSpec spec;
  spec.argv = argv;
  spec.environment = environment;
  SOLMARK_TRY(Child child, Child::spawn(spec));
  auto ended = child.wait(std::chrono::seconds(30));
  child.kill();
  if (!ended) return machine_error(fmt::format("{} did not answer within 30 s", argv[0]));
  if (ended->signalled || ended->code != 0) {
    return machine_error(fmt::format("{} {}: {}", argv[0], ended->text(), child.output()));
  }
  return child.output();
}

Result<Toolchain> find_toolchain(const BuildRequest& request, bool need_nvcc) {
  Toolchain out;
  out.environment = build_environment();
  out.cxx.path = find_program(request.cxx, out.environment["PATH"]);
  if (out.cxx.path.empty()) {
    return machine_error(fmt::format("the compiler `{}` is not there", request.cxx),
                         "install g++ (at least version 11)");
  }
  SOLMARK_TRY(out.cxx.version, ask_program({out.cxx.path, "--version"}, out.environment));
  if (request.device_kind != "cuda" && !need_nvcc) return out;
  out.nvcc.path = find_nvcc(request, out.environment);
  if (out.nvcc.path.empty()) {
    return machine_error(fmt::format("the compiler `{}` is not there", request.nvcc),
                         "install the CUDA toolkit, or put its bin folder on PATH");
  }
  SOLMARK_TRY(out.nvcc.version, ask_program({out.nvcc.path, "--version"}, out.environment));
  std::error_code ec;
  fs::path real = fs::canonical(out.nvcc.path, ec);
  fs::path root = (ec ? fs::path(out.nvcc.path) : real).parent_path().parent_path();
  fs::path target = root / "targets" / "x86_64-linux";
  out.cuda_include = first_folder_with({root / "include", target / "include"}, "cuda_runtime.h");
  out.cuda_lib = first_folder_with({root / "lib64", target / "lib", root / "lib"}, "libcudart.so");
  return out;
}

}  // namespace solmark::build
