#include "base/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/files.h"
#include "base/json_non_finite.h"

namespace solmark {
namespace {

std::string line_and_column(std::string_view text, std::size_t offset, std::size_t first_line) {
  std::size_t line = first_line;
  std::size_t column = 1;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("{}:{}", line, column);
}

// Builds the document through nlohmann's SAX interface, so that rules which the DOM parser does not have can
// stop the parse. Positions of duplicate keys come from locate_in_json's sibling: the count of keys seen.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(int max_depth, NonFinite non_finite)
      : max_depth_(max_depth), non_finite_(std::move(non_finite)) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t&) override { return put(v); }
  bool string(string_t& v) override {
    if (auto number = non_finite_.find(strings_++); number != non_finite_.end()) return put(number->second);
    return put(v);
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& v) override {
    if (non_finite_.contains(strings_++)) {
      problem = "a number as a key";
      return false;
    }
    if (!keys_.back().insert(v).second) {
      problem = fmt::format("duplicate key \"{}\"", v);
      return false;
    }
    key_ = v;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& e) override {
    problem = e.what();
    if (auto at = problem.find("] "); at != std::string::npos) problem = problem.substr(at + 2);
    // The library counts lines within the text it was given; a JSONL reader gives it one line, and the
    // error's own place counts within the file. One place is told, not two that differ.
    if (problem.starts_with("parse error at ")) {
      if (auto colon = problem.find(": "); colon != std::string::npos) problem.erase(0, colon + 2);
    }
    offset = position == 0 ? 0 : position - 1;
    return false;
  }

  Json root;
  std::string problem;
  std::size_t offset = std::string::npos;

 private:
  template <class V>
  bool put(V&& value) {
    add(Json(std::forward<V>(value)));
    return true;
  }
  Json* add(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& top = *stack_.back();
    if (top.is_array()) {
      top.push_back(std::move(value));
      return &top.back();
    }
    // ordered_map looks for the key in every insertion; duplicates are known from keys_ already
    Json::object_t::Container& members = top.get_ref<Json::object_t&>();
    members.emplace_back(key_, std::move(value));
    return &members.back().second;
  }
  bool open(Json value) {
    if (static_cast<int>(stack_.size()) >= max_depth_) {
      problem = fmt::format("nested more than {} levels deep", max_depth_);
      return false;
    }
    // ordered_json keeps object members in a vector: a parent's later push could move its children, but only
    // the last child is ever open, and it is not touched while its own children are added.
    stack_.push_back(add(std::move(value)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  int max_depth_;
  NonFinite non_finite_;
  std::size_t strings_ = 0;
  std::vector<Json*> stack_;
  std::vector<std::set<std::string>> keys_;
  std::string key_;
};

// A cursor over valid JSON text that can skip one value.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  std::size_t at = 0;

  void space() {
    while (at < text_.size() && std::string_view(" \t\r\n").find(text_[at]) != std::string_view::npos) ++at;
  }
  [[nodiscard]] char peek() const { return at < text_.size() ? text_[at] : '\0'; }
  std::string_view string() {
    std::size_t start = ++at;
    while (at < text_.size() && text_[at] != '"') at += text_[at] == '\\' ? 2 : 1;
    std::string_view body = text_.substr(start, at - start);
    ++at;
    return body;
  }
  void value() {
    int depth = 0;
    do {
      space();
      char c = peek();
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at;
      } else if (c == ',' || c == ':') {
        ++at;
      } else if (c == '\0') {
        return;
      } else {
        while (at < text_.size() && std::string_view(",]} \t\r\n").find(text_[at]) == std::string_view::npos)
          ++at;
      }
    } while (depth > 0);
  }

 private:
  std::string_view text_;
};

// Moves the scanner to the member or element `token`; false when it is not there.
bool descend(Scanner& scan, const std::string& token) {
  scan.space();
  char open = scan.peek();
  if (open != '{' && open != '[') return false;
  ++scan.at;
  for (std::size_t index = 0;; ++index) {
    scan.space();
    if (scan.peek() == '}' || scan.peek() == ']' || scan.peek() == '\0') return false;
    if (scan.peek() == ',') {
      ++scan.at;
      scan.space();
    }
    bool match = false;
    if (open == '{') {
      match = scan.string() == token;
      scan.space();
      ++scan.at;  // ':'
      scan.space();
    } else {
      match = fmt::format("{}", index) == token;
    }
    if (match) return true;
    scan.value();
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& source, const JsonLimits& limits,
                        std::size_t first_line) {
  if (text.size() > limits.max_bytes) {
    return input_error(
        fmt::format("{} bytes of JSON, more than the limit of {}", text.size(), limits.max_bytes), source);
  }
  NonFinite non_finite;
  std::string hidden;
  if (limits.python_numbers) hidden = hide_non_finite(text, non_finite);
  StrictBuilder builder(limits.max_depth, non_finite);
  // ordered_json's object is a vector of pairs: pointers to members stay valid only while no sibling is added
  // after them; the builder adds siblings only to the innermost open container.
  std::string_view parsed = non_finite.empty() ? text : std::string_view(hidden);
  bool ok = Json::sax_parse(parsed.begin(), parsed.end(), &builder);
  if (!ok) {
    std::size_t offset = builder.offset;
    if (offset == std::string::npos)
      return input_error(builder.problem, source, "remove the repetition or nesting");
    return input_error("not valid JSON: " + builder.problem,
                       fmt::format("{}:{}", source, line_and_column(text, offset, first_line)));
  }
  return std::move(builder.root);
}

Result<Json> read_json(const std::filesystem::path& file, const JsonLimits& limits) {
  SOLMARK_TRY(std::string text, read_file(file, limits.max_bytes));
  return parse_json(text, file.string(), limits);
}

std::string locate_in_json(std::string_view text, std::string_view pointer, std::size_t first_line) {
  Scanner scan(text);
  std::size_t from = 0;
  while (from < pointer.size()) {
    std::size_t next = pointer.find('/', from + 1);
    if (next == std::string_view::npos) next = pointer.size();
    std::string token;
    for (std::size_t i = from + 1; i < next; ++i) {
      if (pointer[i] == '~' && i + 1 < next) {
        token += pointer[++i] == '1' ? '/' : '~';
      } else {
        token += pointer[i];
      }
    }
    if (!descend(scan, token)) return {};
    from = next;
  }
  scan.space();
  return line_and_column(text, scan.at, first_line);
}

std::string to_json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_python_json_line(const Json& value) {
  std::string out;
  append_python_json(value, out);
  return out;
}

std::string to_canonical_json(const Json& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace solmark
