// Sliding windows (convolution, pooling): which input positions one dim touches, and how many (window tap,
// output) pairs fall on real input rather than padding.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/box.h"
#include "graph/graph.h"

namespace solmark::graph {

struct WindowDim {
  std::int64_t input = 0, kernel = 0, output = 0;
  std::int64_t stride = 1, padding = 0, dilation = 1;
};

// Pairs (o, k) with 0 <= o*stride - padding + k*dilation < input.
std::int64_t valid_pairs(const WindowDim& dim);
// Input positions that some pair touches, as disjoint slices.
std::vector<Slice> touched_inputs(const WindowDim& dim);
// Outputs that touch some input (of a transposed convolution, whose input takes the place of the output).
std::vector<Slice> touching_outputs(const WindowDim& dim);
// Kernel taps that touch some input.
std::vector<Slice> touched_taps(const WindowDim& dim);

struct Convolution {
  int input = 0;
  int weight = 0;
  std::optional<int> bias;
  bool transposed = false;
  std::int64_t groups = 1;
  std::vector<WindowDim>
      dims;  // of a transposed one: with input and output exchanged, so that pairs count alike
  std::int64_t multiplies = 0;  // batch x output channels x input channels of a group x valid pairs
};
[[nodiscard]] std::optional<Convolution> convolution_of(const OpGraph& graph, const Op& op);
// The forward convolution whose gradients a convolution_backward computes.
[[nodiscard]] std::optional<Convolution> convolution_of_backward(const OpGraph& graph, const Op& op);

// Parts of `tensor` given per-dim slices for its last dims; every combination of slices is one part. Nothing
// when there would be more than a thousand.
[[nodiscard]] std::optional<std::vector<Tensor>> parts_of(const Tensor& tensor,
                                                          const std::vector<std::vector<Slice>>& last_dims);

// Parts of a pooling's input that its windows touch.
[[nodiscard]] std::optional<std::vector<Tensor>> pooled_parts(const OpGraph& graph, const Op& op);

}  // namespace solmark::graph
