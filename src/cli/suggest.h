// "did you mean": the known word nearest to a mistyped one.
#pragma once

#include <string>
#include <vector>

namespace solmark::cli {

// Empty when nothing is near: more than a third of the word would have to change.
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace solmark::cli
