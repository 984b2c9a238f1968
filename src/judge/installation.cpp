#include "judge/installation.h"

#include <array>
#include <string_view>

#include "base/files.h"

namespace solmark::judge {
namespace fs = std::filesystem;
namespace {

std::string lookup(const std::map<std::string, std::string>& environment, const std::string& name) {
  auto it = environment.find(name);
  return it == environment.end() ? std::string() : it->second;
}

bool is_file(const fs::path& path) {
  std::error_code ec;
  return fs::exists(path, ec);
}

}  // namespace

Result<Installation> find_installation(const std::map<std::string, std::string>& environment,
                                       const std::string& python) {
  Installation out;
  out.environment = environment;
  fs::path here = program_folder();
  out.worker = here / "solmark-worker";
  out.worker_library = here / "libsolmark_worker.so";
  out.replayer = here / "solmark-replayer";
  if (!is_file(out.worker)) {
    return machine_error("solmark-worker is not beside this program in " + here.string(),
                         "build or install Solmark whole");
  }
  fs::path source = SOLMARK_SOURCE_DIR;
  for (const fs::path& root :
       {here / "../share/solmark/python", here / "../python", here / "../../../python", source / "python"}) {
    if (is_file(root / "solmark")) {
      std::error_code ec;
      out.python_root = fs::weakly_canonical(root, ec);
      break;
    }
  }
  if (out.python_root.empty()) {
    return machine_error("the Python package `solmark` is not found",
                         "keep share/solmark/python beside the programs' folder");
  }
  std::string virtual_env = lookup(environment, "VIRTUAL_ENV");
  if (!python.empty()) {
    out.python = python;
  } else if (std::string named = lookup(environment, "SOLMARK_PYTHON"); !named.empty()) {
    out.python = named;
  } else if (!virtual_env.empty()) {
    out.python = virtual_env + "/bin/python3";
  } else if (fs::path beside = out.python_root / "../.venv/bin/python3"; is_file(beside)) {
    out.python = beside.lexically_normal().string();
  } else {
    out.python = "python3";
  }
  std::string cache = lookup(environment, "XDG_CACHE_HOME");
  if (cache.empty() || cache.front() != '/') {
    std::string home = lookup(environment, "HOME");
    cache = home.empty() ? "/tmp" : home + "/.cache";
  }
  out.cache = fs::path(cache) / "solmark";
  return out;
}

std::map<std::string, std::string> child_environment(const Installation& installation) {
  constexpr std::array<std::string_view, 18> kNames = {"PATH",
                                                       "HOME",
                                                       "USER",
                                                       "TMPDIR",
                                                       "LANG",
                                                       "LD_LIBRARY_PATH",
                                                       "XDG_CACHE_HOME",
                                                       "VIRTUAL_ENV",
                                                       "CC",
                                                       "CXX",
                                                       "CUDA_HOME",
                                                       "CUDA_PATH",
                                                       "CUDNN_PATH",
                                                       "CUTLASS_DIR",
                                                       "TORCH_CUDA_ARCH_LIST",
                                                       "MAX_JOBS",
                                                       "HF_HOME",
                                                       "TZ"};
  constexpr std::array<std::string_view, 6> kPrefixes = {"LC_",     "CUDA_", "NVIDIA_",
                                                         "TRITON_", "OMP_",  "MKL_"};
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : installation.environment) {
    bool keep = false;
    for (auto known : kNames) keep = keep || name == known;
    for (auto prefix : kPrefixes) keep = keep || name.rfind(prefix, 0) == 0;
    if (keep) out[name] = value;
  }
  out["PYTHONPATH"] = installation.python_root.string();
  out["PYTHONDONTWRITEBYTECODE"] = "1";
  out["PYTHONUNBUFFERED"] = "1";
  return out;
}

}  // namespace solmark::judge
