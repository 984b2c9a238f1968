#include "build/stage.h"

#include <fmt/format.h>

#include "base/files.h"

namespace solmark::build {
namespace fs = std::filesystem;

Status stage_sources(const problem::Solution& solution, const fs::path& folder) {
  for (const auto& source : solution.sources) {
    auto refuse = [&](const std::string& why) {
      return input_error(fmt::format("source `{}` {}", source.path, why), solution.file.string(),
                         "give each source a path of its own below the solution's folder");
    };
    if (!is_contained_path(source.path)) return refuse("does not stay inside the solution's folder");
    fs::path file = (folder / source.path).lexically_normal();
    if (file.filename().empty()) return refuse("names a folder");
    std::error_code ec;
    fs::create_directories(file.parent_path(), ec);
    if (ec && ec != std::errc::file_exists && ec != std::errc::not_a_directory) {
      return machine_error(fmt::format("{} cannot be made: {}", file.parent_path().string(), ec.message()));
    }
    if (ec || !fs::is_directory(file.parent_path())) return refuse("lies below another source");
    if (fs::exists(file)) return refuse("is there twice");
    SOLMARK_CHECK_OK(write_file(file, source.content));
  }
  return success();
}

}  // namespace solmark::build
