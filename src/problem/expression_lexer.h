// Tokens of axis expressions: Python's numbers, names and operators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/number.h"

namespace solmark::problem {

struct Token {
  enum class Kind { kNumber, kName, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;
  std::size_t column = 1;
  Number number = std::int64_t{0};
};

// The last token is kEnd. Errors name the column.
Result<std::vector<Token>> tokenize(std::string_view text);

}  // namespace solmark::problem
