// Counting multiplies (L2): what survives of the contractions, convolutions and attentions that live
// operations state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bound/bound.h"
#include "bound/precision.h"
#include "graph/contraction.h"
#include "graph/graph.h"
#include "graph/needs.h"
#include "graph/values.h"

namespace solmark::bound {

struct Work {
  WorkItem item;
  Precision precision = Precision::kFp32;
};

struct WorkCount {
  std::vector<Work> work;
  std::vector<std::size_t> io_only;                              // live, no rule for their arithmetic
  std::vector<std::pair<std::size_t, std::string>> not_counted;  // with the reason
  std::vector<std::size_t> repeated;
};

[[nodiscard]] WorkCount count_work(const graph::OpGraph& graph, const graph::Values& values,
                                   const graph::Needs& needs);

// Fewest multiplies over all orders of a contraction of any number of operands (exact up to ten operands, a
// lower bound beyond). Labels along which every operand repeats itself, and labels of one operand that are
// summed away, are free.
[[nodiscard]] double fewest_multiplies(const graph::Contraction& contraction);

}  // namespace solmark::bound
