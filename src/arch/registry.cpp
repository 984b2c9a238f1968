#include "arch/registry.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>

#include "arch/arch_toml.h"
#include "arch/builtin.h"

namespace solmark::arch {
namespace {

std::vector<std::filesystem::path> user_folders() {
  std::vector<std::filesystem::path> folders;
  const auto add = [&folders](const std::filesystem::path& root) {
    folders.push_back(root / "solmark" / "arch");
  };
  const char* home = std::getenv("HOME");
  const char* data_home = std::getenv("XDG_DATA_HOME");
  if (data_home != nullptr && *data_home == '/') {
    add(data_home);
  } else if (home != nullptr && *home == '/') {
    add(std::filesystem::path(home) / ".local" / "share");
  }
  const char* data_dirs = std::getenv("XDG_DATA_DIRS");
  const std::string list =
      data_dirs != nullptr && *data_dirs != '\0' ? data_dirs : "/usr/local/share:/usr/share";
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin && list[begin] == '/') add(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string suggestion(const std::string& name) {
  std::string known;
  std::string best;
  std::size_t best_distance = 4;
  for (const auto& entry : list_archs()) {
    known += known.empty() ? entry.name : ", " + entry.name;
    // A part's name without its form ("h200") means that part, though another name is fewer letters away.
    const bool begins = name.size() > 1 && entry.name.starts_with(name);
    const std::size_t distance = begins ? 0 : edit_distance(name, entry.name);
    if (distance < best_distance) {
      best_distance = distance;
      best = entry.name;
    }
  }
  return best.empty() ? "known: " + known : "did you mean " + best + "? known: " + known;
}

}  // namespace

Result<Arch> find_arch(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml"))
    return read_arch(name_or_path);
  for (const auto& folder : user_folders()) {
    const auto file = folder / (name_or_path + ".toml");
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error)) return read_arch(file);
  }
  for (const auto& builtin : builtin_archs()) {
    if (builtin.name == name_or_path) return parse_arch(builtin.text, "built-in arch " + name_or_path);
  }
  return usage_error("unknown arch '" + name_or_path + "'", suggestion(name_or_path));
}

std::vector<ArchEntry> list_archs() {
  std::map<std::string, std::string> found;
  for (const auto& folder : user_folders()) {
    std::error_code error;
    for (auto it = std::filesystem::directory_iterator(folder, error);
         !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      if (it->path().extension() == ".toml") found.emplace(it->path().stem().string(), it->path().string());
    }
  }
  for (const auto& builtin : builtin_archs()) found.emplace(builtin.name, "built in");
  std::vector<ArchEntry> entries;
  for (const auto& [name, origin] : found) entries.push_back({name, origin});
  return entries;
}

}  // namespace solmark::arch
