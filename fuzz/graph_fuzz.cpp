#include <cmath>
#include <nlohmann/json.hpp>

#include "arch/registry.h"
#include "bound/bound.h"
#include "graph/graph_json.h"
#include "targets.h"

namespace solmark::fuzz {

// What the reader accepts, the bound engine can work on.
void fuzz_graph(std::string_view bytes) {
  static const arch::Arch machine = arch::find_arch("h200-sxm").value();
  auto json = parse_json(bytes, "fuzz");
  if (!json.ok()) return;
  auto loaded = graph::graph_from_json(*json, "fuzz");
  if (!loaded.ok()) {
    require(loaded.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return;
  }
  auto found = bound::compute_bound(*loaded, machine, {});
  if (!found.ok()) {
    require(!found.error().message.empty(), "an error says what");
    return;
  }
  double below = 0;
  for (const auto& level : found->levels) {
    require(std::isfinite(level.t_s) && level.t_s >= 0, "a bound is a time");
    require(level.t_s >= below, "a level is not below the one before it");
    below = level.t_s;
  }
}

}  // namespace solmark::fuzz
