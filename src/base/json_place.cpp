#include "base/json_place.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace solmark {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

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

// The key that a string's body between the quotes means.
std::string unescaped(std::string_view body) {
  if (body.find('\\') == std::string_view::npos) return std::string(body);
  const Json value = Json::parse('"' + std::string(body) + '"', nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

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
      match = unescaped(scan.string()) == token;
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

// Offset of the n-th character, from 0, that `wanted` takes: an opening quote, or what is outside of strings.
template <class Wanted>
std::size_t offset_of(std::string_view text, std::size_t index, const Wanted& wanted) {
  Scanner scan(text);
  while (scan.at < text.size()) {
    if (wanted(text[scan.at]) && index-- == 0) return scan.at;
    if (text[scan.at] == '"') {
      scan.string();
    } else {
      ++scan.at;
    }
  }
  return text.size();
}

}  // namespace

std::string line_and_column(std::string_view text, std::size_t offset, std::size_t first_line) {
  std::size_t line = first_line;
  std::size_t column = 1;
  for (std::size_t i = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
       i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("{}:{}", line, column);
}

std::size_t offset_of_string(std::string_view text, std::size_t index) {
  return offset_of(text, index, [](char c) { return c == '"'; });
}

std::size_t offset_of_bracket(std::string_view text, std::size_t index) {
  return offset_of(text, index, [](char c) { return c == '{' || c == '['; });
}

std::string locate_in_json(std::string_view text, std::string_view pointer, std::size_t first_line) {
  Scanner scan(text);
  if (text.starts_with(kByteOrderMark)) scan.at = kByteOrderMark.size();
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

}  // namespace solmark
