// Nearest known name for a misspelt one, for the mend of errors and warnings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace solmark::problem {

// The candidate with the smallest edit distance, when it is near enough to be a likely slip; else empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);
// `did you mean "x"?` when there is a near one, else `known: a, b, c` (at most twelve, then "…").
std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace solmark::problem
