#include "problem/solution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "problem/decode.h"
#include "problem/suggestion.h"

namespace solmark::problem {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kMaxSolutionBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxSourceBytes = std::size_t{64} << 20;

const std::vector<std::string> kSolutionKeys = {"name",        "definition", "author",
                                                "description", "spec",       "sources"};
const std::vector<std::string> kSpecKeys = {"languages",   "language",       "target_hardware",
                                            "entry_point", "dependencies",   "destination_passing_style",
                                            "binding",     "compile_options"};
const std::vector<std::string> kCompileKeys = {"cflags", "cuda_cflags", "ld_flags"};
const std::vector<std::string> kSourceKeys = {"path", "content"};

struct LanguageRow {
  std::string_view name;
  Language language;
  bool python;
};
constexpr std::array kLanguages = {
    LanguageRow{"pytorch", Language::kPytorch, true},
    LanguageRow{"triton", Language::kTriton, true},
    LanguageRow{"cute_dsl", Language::kCuteDsl, true},
    LanguageRow{"cutile", Language::kCutile, true},
    LanguageRow{"python", Language::kPython, true},
    LanguageRow{"cudnn_frontend", Language::kCudnnFrontend, true},
    LanguageRow{"cutlass", Language::kCutlass, false},
    LanguageRow{"cudnn", Language::kCudnn, false},
    LanguageRow{"cublas", Language::kCublas, false},
    LanguageRow{"cuda_cpp", Language::kCudaCpp, false},
    LanguageRow{"cuda", Language::kCudaCpp, false},
    LanguageRow{"cpp", Language::kCpp, false},
};

bool is_python_language(Language language) {
  auto row = std::find_if(kLanguages.begin(), kLanguages.end(),
                          [language](const LanguageRow& r) { return r.language == language; });
  return row != kLanguages.end() && row->python;
}

std::vector<std::string> language_names() {
  std::vector<std::string> out;
  for (const LanguageRow& row : kLanguages) out.emplace_back(row.name);
  return out;
}

Status add_language(const Cursor& at, std::vector<Language>& out) {
  SOLMARK_TRY(std::string name, at.text());
  auto row = std::find_if(kLanguages.begin(), kLanguages.end(),
                          [&name](const LanguageRow& r) { return r.name == name; });
  if (row == kLanguages.end()) {
    return at.error(fmt::format("unknown language \"{}\"", name), suggest_name(name, language_names()));
  }
  if (!out.empty() && is_python_language(out.front()) != row->python) {
    return at.error(fmt::format("\"{}\" cannot be mixed with the languages before it", name),
                    "use Python languages only, or C++ languages only");
  }
  if (std::find(out.begin(), out.end(), row->language) == out.end()) out.push_back(row->language);
  return success();
}

Status decode_languages(const Cursor& spec, Solution& out) {
  auto list = spec.find("languages");
  auto single = spec.find("language");
  if (!list && !single)
    return spec.error("key \"languages\" is missing", "add \"languages\": [\"triton\"] or another");
  if (list) {
    SOLMARK_TRY(auto items, list->elements());
    if (items.empty()) return list->error("no language", "name at least one");
    for (const Cursor& item : items) SOLMARK_CHECK_OK(add_language(item, out.languages));
  }
  if (single) {
    std::size_t before = out.languages.size();
    SOLMARK_CHECK_OK(add_language(*single, out.languages));
    if (list && out.languages.size() != before) {
      return single->error("\"language\" is not among \"languages\"", "remove one of the two");
    }
  }
  return success();
}

Result<CompileOptions> decode_compile_options(const Cursor& at) {
  SOLMARK_CHECK_OK(at.object("compile options", kCompileKeys));
  // SOL-ExecBench's defaults for the keys of an object that is there.
  CompileOptions out{{}, {"-O3", "--use_fast_math"}, {"-lcuda"}};
  if (auto c = at.find("cflags")) {
    SOLMARK_TRY(out.cflags, c->texts());
  }
  if (auto c = at.find("cuda_cflags")) {
    SOLMARK_TRY(out.cuda_cflags, c->texts());
  }
  if (auto c = at.find("ld_flags")) {
    SOLMARK_TRY(out.ld_flags, c->texts());
  }
  return out;
}

Status decode_binding(const Cursor& spec, Solution& out) {
  auto at = spec.find("binding");
  if (!at) return success();
  SOLMARK_TRY(std::string name, at->text());
  std::replace(name.begin(), name.end(), '_', '-');
  if (name != "torch" && name != "dlpack" && name != "tvm-ffi") {
    return at->error(fmt::format("unknown binding \"{}\"", name), suggest_name(name, {"torch", "dlpack"}));
  }
  if (out.is_python()) {
    if (name != "torch")
      at->warn("binding", fmt::format("binding \"{}\" has no effect on Python languages", name));
    return success();
  }
  if (name == "tvm-ffi") {
    return at->error("binding \"tvm-ffi\" is not supported yet", "use \"torch\" or \"dlpack\"");
  }
  out.binding = name == "dlpack" ? Binding::kDlpack : Binding::kTorch;
  return success();
}

Status decode_entry_point(const Cursor& spec, Solution& out) {
  SOLMARK_TRY(Cursor at, spec.need("entry_point"));
  SOLMARK_TRY(std::string text, at.name());
  std::size_t cut = text.find("::");
  if (cut == std::string::npos || text.find("::", cut + 2) != std::string::npos) {
    return at.error(fmt::format("\"{}\" must hold exactly one \"::\"", text), "write \"file::function\"");
  }
  out.entry_file = fs::path(text.substr(0, cut)).lexically_normal().string();
  out.entry_function = text.substr(cut + 2);
  if (!is_identifier(out.entry_function)) {
    return at.error(fmt::format("\"{}\" is not a function name", out.entry_function),
                    "write \"file::function\"");
  }
  static const std::vector<std::string> kPythonExtensions = {".py"};
  static const std::vector<std::string> kNativeExtensions = {".cu", ".cpp", ".cc",  ".cxx",
                                                             ".c",  ".h",   ".hpp", ".cuh"};
  const auto& allowed = out.is_python() ? kPythonExtensions : kNativeExtensions;
  std::string extension = fs::path(out.entry_file).extension().string();
  if (std::find(allowed.begin(), allowed.end(), extension) == allowed.end()) {
    return at.error(fmt::format("entry file \"{}\" does not fit the languages", out.entry_file),
                    out.is_python() ? "Python languages need a .py file"
                                    : "C++ languages need .cu .cpp .cc .cxx .c .h .hpp or .cuh");
  }
  bool there = std::any_of(out.sources.begin(), out.sources.end(),
                           [&out](const Source& s) { return s.path == out.entry_file; });
  if (!there) {
    std::vector<std::string> paths;
    for (const Source& s : out.sources) paths.push_back(s.path);
    return at.error(fmt::format("entry file \"{}\" is not among the sources", out.entry_file),
                    suggest_name(out.entry_file, paths));
  }
  return success();
}

Status decode_spec(const Cursor& root, Solution& out) {
  SOLMARK_TRY(Cursor spec, root.need("spec"));
  SOLMARK_CHECK_OK(spec.object("a spec", kSpecKeys));
  SOLMARK_CHECK_OK(decode_languages(spec, out));
  if (auto c = spec.find("target_hardware")) {
    SOLMARK_TRY(out.target_hardware, c->texts());
  }
  if (auto c = spec.find("dependencies")) {
    SOLMARK_TRY(out.dependencies, c->texts());
  }
  if (auto c = spec.find("destination_passing_style")) {
    SOLMARK_TRY(out.destination_passing_style, c->boolean());
  }
  if (auto c = spec.find("compile_options")) {
    SOLMARK_TRY(out.compile_options, decode_compile_options(*c));
  }
  SOLMARK_CHECK_OK(decode_binding(spec, out));
  return decode_entry_point(spec, out);
}

// A source whose content is empty lies beside the JSON. Links must not lead out of that folder either.
Result<std::string> read_beside(const Cursor& at, const fs::path& folder, const std::string& path) {
  std::error_code ec;
  fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, ec);
  if (ec)
    return at.error(fmt::format("source \"{}\" has no content and there is no folder to read it from", path));
  fs::path real = fs::canonical(root / path, ec);
  if (ec) {
    return at.error(fmt::format("source \"{}\" has no content and is not beside the solution", path),
                    fmt::format("write its content, or put the file at {}", (root / path).string()));
  }
  auto [in_root, in_real] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (in_root != root.end()) {
    return at.error(fmt::format("source \"{}\" is a link out of the solution's folder", path),
                    "copy the file there");
  }
  auto content = read_file(real, kMaxSourceBytes);
  if (!content.ok()) return at.error(content.error().text());
  return content;
}

