#include "problem/solution.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_config(std::string_view bytes) {
  auto loaded = problem::decode_config(bytes, "fuzz");
  if (!loaded.ok()) {
    require(loaded.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return;
  }
  require(loaded->warmup_runs >= 0 && loaded->iterations >= 1, "counts are counts");
}

}  // namespace solmark::fuzz
