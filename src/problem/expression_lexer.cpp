#include "problem/expression_lexer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace solmark::problem {
namespace {

constexpr std::size_t kLongestExpression = 4096;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    for (;;) {
      while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
        ++at_;
      if (at_ == text_.size()) break;
      char c = text_[at_];
      if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        SOLMARK_CHECK_OK(number());
      } else if (is_name_start(c)) {
        std::size_t start = at_;
        while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
        push(Token::Kind::kName, start);
      } else {
        SOLMARK_CHECK_OK(symbol());
      }
    }
    push(Token::Kind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  Error error(std::size_t at, std::string message) const {
    return input_error(fmt::format("{} at column {}", message, at + 1), {});
  }
  void push(Token::Kind kind, std::size_t start) {
    tokens_.push_back({kind, text_.substr(start, at_ - start), start + 1, std::int64_t{0}});
  }

  Status symbol() {
    static constexpr std::array<std::string_view, 17> kSymbols = {
        "**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "=", "."};
    for (std::string_view s : kSymbols) {
      if (text_.substr(at_, s.size()) != s) continue;
      if (s == "=") return error(at_, "\"=\" is not a comparison (write \"==\")");
      if (s == ".") break;
      std::size_t start = at_;
      at_ += s.size();
      push(Token::Kind::kSymbol, start);
      return success();
    }
    return error(at_, fmt::format("\"{}\" is not part of an expression", text_.substr(at_, 1)));
  }

  // Digits with Python's single underscores between them, appended to `out`; false when an underscore is
  // misplaced.
  bool digits(std::string& out, int base) {
    bool digit_before = false;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '_') {
        if (!digit_before) return false;
        digit_before = false;
        ++at_;
        continue;
      }
      int value = is_digit(c) ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 99;
      if (value >= base) break;
      out += c;
      digit_before = true;
      ++at_;
    }
    return digit_before || out.empty();
  }

  Status whole(std::size_t start, const std::string& body, int base) {
    std::int64_t value = 0;
    auto [end, code] = std::from_chars(body.data(), body.data() + body.size(), value, base);
    if (code != std::errc() || end != body.data() + body.size()) {
      return error(start, body.empty() ? "a number has no digits" : "the constant does not fit 64 bits");
    }
    return finish(start, value);
  }

  Status finish(std::size_t start, Number value) {
    if (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) {
      return error(start, "a number runs into a letter or digit");
    }
    push(Token::Kind::kNumber, start);
    tokens_.back().number = value;
    return success();
  }

  Status number() {
    std::size_t start = at_;
    std::string body;
    if (text_[at_] == '0' && at_ + 1 < text_.size()) {
      char letter = static_cast<char>(text_[at_ + 1] | 0x20);
      int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
      if (base != 0) {
        at_ += 2;
        if (at_ < text_.size() && text_[at_] == '_') ++at_;  // Python allows 0x_ff
        if (!digits(body, base)) return error(start, "misplaced \"_\" in a number");
        return whole(start, body, base);
      }
    }
    bool real = false;
    if (!digits(body, 10)) return error(start, "misplaced \"_\" in a number");
    if (at_ < text_.size() && text_[at_] == '.') {
      real = true;
      body += '.';
      ++at_;
      std::string fraction;
      if (!digits(fraction, 10)) return error(start, "misplaced \"_\" in a number");
      body += fraction;
    }
    if (at_ < text_.size() && (text_[at_] | 0x20) == 'e') {
      std::size_t mark = at_;
      std::string exponent = "e";
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) exponent += text_[at_++];
      std::string power;
      if (at_ < text_.size() && is_digit(text_[at_]) && digits(power, 10)) {
        real = true;
        body += exponent + power;
      } else {
        at_ = mark;
      }
    }
    if (!real) {
      bool zeros = body.find_first_not_of('0') == std::string::npos;
      if (body.size() > 1 && body[0] == '0' && !zeros) return error(start, "a number must not start with 0");
      return whole(start, body, 10);
    }
    double value = 0;
    auto [end, code] = std::from_chars(body.data(), body.data() + body.size(), value);
    if (code != std::errc() || end != body.data() + body.size())
      return error(start, "the constant is out of range");
    return finish(start, value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text) {
  if (text.size() > kLongestExpression) {
    return input_error(
        fmt::format("an expression of {} characters, more than {}", text.size(), kLongestExpression), {});
  }
  return Lexer(text).run();
}

}  // namespace solmark::problem
