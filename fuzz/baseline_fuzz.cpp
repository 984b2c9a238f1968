#include <cmath>

#include "judge/inputs.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_baseline(std::string_view bytes) {
  auto loaded = judge::decode_baseline(std::string(bytes), "fuzz");
  if (!loaded.ok()) {
    require(loaded.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return;
  }
  require(!loaded->t_s.empty(), "a baseline has times");
  for (const auto& [uuid, t_s] : loaded->t_s) require(std::isfinite(t_s) && t_s > 0, "a time is a time");
}

}  // namespace solmark::fuzz
