#include "build/cache.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hash.h"
#include "base/json.h"

namespace solmark::build {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "solmark-build-1";
constexpr std::size_t kMaxHeader = std::size_t{64} << 20;

// Empty when the file cannot be part of an identity: gone, no regular file, or without end.
std::string hash_file(const fs::path& file, std::size_t limit) {
  std::error_code ec;
  if (!fs::is_regular_file(file, ec)) return {};
  auto content = read_file(file, limit);
  return content ? sha256_hex(*content) : std::string();
}

std::optional<BuildCache::Hit> check_entry(const fs::path& entry) {
  fs::path object = entry / (std::string(kModuleName) + ".so");
  auto manifest = read_json(entry / "manifest.json");
  if (!manifest || !manifest->is_object() || manifest->value("format", "") != kFormat) return std::nullopt;
  for (const Json& header : manifest->value("headers", Json::array())) {
    std::string recorded = header.value("sha256", "");
    if (recorded.empty() || hash_file(header.value("path", ""), kMaxHeader) != recorded) return std::nullopt;
  }
  std::string recorded = manifest->value("sha256", "");
  if (recorded.empty() || hash_file(object, std::size_t{4} << 30) != recorded) return std::nullopt;
  return BuildCache::Hit{object, manifest->value("log", "")};
}

// Headers read by the compilation that are not the solution's own (those are in the first key).
std::set<fs::path> headers_read(const fs::path& workspace) {
  std::set<fs::path> out;
  std::error_code ec;
  for (const auto& file : fs::directory_iterator(workspace / "obj", ec)) {
    if (file.path().extension() != ".d") continue;
    auto text = read_file(file.path());
    if (!text) continue;
    for (const auto& name : parse_depfile(*text)) {
      fs::path path = (workspace / "src" / name).lexically_normal();
      fs::path inside = path.lexically_relative(workspace);
      if (inside.empty() || *inside.begin() == "..") out.insert(path);
    }
  }
  return out;
}

// Workspaces of builds that were killed with their judge.
void remove_left_overs(const fs::path& folder) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    if (!entry.path().filename().string().starts_with("tmp-")) continue;
    auto age = fs::file_time_type::clock::now() - fs::last_write_time(entry.path(), ec);
    if (!ec && age > std::chrono::hours(24)) fs::remove_all(entry.path(), ec);
  }
}

}  // namespace

std::vector<std::string> parse_depfile(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  auto finish = [&] {
    // "target:" is no dependency, and neither is what nvcc writes as "target :".
    if (word == ":" && !out.empty()) out.pop_back();
    if (!word.empty() && word.back() != ':') out.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && (next == '\n' || next == '\r')) {
      finish();
      i += next == '\r' ? 2 : 1;
    } else if ((c == '\\' && (next == ' ' || next == '#' || next == '\\')) || (c == '$' && next == '$')) {
      word += next;
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      finish();
    } else {
      word += c;
    }
  }
  finish();
  return out;
}

BuildCache::BuildCache(fs::path folder, const problem::Solution& solution, const Recipe& recipe)
    : folder_(std::move(folder)) {
  Sha256 hash;
  hash.add(kFormat).add(artefact_kind_name(recipe.kind));
  auto add_list = [&](const std::vector<std::string>& list) {
    hash.add(std::to_string(list.size()));
    for (const auto& item : list) hash.add(item);
  };
  add_list(recipe.identity);
  hash.add(std::to_string(recipe.compile.size()));
  for (const auto& command : recipe.compile) add_list(command);
  add_list(recipe.link);
  for (const auto& [name, content] : recipe.files) hash.add(name).add(content);
  for (const auto& [name, value] : recipe.environment) {
    bool no_matter = name == "HOME" || name == "TMPDIR" || name == "MAX_JOBS" || name == "CCACHE_DIR";
    if (!no_matter) hash.add(name).add(value);
  }
  hash.add("sources");
  for (const auto& source : solution.sources) hash.add(source.path).add(source.content);
  key_ = hash.hex();
}

std::optional<BuildCache::Hit> BuildCache::find() const {
  std::error_code ec;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder_ / key_, ec)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  for (const auto& entry : entries) {
    if (auto hit = check_entry(entry)) return hit;
  }
  return std::nullopt;
}

Result<fs::path> BuildCache::make_workspace() const {
  std::error_code ec;
  fs::create_directories(folder_, ec);
  if (ec) {
    return machine_error(fmt::format("the build cache {} cannot be made: {}", folder_.string(), ec.message()),
                         "set XDG_CACHE_HOME to a folder that can be written");
  }
  remove_left_overs(folder_);
  std::string pattern = (folder_ / "tmp-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    return errno_error("cannot make a folder in the build cache", errno);
  for (const char* part : {"src", "obj", "out"}) {
    fs::create_directory(fs::path(pattern) / part, ec);
    if (ec) return machine_error(fmt::format("{}/{} cannot be made: {}", pattern, part, ec.message()));
  }
  return fs::path(pattern);
}

Result<fs::path> BuildCache::publish(const fs::path& workspace, const std::string& log) const {
  fs::path out = workspace / "out";
  std::string object_name = std::string(kModuleName) + ".so";
  std::string object_hash = hash_file(out / object_name, std::size_t{4} << 30);
  Json headers = Json::array();
  Sha256 second;
  for (const auto& header : headers_read(workspace)) {
    std::string hash = hash_file(header, kMaxHeader);
    second.add(header.string()).add(hash);
    headers.push_back({{"path", header.string()}, {"sha256", hash}});
  }
  Json manifest = {{"format", kFormat}, {"sha256", object_hash}, {"headers", headers}, {"log", log}};
  SOLMARK_CHECK_OK(write_file(out / "manifest.json", to_json_line(manifest)));

  fs::path entry = folder_ / key_ / second.hex();
  std::error_code ec;
  fs::create_directories(entry.parent_path(), ec);
  for (int attempt = 0; attempt < 3; ++attempt) {
    fs::rename(out, entry, ec);
    if (!ec) return entry / object_name;
    // Somebody was first. If theirs is whole, it is as good as ours; if not, it makes room.
    if (check_entry(entry)) return entry / object_name;
    std::error_code ignored;
    fs::rename(entry, workspace / fmt::format("broken-{}", attempt), ignored);
  }
  return machine_error(
      fmt::format("{} cannot be put into the build cache: {}", entry.string(), ec.message()));
}

}  // namespace solmark::build
