// Strict JSON: duplicate keys, excess depth and oversize files are errors with line and column; so are NaN
// and Infinity unless they are asked for. nlohmann's document type is used throughout; its full header stays
// in .cpp files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace solmark {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t max_bytes = std::size_t{256} << 20;
  int max_depth = 64;
  bool python_numbers =
      false;  // NaN, Infinity and -Infinity, as Python's json module writes them, are numbers
};
// For what may hold a workload's scalars.
inline constexpr JsonLimits kPythonJson{.python_numbers = true};

// `source` is the file name for error messages; `first_line` is the line of the text's start (JSONL).
Result<Json> parse_json(std::string_view text, const std::string& source, const JsonLimits& limits = {},
                        std::size_t first_line = 1);
Result<Json> read_json(const std::filesystem::path& file, const JsonLimits& limits = {});

// "line:column" (from 1) of the value at a JSON pointer in a valid JSON text; empty when it is not there.
std::string locate_in_json(std::string_view text, std::string_view pointer, std::size_t first_line = 1);

// One line, keys as inserted. Non-finite numbers become null; invalid UTF-8 is replaced.
std::string to_json_line(const Json& value);
// The same with NaN, Infinity and -Infinity, for readers that take them (Python, `python_numbers`).
std::string to_python_json_line(const Json& value);
// Keys sorted at every level and no spaces: for hashing.
std::string to_canonical_json(const Json& value);

}  // namespace solmark
