// Places in JSON texts, for error messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace solmark {

// "line:column", both from 1 and in bytes, of an offset; a byte order mark takes no column.
std::string line_and_column(std::string_view text, std::size_t offset, std::size_t first_line);

// Offset of the n-th string (keys are strings too) or the n-th opening bracket outside strings, from 0, in a
// text that is valid JSON as far as there; the text's end when there are fewer.
std::size_t offset_of_string(std::string_view text, std::size_t index);
std::size_t offset_of_bracket(std::string_view text, std::size_t index);

}  // namespace solmark
