#include <fmt/format.h>

#include <algorithm>

#include "problem/solution.h"
#include "problem/suggestion.h"

namespace solmark::problem {
namespace {
namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec);
}
bool is_folder(const fs::path& path) {
  std::error_code ec;
  return fs::is_directory(path, ec);
}

std::optional<fs::path> if_file(const fs::path& path) {
  return is_file(path) ? std::optional<fs::path>(path) : std::nullopt;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
    out.push_back(it->path());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_trace_tree(const fs::path& folder) {
  return is_folder(folder / "definitions") && is_folder(folder / "workloads");
}

// definitions/<op>/<name>.json of a trace tree, or all of them when `name` is empty.
std::vector<fs::path> tree_definitions(const fs::path& root, const std::string& name) {
  std::vector<fs::path> out;
  for (const fs::path& op : entries(root / "definitions")) {
    for (const fs::path& file : entries(op)) {
      if (file.extension() == ".json" && is_file(file) && (name.empty() || file.stem() == name))
        out.push_back(file);
    }
  }
  return out;
}

constexpr std::string_view kWanted =
    "name a folder with definition.json and workload.jsonl, or a definition file";

Result<ProblemFiles> from_file(const fs::path& definition) {
  if (definition.extension() != ".json") {
    return input_error("not a definition file", definition.string(), std::string(kWanted));
  }
  ProblemFiles out;
  out.definition = definition;
  fs::path folder = definition.parent_path();
  out.blob_roots = {folder.empty() ? fs::path(".") : folder};
  fs::path absolute = fs::absolute(definition).lexically_normal();
  fs::path op = absolute.parent_path();
  fs::path root = op.parent_path().parent_path();
  if (op.parent_path().filename() == "definitions") {
    out.workload = root / "workloads" / op.filename() / (definition.stem().string() + ".jsonl");
    out.blob_roots.push_back(root);
  } else {
    out.workload = folder / "workload.jsonl";
    out.config = if_file(folder / "config.json");
    out.solution = if_file(folder / "solution.json");
  }
  if (!is_file(out.workload)) {
    return input_error(fmt::format("the definition has no workloads: {} is missing", out.workload.string()),
                       definition.string(), "add it, or name the workload file");
  }
  return out;
}

Result<ProblemFiles> from_tree(const fs::path& root) {
  std::vector<fs::path> all = tree_definitions(root, {});
  if (all.size() == 1) return from_file(all.front());
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 5); ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", (root / all[i].stem()).string());
  }
  return input_error(fmt::format("a trace tree with {} definitions", all.size()), root.string(),
                     all.empty() ? "put definitions at definitions/<op>/<name>.json"
                                 : fmt::format("name one of them, for example {}", list));
}

Error not_found(const fs::path& problem) {
  fs::path folder = problem.parent_path();
  std::vector<std::string> names;
  for (const fs::path& entry : entries(folder.empty() ? fs::path(".") : folder)) {
    names.push_back(entry.filename().string());
  }
  for (const fs::path& file : tree_definitions(folder, {})) names.push_back(file.stem().string());
  std::string near = nearest_name(problem.filename().string(), names);
  return input_error(
      "no such problem", problem.string(),
      near.empty() ? std::string(kWanted) : fmt::format("did you mean \"{}\"?", (folder / near).string()));
}

}  // namespace

Result<ProblemFiles> find_problem(const fs::path& problem) {
  if (is_file(problem)) return from_file(problem);
  if (is_folder(problem)) {
    if (is_file(problem / "definition.json")) return from_file(problem / "definition.json");
    if (is_trace_tree(problem)) return from_tree(problem);
    return input_error("no definition.json in this folder", problem.string(), std::string(kWanted));
  }
  // <trace tree>/<definition name>
  if (is_trace_tree(problem.parent_path())) {
    std::vector<fs::path> found = tree_definitions(problem.parent_path(), problem.filename().string());
    if (found.size() == 1) return from_file(found.front());
  }
  return not_found(problem);
}

}  // namespace solmark::problem