Result<std::string> decode_source_path(const Cursor& source) {
  SOLMARK_TRY(Cursor at, source.need("path"));
  SOLMARK_TRY(std::string text, at.name());
  if (!is_contained_path(text)) {
    return at.error(fmt::format("path \"{}\" is not inside the solution", text),
                    "use a relative path without \"..\"");
  }
  fs::path normal = fs::path(text).lexically_normal();
  if (!normal.has_filename() || normal == ".")
    return at.error(fmt::format("path \"{}\" names no file", text));
  return normal.string();
}

// A file cannot also be the folder of another one.
bool is_inside(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
         path[folder.size()] == '/';
}

Status decode_sources(const Cursor& root, const fs::path& folder, Solution& out) {
  SOLMARK_TRY(Cursor sources, root.need("sources"));
  SOLMARK_TRY(auto items, sources.elements());
  if (items.empty()) return sources.error("no sources", "give at least one file");
  for (const Cursor& item : items) {
    SOLMARK_CHECK_OK(item.object("a source", kSourceKeys));
    Source source;
    SOLMARK_TRY(source.path, decode_source_path(item));
    for (const Source& other : out.sources) {
      if (other.path == source.path) {
        return item.error(fmt::format("source \"{}\" is there twice", source.path), "remove one");
      }
      if (is_inside(other.path, source.path) || is_inside(source.path, other.path)) {
        return item.error(
            fmt::format("source \"{}\" and \"{}\": one is a folder of the other", source.path, other.path),
            "rename one");
      }
    }
    if (auto content = item.find("content")) {
      SOLMARK_TRY(source.content, content->text());
    }
    if (source.content.empty()) {
      SOLMARK_TRY(source.content, read_beside(item, folder, source.path));
    }
    out.sources.push_back(std::move(source));
  }
  return success();
}

