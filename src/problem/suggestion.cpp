#include "problem/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace solmark::problem {
namespace {

constexpr std::size_t kLongestName = 64;  // longer ones are no slips of a key

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                  std::tolower(static_cast<unsigned char>(b[j - 1]));
      std::size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
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
