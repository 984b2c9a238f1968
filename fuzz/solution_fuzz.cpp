#include <algorithm>

#include "base/files.h"
#include "problem/solution.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_solution(std::string_view bytes) {
  // a folder that does not exist: content must be inline
  auto loaded = problem::decode_solution(bytes, "fuzz", "/nonexistent/solmark-fuzz");
  if (!loaded.ok()) {
    require(loaded.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return;
  }
  const problem::Solution& s = loaded->solution;
  require(!s.languages.empty() && !s.sources.empty(), "an accepted solution has languages and sources");
  for (const auto& source : s.sources)
    require(is_contained_path(source.path), "sources stay in their folder");
  require(
      std::any_of(s.sources.begin(), s.sources.end(), [&s](const auto& x) { return x.path == s.entry_file; }),
      "the entry file is a source");
}

}  // namespace solmark::fuzz
