#include "graph/windows.h"

#include <algorithm>
#include <string>

#include "graph/op_kinds.h"

namespace solmark::graph {
namespace {

std::vector<Slice> slices_of(const std::vector<bool>& touched) {
  std::vector<Slice> slices;
  std::vector<std::int64_t> at;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (touched[i]) at.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < at.size();) {
    std::size_t j = i + 1;
    const std::int64_t step = j < at.size() ? at[j] - at[i] : 1;
    while (j < at.size() && at[j] - at[j - 1] == step) ++j;
    slices.push_back({at[i], static_cast<std::int64_t>(j - i), j - i == 1 ? 1 : step});
    i = j;
  }
  return slices;
}

std::int64_t element_of(const std::vector<std::int64_t>& values, std::size_t i, std::int64_t fallback) {
  if (values.empty()) return fallback;
  return values.size() == 1 ? values.front() : values[std::min(i, values.size() - 1)];
}

// Outputs of which tap k touches real input: a range.
struct Range {
  std::int64_t begin, end;
};
Range outputs_of_tap(const WindowDim& dim, std::int64_t k) {
  const std::int64_t shift = k * dim.dilation - dim.padding;  // input position of output 0
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -((-a) / b); };
  const std::int64_t begin = std::max<std::int64_t>(0, ceil_div(-shift, dim.stride));
  const std::int64_t end = std::min(dim.output, ceil_div(dim.input - shift, dim.stride));
  return {begin, std::max(begin, end)};
}

// Windows are counted tap by tap: sizes beyond these are no real problem's and would take forever, or
// overflow.
bool is_countable(const WindowDim& dim) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  const auto within = [](std::int64_t value, std::int64_t least) { return value >= least && value <= kMost; };
  return within(dim.input, 0) && within(dim.output, 0) && within(dim.kernel, 0) && within(dim.stride, 1) &&
         within(dim.dilation, 1) && within(dim.padding, -kMost) && dim.kernel * dim.output <= 4 * kMost;
}

std::optional<Convolution> convolution(const OpGraph& graph, const Op& op, std::size_t input_at,
                                       std::size_t weight_at, std::optional<int> bias, std::size_t stride_at,
                                       std::size_t transposed_at, std::size_t groups_at,
                                       const Tensor& output) {
  const auto input = tensor_argument(op, input_at);
  const auto weight = tensor_argument(op, weight_at);
  const auto stride = ints_argument(op, stride_at);
  const auto padding = ints_argument(op, stride_at + 1);
  const auto dilation = ints_argument(op, stride_at + 2);
  if (!input || !weight || !stride || !padding || !dilation) return std::nullopt;
  Convolution conv{*input,
                   *weight,
                   bias,
                   bool_argument(op, transposed_at).value_or(false),
                   int_argument(op, groups_at).value_or(1),
                   {},
                   0};
  const Tensor& in = graph.tensor(*input);
  const Tensor& w = graph.tensor(*weight);
  if (in.rank() < 3 || in.rank() != w.rank() || output.rank() != in.rank()) return std::nullopt;
  // Weight: [out, in / groups, taps] or, transposed, [in, out / groups, taps].
  std::int64_t pairs = in.size(0);
  for (const std::int64_t d : {0, 1}) {
    if (__builtin_mul_overflow(pairs, w.size(d), &pairs)) return std::nullopt;
  }
  for (std::size_t d = 2; d < in.dims.size(); ++d) {
    const std::size_t i = d - 2;
    WindowDim dim{in.dims[d].size,
                  w.dims[d].size,
                  output.dims[d].size,
                  element_of(*stride, i, 1),
                  element_of(*padding, i, 0),
                  element_of(*dilation, i, 1)};
    if (!is_countable(dim)) return std::nullopt;
    if (conv.transposed) std::swap(dim.input, dim.output);
    if (__builtin_mul_overflow(pairs, valid_pairs(dim), &pairs)) return std::nullopt;
    conv.dims.push_back(dim);
  }
  conv.multiplies = pairs;
  return conv;
}

}  // namespace

std::int64_t valid_pairs(const WindowDim& dim) {
  std::int64_t pairs = 0;
  for (std::int64_t k = 0; k < dim.kernel; ++k) {
    const Range outputs = outputs_of_tap(dim, k);
    pairs += outputs.end - outputs.begin;
  }
  return pairs;
}

std::vector<Slice> touched_inputs(const WindowDim& dim) {
  std::vector<bool> touched(static_cast<std::size_t>(dim.input), false);
  for (std::int64_t k = 0; k < dim.kernel; ++k) {
    const Range outputs = outputs_of_tap(dim, k);
    for (std::int64_t o = outputs.begin; o < outputs.end; ++o) {
      touched[static_cast<std::size_t>(o * dim.stride - dim.padding + k * dim.dilation)] = true;
    }
  }
  return slices_of(touched);
}

