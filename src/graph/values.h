// The forward pass: what is known about the values that each operation reads, without knowing the inputs.
// Which operands may be zero, infinite or known by construction; from how narrow a type values were widened;
// which operations compute what an earlier one has already computed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace solmark::graph {

// A triangle of the last two dims: element (i, j) may differ from zero only where j - i <= diagonal (lower)
// or j - i >= diagonal (upper). Strides say which dim of a view is which.
struct Triangle {
  bool lower = true;
  std::int64_t diagonal = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  bool only_diagonal = false;  // j - i == diagonal
};

struct Value {
  bool may_be_zero = false;   // zeros by construction (masks, zero factories), not by chance
  bool may_be_huge = false;   // infinities or values that play their part (masked scores)
  bool may_be_known = false;  // elements that do not depend on the inputs
  bool constant = false;      // no element depends on the inputs
  // Rows along the dim of stride 1 sum to 1 (softmax): none is zero as a whole.
  bool rows_sum_to_one = false;
  // The narrowest type whose values these are, up to scaling: fp8 numbers widened to float32 stay fp8.
  std::optional<Element> narrow;
  std::optional<Triangle> triangle;
  // Outside of it a huge number of the mask stands, so that nothing else there matters: what softmax makes
  // zero.
  std::optional<Triangle> reachable;
  bool solid = false;                // constant, and not zero anywhere (inside its triangle)
  std::optional<std::int64_t> ramp;  // constant: this number, then one more for each step
  // Dims of the storage's layout along which values repeat (broadcast operands written out).
  std::vector<Dim> repeats;
  std::int64_t version = -1;  // equal versions of equal views hold equal values
};

struct Values {
  // Per operation, per tensor argument (in the order of tensor_arguments): the value before the operation.
  std::vector<std::vector<Value>> arguments;
  // Per operation: the earliest operation that computes the same results, or itself.
  std::vector<std::size_t> same_as;
  // Per operation: its results do not depend on the inputs, whatever it reads (x - x, softmax over one
  // element).
  std::vector<bool> constant_results;

  [[nodiscard]] const Value& of(std::size_t op, const Op& the_op, int tensor) const;
};

// Whether values repeat along a dim of a view: it is broadcast, or runs along a repeating dim of the layout.
[[nodiscard]] bool repeats_along(const Dim& dim, const Value& value);
// A storage's triangle as the last two dims of a view of it show it (strides are the view's); nothing when
// they do not.
[[nodiscard]] std::optional<Triangle> triangle_in_view(const Tensor& view,
                                                       const std::optional<Triangle>& triangle);
// All but the triangle, which is a triangle again.
[[nodiscard]] Triangle complement(const Triangle& triangle);
// The part of a product or sum that a mask leaves in reach: `mask` is its value, `view` how it is read.
[[nodiscard]] std::optional<Triangle> left_by_addend(const Tensor& view, const Value& mask);
// The part of self that masked_fill leaves, or that where takes from its second argument.
[[nodiscard]] std::optional<Triangle> left_by_mask(const Tensor& view, const Value& mask,
                                                   bool kept_where_true);

[[nodiscard]] Values analyse_values(const OpGraph& graph);

}  // namespace solmark::graph
