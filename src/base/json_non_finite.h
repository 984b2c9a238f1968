// Python's json module writes NaN, Infinity and -Infinity as bare words, which JSON does not have. The two
// directions of reading and writing them; for json.cpp alone.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace solmark {

// Which string of a document (keys count too, from 0) stands for which number.
using NonFinite = std::map<std::size_t, double>;

// The text with each such word replaced by a string of the same length, so that positions stay true.
std::string hide_non_finite(std::string_view text, NonFinite& found);

// One line as Python's json.dumps would write it.
void append_python_json(const Json& value, std::string& out);

}  // namespace solmark
