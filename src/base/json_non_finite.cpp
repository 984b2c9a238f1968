#include "base/json_non_finite.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace solmark {
namespace {

struct Word {
  std::string_view text;
  double value;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<Word, 3> kWords = {Word{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                        Word{"Infinity", kInfinity}, Word{"-Infinity", -kInfinity}};

const Word* word_at(std::string_view text) {
  for (const Word& word : kWords) {
    if (text.starts_with(word.text)) return &word;
  }
  return nullptr;
}

std::string_view name_of(double value) {
  if (std::isnan(value)) return kWords[0].text;
  return value > 0 ? kWords[1].text : kWords[2].text;
}

}  // namespace

std::string hide_non_finite(std::string_view text, NonFinite& found) {
  std::string out(text);
  std::size_t strings = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      ++i;
      ++strings;
    } else if (const Word* word = word_at(text.substr(i))) {
      const std::size_t length = word->text.size();
      out.replace(i, length, '"' + std::string(length - 2, ' ') + '"');
      found[strings++] = word->value;
      i += length;
    } else {
      ++i;
    }
  }
  return out;
}

void append_python_json(const Json& value, std::string& out) {
  if (value.is_object()) {
    char separator = '{';
    for (const auto& [key, member] : value.items()) {
      out += separator;
      out += to_json_line(Json(key));
      out += ':';
      append_python_json(member, out);
      separator = ',';
    }
    out += value.empty() ? "{}" : "}";
  } else if (value.is_array()) {
    char separator = '[';
    for (const Json& element : value) {
      out += separator;
      append_python_json(element, out);
      separator = ',';
    }
    out += value.empty() ? "[]" : "]";
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    out += name_of(value.get<double>());
  } else {
    out += to_json_line(value);
  }
}

}  // namespace solmark