Status decode_names(const Cursor& root, Solution& out) {
  SOLMARK_TRY(Cursor name, root.need("name"));
  SOLMARK_TRY(out.name, name.name());
  SOLMARK_TRY(Cursor definition, root.need("definition"));
  SOLMARK_TRY(out.definition, definition.name());
  SOLMARK_TRY(Cursor author, root.need("author"));
  SOLMARK_TRY(out.author, author.text());
  if (auto c = root.find("description")) {
    SOLMARK_TRY(out.description, c->text());
  }
  return success();
}

}  // namespace

bool Solution::is_python() const { return !languages.empty() && is_python_language(languages.front()); }

Result<LoadedSolution> decode_solution(std::string_view text, const std::string& source,
                                       const fs::path& folder) {
  SOLMARK_TRY(Json json, parse_json(text, source, {kMaxSolutionBytes, 64}));
  Warnings warnings;
  DocumentText document{text, source, 1, &warnings};
  Cursor root(json, document);
  SOLMARK_CHECK_OK(root.object("a solution", kSolutionKeys));
  LoadedSolution out;
  out.solution.file = source;
  SOLMARK_CHECK_OK(decode_names(root, out.solution));
  SOLMARK_CHECK_OK(decode_sources(root, folder, out.solution));
  SOLMARK_CHECK_OK(decode_spec(root, out.solution));
  out.warnings = warnings.take();
  return out;
}

Result<LoadedSolution> load_solution(const fs::path& file) {
  SOLMARK_TRY(std::string text, read_file(file, kMaxSolutionBytes));
  return decode_solution(text, file.string(), file.parent_path());
}

}  // namespace solmark::problem
