// Parts of a tensor as slices along its own dims, so that "only these elements of the result are needed" can
// be carried through an operation to its operands.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace solmark::graph {

struct Slice {
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
  bool operator==(const Slice&) const = default;
};
using Box = std::vector<Slice>;

Box whole_box(const Tensor& tensor);
// `view`, of the same storage, as a box of `whole`; nothing when it is not one (or that is not certain).
std::optional<Box> box_within(const Tensor& whole, const Tensor& view);
// The part of the tensor that a box of its rank selects.
Tensor part(const Tensor& tensor, const Box& box);
std::int64_t box_count(const Box& box);

}  // namespace solmark::graph
