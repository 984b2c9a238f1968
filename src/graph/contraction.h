// One form for every matmul-like operator and einsum: operands whose dims carry labels, a sum over the labels
// that the output lacks. Reads and multiplies follow from the labels alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace solmark::graph {

struct ContractionOperand {
  int tensor = 0;           // as recorded
  Tensor view;              // the same elements with one dim a label
  std::vector<int> labels;  // of view's dims
};

struct Contraction {
  std::vector<ContractionOperand> operands;
  Tensor output;  // the result with one dim a label
  std::vector<int> output_labels;
  std::vector<std::int64_t> sizes;  // by label
  std::vector<int>
      added;  // operands that are added to the product or scale it (bias, input of addmm, scales)
};

// Nothing when the operator is no contraction or its shapes do not fit its name. A contraction whose product
// is multiplied by zero (addmm with alpha = 0) has no operands.
[[nodiscard]] std::optional<Contraction> contraction_of(const OpGraph& graph, const Op& op);

}  // namespace solmark::graph
