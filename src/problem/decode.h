// A cursor over one JSON document that knows where it stands: every error names file, line:column and JSON
// pointer. Decoders state the keys they know; unknown ones become warnings, once each, never errors.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace solmark::problem {

// Collects warnings in order of first appearance; the same `key` is kept once, with a count. At most kMost
// are kept and the rest counted, so that a hostile file costs no more than a wrong one.
class Warnings {
 public:
  static constexpr std::size_t kMost = 100;
  // Counts one more; true when it is new and its text is wanted by add().
  [[nodiscard]] bool is_new(const std::string& key);
  void add(const std::string& key, const std::string& text);
  [[nodiscard]] std::vector<std::string> take() const;

 private:
  struct Entry {
    std::string text;
    std::size_t count = 1;
  };
  std::vector<Entry> entries_;
  std::size_t left_out_ = 0;
  std::map<std::string, std::size_t> index_;
};

// The text a document was parsed from, kept for locating errors. Outlives its cursors.
struct DocumentText {
  std::string_view text;
  std::string source;          // file name as the user gave it
  std::size_t first_line = 1;  // of `text` in the file (JSONL)
  Warnings* warnings = nullptr;
};

class Cursor {
 public:
  Cursor(const Json& value, const DocumentText& document, std::string pointer = {})
      : value_(&value), document_(&document), pointer_(std::move(pointer)) {}

  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] std::string where() const;  // "file:line:column (/pointer)"
  [[nodiscard]] Error error(std::string message, std::string mend = {}) const;
  // `key` makes the warning unique in its file: a second one with the same key is only counted.
  void warn(const std::string& key, const std::string& message, const std::string& mend = {}) const;

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool has(std::string_view key) const;

  // Checks that this is an object; every key not in `known` is warned about as an unknown key of `kind`.
  [[nodiscard]] Status object(std::string_view kind, const std::vector<std::string>& known) const;
  // The member; an error when it is absent (a null is returned as it is).
  [[nodiscard]] Result<Cursor> need(std::string_view key) const;
  // The member, or nullopt when it is absent or null.
  [[nodiscard]] std::optional<Cursor> find(std::string_view key) const;
  // Members of an object and elements of an array, in document order; an error when there are more than
  // `most`.
  static constexpr std::size_t kMostItems = 4096;
  [[nodiscard]] Result<std::vector<std::pair<std::string, Cursor>>> members(
      std::size_t most = kMostItems) const;
  [[nodiscard]] Result<std::vector<Cursor>> elements(std::size_t most = kMostItems) const;

  [[nodiscard]] Result<std::string> text() const;
  // A string that is not empty and has no control characters: names and paths.
  [[nodiscard]] Result<std::string> name() const;
  [[nodiscard]] Result<bool> boolean() const;
  // A whole number (1.0 counts, true does not) in [least, most].
  [[nodiscard]] Result<std::int64_t> integer(
      std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  [[nodiscard]] Result<double> number(double least, double most = std::numeric_limits<double>::max()) const;
  [[nodiscard]] Result<std::vector<std::string>> texts() const;

 private:
  [[nodiscard]] Error wrong_type(std::string_view wanted) const;
  [[nodiscard]] Cursor child(const Json& value, std::string_view token) const;

  const Json* value_;
  const DocumentText* document_;
  std::string pointer_;
};

// Letters, digits and '_', not starting with a digit; bytes of non-ASCII letters are let through.
bool is_identifier(std::string_view text);

}  // namespace solmark::problem
