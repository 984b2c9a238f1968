#include <fmt/format.h>

#include <algorithm>

#include "problem/workload.h"

namespace solmark::problem {
namespace fs = std::filesystem;

Result<fs::path> find_blob(const std::string& path, const std::vector<fs::path>& roots) {
  fs::path wanted(path);
  auto is_file = [](const fs::path& p) {
    std::error_code ec;
    return fs::is_regular_file(p, ec);
  };
  if (path.empty() || path.find('\0') != std::string::npos)
    return input_error("a tensor file has no name", {});
  if (std::find(wanted.begin(), wanted.end(), "..") != wanted.end()) {
    return input_error("the tensor file's path climbs out of its folder", path, "remove the \"..\"");
  }
  if (wanted.is_absolute()) {
    if (is_file(wanted)) return wanted;
    return input_error("no such tensor file", path);
  }
  std::string looked;
  for (const fs::path& root : roots) {
    for (auto first = wanted.begin(); first != wanted.end(); ++first) {
      fs::path candidate = root;
      for (auto part = first; part != wanted.end(); ++part) candidate /= *part;
      if (is_file(candidate)) return candidate;
    }
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", root.string());
  }
  return input_error(
      fmt::format("no such tensor file under {}", looked.empty() ? "no folder at all" : looked), path,
      "set FLASHINFER_TRACE_DIR to the folder that holds it");
}

}  // namespace solmark::problem
