// Writes a solution's sources into a folder.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "problem/solution.h"

namespace solmark::build {

// Every source at its path below `folder`. A path that would leave the folder, two sources at one path, or a
// file where another source needs a folder is an Error.
Status stage_sources(const problem::Solution& solution, const std::filesystem::path& folder);

}  // namespace solmark::build
