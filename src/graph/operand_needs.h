// What one live operation needs of its operands, given what is needed of its results.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/needs.h"
#include "graph/values.h"

namespace solmark::graph {

struct OperandNeeds {
  std::vector<Tensor> parts;  // views of operands, certainly needed
  struct Least {
    int tensor = 0;
    std::int64_t bytes = 0;  // at least so many bytes of it, nobody knows which
  };
  std::vector<Least> least;
  bool proved = true;  // false: the operation may need more, which could not be shown
};

[[nodiscard]] OperandNeeds operand_needs(const OpGraph& graph, std::size_t index, const OpNeed& need,
                                         const Values& values);

}  // namespace solmark::graph
