// The recipe for the torch binding: torch.utils.cpp_extension does the work, in a process of its own.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "build/recipe.h"

namespace solmark::build {
namespace fs = std::filesystem;

Result<Recipe> torch_extension_recipe(const BuildRequest& request, const Toolchain& tools) {
  Recipe out;
  out.kind = ArtefactKind::kTorchExtension;
  out.environment = tools.environment;
  std::string python = find_program(request.python, out.environment["PATH"]);
  if (python.empty())
    return machine_error(fmt::format("`{}` is not there", request.python), "install Python 3.11");
  // The ninja of a virtual environment lies beside its interpreter; torch looks for it on PATH.
  out.environment["PATH"] = fs::path(python).parent_path().string() + ":" + out.environment["PATH"];
  out.environment["PYTHONPATH"] = request.python_root.string();
  out.environment["PYTHONDONTWRITEBYTECODE"] = "1";
  out.environment["CXX"] = tools.cxx.path;
  if (!tools.nvcc.path.empty() && !out.environment.contains("CUDA_HOME")) {
    out.environment["CUDA_HOME"] = fs::path(tools.nvcc.path).parent_path().parent_path().string();
  }
  auto versions =
      ask_program({python, "-P", "-c",
                   "import importlib.metadata as m, sys; print(sys.version); print(m.version('torch'))"},
                  out.environment);
  if (!versions) {
    return machine_error(fmt::format("{} has no torch, which the torch binding needs", python),
                         "install PyTorch for it, or use the dlpack binding");
  }
  out.identity = {tools.cxx.version, tools.nvcc.version, *versions};

  std::vector<std::string> sources = compiled_sources(request.solution);
  if (sources.empty()) {
    return input_error("the solution has no source to compile", request.solution.file.string(),
                       "give it a .cu, .cpp, .cc, .cxx or .c file");
  }
  problem::CompileOptions flags = given_options(request);
  bool cuda = request.device_kind == "cuda";
  std::vector<std::string> includes = {"."};
  if (cuda) {
    for (const auto& flag : arch_flags(request, flags.cuda_cflags)) flags.cuda_cflags.push_back(flag);
    for (const auto& folder : cutlass_folders(tools)) includes.push_back(folder);
    for (const auto& folder : cudnn_folders(tools, "include")) includes.push_back(folder);
    for (const auto& folder : cudnn_folders(tools, "lib")) flags.ld_flags.push_back("-L" + folder);
    for (const auto& library : language_libraries(request.solution)) flags.ld_flags.push_back(library);
  }
  Json spec = {{"name", kModuleName},
               {"sources", sources},
               {"include_paths", includes},
               {"cflags", flags.cflags},
               {"cuda_cflags", flags.cuda_cflags},
               {"ld_flags", flags.ld_flags},
               {"with_cuda", cuda},
               {"build_folder", kObjectFolder},
               {"output", fmt::format("{}/{}.so", kOutputFolder, kModuleName)},
               {"depfile", fmt::format("{}/extension.d", kObjectFolder)}};
  out.files["spec.json"] = to_json_line(spec);
  // -P: the working folder holds the candidate's sources, and a `torch.py` among them must not run here.
  out.compile = {{python, "-P", "-m", "solmark.build.torch_extension", "../spec.json"}};
  return out;
}

}  // namespace solmark::build
