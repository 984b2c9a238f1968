#include "problem/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace solmark::problem {
namespace {

constexpr std::size_t kLongestName = 64;  // longer ones are no slips of a key

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Insertions, deletions, replacements and swaps of neighbours, each at 1; case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above2;
  std::vector<std::size_t> above(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replaced = above[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], above2[j - 2] + 1);
    }
    above2 = std::move(above);
    above = std::move(row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongestName) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    std::size_t distance = edit_distance(name, candidate);
    // a name of one or two letters is never "almost" another one
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (std::string near = nearest_name(name, candidates); !near.empty()) {
    return fmt::format("did you mean \"{}\"?", near);
  }
  if (candidates.empty()) return "there are none";
  constexpr std::size_t kMost = 12;
  std::string list = "known: ";
  for (std::size_t i = 0; i < std::min(candidates.size(), kMost); ++i)
    list += (i > 0 ? ", " : "") + candidates[i];
  return candidates.size() > kMost ? list + ", …" : list;
}

}  // namespace solmark::problem
