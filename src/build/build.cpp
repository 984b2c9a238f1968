#include "build/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "build/cache.h"
#include "build/recipe.h"
#include "build/run_steps.h"
#include "build/stage.h"
#include "build/toolchain.h"

// include/solmark/{call,dlpack}.h, embedded (cmake/EmbedFile.cmake).
extern const unsigned char solmark_call_header[];
extern const std::size_t solmark_call_header_size;
extern const unsigned char solmark_dlpack_header[];
extern const std::size_t solmark_dlpack_header_size;

namespace solmark::build {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

std::string_view as_text(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// The include root of solmark/call.h; its name carries the contents, so an entry of another version cannot be
// meant.
Result<std::string> write_headers(const fs::path& cache_folder) {
  auto call = as_text(solmark_call_header, solmark_call_header_size);
  auto dlpack = as_text(solmark_dlpack_header, solmark_dlpack_header_size);
  std::string hash = sha256_hex(std::string(call) + std::string(dlpack));
  fs::path root = cache_folder / ("include-" + hash.substr(0, 16));
  std::error_code ec;
  fs::create_directories(root / "solmark", ec);
  if (ec) {
    return machine_error(fmt::format("{} cannot be made: {}", root.string(), ec.message()),
                         "set XDG_CACHE_HOME to a folder that can be written");
  }
  for (auto [name, content] : {std::pair{"call.h", call}, std::pair{"dlpack.h", dlpack}}) {
    fs::path file = root / "solmark" / name;
    auto there = read_file(file);
    if (!there || *there != content) SOLMARK_CHECK_OK(write_file(file, content));
  }
  return fs::absolute(root).string();
}

Result<BuildOutcome> stage_python(const BuildRequest& request) {
  const auto& solution = request.solution;
  SOLMARK_TRY(TemporaryFolder folder, TemporaryFolder::create("solmark-candidate"));
  SOLMARK_CHECK_OK(stage_sources(solution, folder.path()));
  BuildOutcome out;
  out.ok = true;
  out.artefact.kind = ArtefactKind::kPythonFile;
  out.artefact.folder = folder.path();
  out.artefact.path = (folder.path() / solution.entry_file).lexically_normal();
  out.artefact.entry = solution.entry_function;
  out.artefact.staged = std::make_shared<const TemporaryFolder>(std::move(folder));
  return out;
}

Status check(const BuildRequest& request) {
  const auto& solution = request.solution;
  auto refuse = [&](std::string what, std::string mend) {
    return input_error(std::move(what), solution.file.string(), std::move(mend));
  };
  bool listed = std::any_of(solution.sources.begin(), solution.sources.end(),
                            [&](const auto& source) { return source.path == solution.entry_file; });
  if (!listed) {
    return refuse(fmt::format("the entry file `{}` is not among the sources", solution.entry_file),
                  "name one of the sources in entry_point");
  }
  if (solution.is_python() || request.device_kind == "cuda") return success();
  for (auto language : solution.languages) {
    if (language != problem::Language::kCpp) {
      return refuse("the solution's language is for NVIDIA GPUs, and the device is the cpu",
                    "choose --device cuda, or write it in the language `cpp`");
    }
  }
  for (const auto& source : compiled_sources(solution)) {
    if (is_cuda_source(source)) {
      return refuse(fmt::format("`{}` needs nvcc, and the device is the cpu", source),
                    "choose --device cuda");
    }
  }
  return success();
}

// A workspace, gone with everything in it at the end of the scope.
class Workspace {
 public:
  explicit Workspace(fs::path path) : path_(std::move(path)) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    std::error_code ec;
    fs::remove_all(path_, ec);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Result<StepsResult> run_recipe(const BuildRequest& request, const Recipe& recipe, const fs::path& workspace,
                               Clock::time_point end) {
  SOLMARK_CHECK_OK(stage_sources(request.solution, workspace / "src"));
  for (const auto& [name, content] : recipe.files) SOLMARK_CHECK_OK(write_file(workspace / name, content));
  fs::path folder = workspace / "src";
  SOLMARK_TRY(StepsResult result,
              run_steps(recipe.compile, folder, recipe.environment, end, request.log_limit));
  if (result.ok && !recipe.link.empty()) {
    SOLMARK_TRY(StepsResult linked,
                run_steps({recipe.link}, folder, recipe.environment, end, request.log_limit));
    linked.log = shorten(result.log + linked.log, request.log_limit);
    result = std::move(linked);
  }
  return result;
}

}  // namespace

std::string_view artefact_kind_name(ArtefactKind kind) {
  switch (kind) {
    case ArtefactKind::kSharedObject:
      return "shared_object";
    case ArtefactKind::kPythonFile:
      return "python_file";
    case ArtefactKind::kTorchExtension:
      return "torch_extension";
  }
  return "";
}

Result<BuildOutcome> build(const BuildRequest& request) {
  auto start = Clock::now();
  SOLMARK_CHECK_OK(check(request));
  if (request.solution.is_python()) return stage_python(request);

  SOLMARK_TRY(Toolchain tools, find_toolchain(request, false));
  bool dlpack = request.solution.binding == problem::Binding::kDlpack;
  std::string headers;
  if (dlpack) {
    SOLMARK_TRY(headers, write_headers(request.cache_folder));
  }
  SOLMARK_TRY(Recipe recipe, dlpack ? shared_object_recipe(request, tools, headers)
                                    : torch_extension_recipe(request, tools));
  BuildCache cache(request.cache_folder, request.solution, recipe);

  BuildOutcome out;
  out.artefact.kind = recipe.kind;
  out.artefact.entry = request.solution.entry_function;
  if (auto hit = cache.find()) {
    out.ok = true;
    out.log = hit->log;
    out.artefact.path = hit->object;
    out.artefact.from_cache = true;
  } else {
    SOLMARK_TRY(fs::path folder, cache.make_workspace());
    Workspace workspace(folder);
    SOLMARK_TRY(StepsResult steps, run_recipe(request, recipe, workspace.path(), start + request.time_limit));
    out.ok = steps.ok;
    out.timed_out = steps.timed_out;
    out.log = std::move(steps.log);
    if (out.ok) {
      SOLMARK_TRY(out.artefact.path, cache.publish(workspace.path(), out.log));
    }
  }
  out.artefact.folder = out.artefact.path.parent_path();
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

}  // namespace solmark::build
