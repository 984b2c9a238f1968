// The build cache. Two steps: the first key covers what is known before compiling (sources, commands,
// versions, environment) and names a folder; each finished build in it lists the headers that its compilation
// read, with their hashes, and is a hit when all of them still have those contents.
//   <cache>/<first key>/<second key>/{benchmark_kernel.so, manifest.json}
// Builds are made in a folder of their own and renamed into place, so that any number may run at once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "build/recipe.h"

namespace solmark::build {

// The paths named in a make-style dependency file: continued lines, escaped blanks and dollars.
std::vector<std::string> parse_depfile(std::string_view text);

class BuildCache {
 public:
  BuildCache(std::filesystem::path folder, const problem::Solution& solution, const Recipe& recipe);

  struct Hit {
    std::filesystem::path object;
    std::string log;
  };
  // A finished build whose headers have not changed and whose object is whole.
  [[nodiscard]] std::optional<Hit> find() const;
  // A fresh folder with src/, obj/ and out/ on the cache's file system.
  [[nodiscard]] Result<std::filesystem::path> make_workspace() const;
  // Moves out/ of a finished build into place, and returns the object's path. Another build may have been
  // first.
  [[nodiscard]] Result<std::filesystem::path> publish(const std::filesystem::path& workspace,
                                                      const std::string& log) const;

 private:
  std::filesystem::path folder_;
  std::string key_;
};

}  // namespace solmark::build
