// The order of a replay as one list of edges over all nodes of all calls: inside a call the recorded edges,
// and from every leaf of a call to every root of the next a full dependency, so that neighbouring calls
// cannot overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "seal/seal.h"

namespace solmark::seal {

struct ReplayPlan {
  // Node numbers count through the calls; `joins` further numbers after them stand for empty nodes.
  std::vector<std::size_t> first_node;  // of each call
  std::size_t nodes = 0;
  std::size_t joins = 0;
  std::vector<Edge> edges;
};

// Where a call with many leaves meets one with many roots, an empty node joins them: l + r edges instead of l
// * r.
ReplayPlan plan_replay(const std::vector<Call>& calls);

// Recorder's side: nodes in an order that respects the edges, the earliest recorded first among those that
// are free. Gives the old place of each new place, or nothing when the edges go in a circle.
std::vector<std::uint32_t> topological_order(std::size_t nodes, const std::vector<Edge>& edges);

}  // namespace solmark::seal
