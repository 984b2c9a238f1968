#include "base/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/files.h"
#include "base/json_non_finite.h"
#include "base/json_place.h"

namespace solmark {
namespace {

// Builds the document through nlohmann's SAX interface, so that rules which the DOM parser does not have can
// stop the parse. That interface tells no positions: a rule's error is the n-th string or the n-th bracket,
// and json_place.h finds it in the text.
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
      string_index = strings_ - 1;
      return false;
    }
    if (!keys_.back().insert(v).second) {
      problem = fmt::format("duplicate key \"{}\"", v);
      string_index = strings_ - 1;
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
  // Where `problem` is: the place of a syntax error, or the count of strings or opening brackets before it.
  std::optional<std::size_t> offset;
  std::optional<std::size_t> string_index;
  std::optional<std::size_t> bracket_index;

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
      bracket_index = brackets_;
      return false;
    }
    ++brackets_;
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
  std::size_t brackets_ = 0;
  std::vector<Json*> stack_;
  std::vector<std::set<std::string>> keys_;
  std::string key_;
};

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
    const auto place = [&](std::size_t offset) {
      return fmt::format("{}:{}", source, line_and_column(text, offset, first_line));
    };
    if (builder.offset) return input_error("not valid JSON: " + builder.problem, place(*builder.offset));
    if (builder.bracket_index)
      return input_error(builder.problem, place(offset_of_bracket(parsed, *builder.bracket_index)),
                         "remove levels");
    return input_error(builder.problem, place(offset_of_string(parsed, *builder.string_index)),
                       "remove or rename one");
  }
  return std::move(builder.root);
}

Result<Json> read_json(const std::filesystem::path& file, const JsonLimits& limits) {
  SOLMARK_TRY(std::string text, read_file(file, limits.max_bytes));
  return parse_json(text, file.string(), limits);
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
