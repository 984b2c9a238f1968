// Writes a solution's sources into a folder, each at its own path below it. Paths are the candidate's words:
// none may lead out of the folder.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "problem/solution.h"

namespace solmark::build {

// Every source at its path below `folder`. A path that would leave the folder, two sources at one path, or a
// file where another source needs a folder is an Error.
Status stage_sources(const problem::Solution& solution, const std::filesystem::path& folder);

}  // namespace solmark::build