std::vector<Slice> touching_outputs(const WindowDim& dim) {
  std::vector<bool> touching(static_cast<std::size_t>(dim.output), false);
  for (std::int64_t k = 0; k < dim.kernel; ++k) {
    const Range outputs = outputs_of_tap(dim, k);
    for (std::int64_t o = outputs.begin; o < outputs.end; ++o) touching[static_cast<std::size_t>(o)] = true;
  }
  return slices_of(touching);
}

std::vector<Slice> touched_taps(const WindowDim& dim) {
  std::vector<bool> touched(static_cast<std::size_t>(dim.kernel), false);
  for (std::int64_t k = 0; k < dim.kernel; ++k) {
    const Range outputs = outputs_of_tap(dim, k);
    touched[static_cast<std::size_t>(k)] = outputs.end > outputs.begin;
  }
  return slices_of(touched);
}

std::optional<Convolution> convolution_of(const OpGraph& graph, const Op& op) {
  if (op_kind(op) != OpKind::kConvolution || op.outputs.empty() || !op.outputs.front()) return std::nullopt;
  const std::string name = base_name(op);
  const Tensor& output = graph.tensor(*op.outputs.front());
  if (name == "convolution" || name == "_convolution" || name == "convolution_overrideable") {
    return convolution(graph, op, 0, 1, tensor_argument(op, 2), 3, 6, 8, output);
  }
  if (name == "conv1d" || name == "conv2d" || name == "conv3d") {
    // There is no transposed flag: a position beyond the arguments reads as absent.
    return convolution(graph, op, 0, 1, tensor_argument(op, 2), 3, op.args.size(), 6, output);
  }
  return std::nullopt;  // other backends' names: the order of their arguments differs
}

std::optional<Convolution> convolution_of_backward(const OpGraph& graph, const Op& op) {
  const auto gradient = tensor_argument(op, 0);
  if (op_kind(op) != OpKind::kConvolutionBackward || !gradient) return std::nullopt;
  // (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
  // mask)
  return convolution(graph, op, 1, 2, std::nullopt, 4, 7, 9, graph.tensor(*gradient));
}

std::optional<std::vector<Tensor>> parts_of(const Tensor& tensor,
                                            const std::vector<std::vector<Slice>>& last_dims) {
  std::vector<Tensor> parts = {tensor};
  const std::size_t first = tensor.dims.size() - last_dims.size();
  for (std::size_t i = 0; i < last_dims.size(); ++i) {
    std::vector<Tensor> next;
    if (parts.size() * last_dims[i].size() > 1000) return std::nullopt;
    for (const auto& whole : parts) {
      for (const auto& slice : last_dims[i]) {
        Box box = whole_box(whole);
        box[first + i] = slice;
        next.push_back(part(whole, box));
      }
    }
    parts = std::move(next);
  }
  return parts;
}

std::optional<std::vector<Tensor>> pooled_parts(const OpGraph& graph, const Op& op) {
  const auto input = tensor_argument(op, 0);
  if (!input || op.outputs.empty() || !op.outputs.front()) return std::nullopt;
  const Tensor& in = graph.tensor(*input);
  const Tensor& out = graph.tensor(*op.outputs.front());
  const std::string name = base_name(op);
  const std::size_t windows = name.find("1d") != std::string::npos   ? 1
                              : name.find("2d") != std::string::npos ? 2
                                                                     : 3;
  // (self, kernel, stride, padding, dilation | ceil_mode, …)
  const auto kernel = ints_argument(op, 1);
  const auto stride = ints_argument(op, 2);
  const auto padding = ints_argument(op, 3);
  const bool dilated = name.rfind("max", 0) == 0;
  const auto dilation = dilated ? ints_argument(op, 4) : std::nullopt;
  if (!kernel || in.dims.size() < windows || in.dims.size() != out.dims.size()) return std::nullopt;
  std::vector<std::vector<Slice>> slices;
  for (std::size_t i = 0; i < windows; ++i) {
    const std::size_t d = in.dims.size() - windows + i;
    WindowDim dim;
    dim.input = in.dims[d].size;
    dim.output = out.dims[d].size;
    dim.kernel = element_of(*kernel, i, 1);
    dim.stride = element_of(stride.value_or(std::vector<std::int64_t>{}), i, dim.kernel);
    dim.padding = element_of(padding.value_or(std::vector<std::int64_t>{}), i, 0);
    dim.dilation = element_of(dilation.value_or(std::vector<std::int64_t>{}), i, 1);
    if (!is_countable(dim)) return std::nullopt;
    slices.push_back(touched_inputs(dim));
  }
  return parts_of(in, slices);
}

}  // namespace solmark::graph
