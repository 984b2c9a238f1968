// The recipe for the dlpack binding: g++ and nvcc straight, no torch.
#include <fmt/format.h>

#include <algorithm>

#include "build/recipe.h"

namespace solmark::build {
namespace {

using Flags = std::vector<std::string>;

void append(Flags& to, const Flags& more) { to.insert(to.end(), more.begin(), more.end()); }

// Our defaults, each only when the user has said nothing on the matter: nvcc warns about options given twice.
Flags defaults(const Flags& ours, const Flags& users) {
  Flags out;
  for (const auto& flag : ours) {
    std::string stem = flag.starts_with("-O") ? "-O" : flag.substr(0, flag.find('='));
    bool said = std::any_of(users.begin(), users.end(), [&](const std::string& user) {
      return user.starts_with(stem) || user.starts_with("-" + stem);
    });
    if (!said) out.push_back(flag);
  }
  return out;
}

std::string object_of(const std::string& source) {
  std::string name = source;
  std::replace(name.begin(), name.end(), '/', '@');
  return fmt::format("{}/{}.o", kObjectFolder, name);
}

struct Flagset {
  Flags host;
  Flags device;
  Flags link;
};

Flagset flagset(const BuildRequest& request) {
  const problem::CompileOptions given = given_options(request);
  Flagset out{given.cflags, given.cuda_cflags, given.ld_flags};
  Flags host_defaults = {"-std=c++20", "-O3"};
  if (has_language(request.solution, problem::Language::kCpp)) host_defaults.emplace_back("-march=native");
  Flags host = defaults(host_defaults, out.host);
  append(host, out.host);
  out.host = host;
  Flags device = defaults({"-std=c++17", "-O3"}, out.device);
  append(device, arch_flags(request, out.device));
  append(device, out.device);
  out.device = device;
  return out;
}

Flags include_flags(const BuildRequest& request, const Toolchain& tools, const std::string& headers) {
  Flags out = {"-I.", "-I" + headers};
  if (request.device_kind != "cuda") return out;
  for (const auto& folder : cutlass_folders(tools)) out.push_back("-I" + folder);
  for (const auto& folder : cudnn_folders(tools, "include")) out.push_back("-I" + folder);
  return out;
}

// nvcc hands "-Wl,a,b" to the linker as it stands.
Flags for_nvcc_link(const Flags& users) {
  Flags out;
  for (const auto& flag : users) {
    if (flag.starts_with("-Wl,")) {
      append(out, {"-Xlinker", flag.substr(4)});
    } else {
      out.push_back(flag);
    }
  }
  return out;
}

// Objects built for the GPU need the device linker; all others go through g++.
Flags link_command(const BuildRequest& request, const Toolchain& tools, const Flagset& flags,
                   const Flags& objects, bool has_cuda_source) {
  Flags out;
  if (has_cuda_source) {
    out = {tools.nvcc.path, "-ccbin", tools.cxx.path, "-shared", "--cudart=shared", "--forward-unknown-opts"};
    append(out, flags.device);
  } else {
    out = {tools.cxx.path, "-shared"};
    append(out, flags.host);  // -fopenmp, -flto and -fsanitize count at link time too
  }
  append(out, {"-o", fmt::format("{}/{}.so", kOutputFolder, kModuleName)});
  append(out, objects);
  if (request.device_kind == "cuda") {
    std::string lib = tools.cuda_lib.string();
    if (!lib.empty()) append(out, {"-L" + lib, "-L" + lib + "/stubs", "-Xlinker", "-rpath", "-Xlinker", lib});
    for (const auto& folder : cudnn_folders(tools, "lib")) out.push_back("-L" + folder);
    append(out, language_libraries(request.solution));
    if (!has_cuda_source) out.emplace_back("-lcudart");
  }
  append(out, has_cuda_source ? for_nvcc_link(flags.link) : flags.link);
  return out;
}

}  // namespace

Result<Recipe> shared_object_recipe(const BuildRequest& request, const Toolchain& tools,
                                    const std::string& headers) {
  Recipe out;
  out.kind = ArtefactKind::kSharedObject;
  out.environment = tools.environment;
  out.identity = {tools.cxx.version, tools.nvcc.version};
  Flagset flags = flagset(request);
  Flags includes = include_flags(request, tools, headers);
  Flags objects;
  bool has_cuda_source = false;
  for (const auto& source : compiled_sources(request.solution)) {
    Flags command;
    if (is_cuda_source(source)) {
      has_cuda_source = true;
      command = {tools.nvcc.path, "-ccbin", tools.cxx.path, "-Xcompiler", "-fPIC"};
      append(command, flags.device);
    } else {
      command = {tools.cxx.path, "-fPIC"};
      append(command, flags.host);
    }
    append(command, includes);
    if (!is_cuda_source(source) && !tools.cuda_include.empty())
      command.push_back("-I" + tools.cuda_include.string());
    std::string object = object_of(source);
    append(command, {"-MD", "-MF", object + ".d", "-c", source, "-o", object});
    out.compile.push_back(std::move(command));
    objects.push_back(std::move(object));
  }
  if (objects.empty()) {
    return input_error("the solution has no source to compile", request.solution.file.string(),
                       "give it a .cu, .cpp, .cc, .cxx or .c file");
  }
  out.link = link_command(request, tools, flags, objects, has_cuda_source);
  // "native" is another machine's code elsewhere.
  bool native = std::find(flags.host.begin(), flags.host.end(), "-march=native") != flags.host.end();
  if (native) {
    if (auto target =
            ask_program({tools.cxx.path, "-march=native", "-Q", "--help=target"}, tools.environment)) {
      out.identity.push_back(*target);
    }
  }
  return out;
}

}  // namespace solmark::build
