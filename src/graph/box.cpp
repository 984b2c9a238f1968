#include "graph/box.h"

#include <algorithm>
#include <numeric>

namespace solmark::graph {

Box whole_box(const Tensor& tensor) {
  Box box;
  for (const auto& dim : tensor.dims) box.push_back({0, dim.size, 1});
  return box;
}

std::int64_t box_count(const Box& box) {
  std::int64_t count = 1;
  for (const auto& slice : box) count *= slice.count;
  return count;
}

Tensor part(const Tensor& tensor, const Box& box) {
  Tensor out = tensor;
  out.values.reset();
  for (std::size_t d = 0; d < box.size(); ++d) {
    out.offset += box[d].start * tensor.dims[d].stride;
    out.dims[d] = {box[d].count, tensor.dims[d].stride * box[d].step};
  }
  return out;
}

namespace {

// Finds for each step of a view the dim of `whole` that it walks along, dims in `order` of falling stride.
std::optional<Box> place_steps(const Tensor& whole, const std::vector<std::size_t>& order, Box box,
                               const std::vector<Dim>& steps) {
  std::vector<bool> used(whole.dims.size(), false);
  for (const auto& step : steps) {
    // The dim of `whole` in which the step falls: the one of the largest stride that divides into it.
    const auto found = std::find_if(order.begin(), order.end(),
                                    [&](std::size_t d) { return whole.dims[d].stride <= step.stride; });
    if (found == order.end()) return std::nullopt;
    std::int64_t left = step.size;
    std::int64_t stride = step.stride;
    for (auto it = found;; --it) {
      const std::size_t d = *it;
      const Dim& dim = whole.dims[d];
      if (used[d] || stride % dim.stride != 0) return std::nullopt;
      used[d] = true;
      const std::int64_t pace = stride / dim.stride;
      if (box[d].start + (left - 1) * pace < dim.size) {  // ends within this dim
        box[d].count = left;
        box[d].step = pace;
        break;
      }
      // It runs on into the next larger dim: then this one must be gone through whole, and the two must join.
      if (box[d].start != 0 || pace != 1 || left % dim.size != 0 || it == order.begin()) return std::nullopt;
      box[d].count = dim.size;
      left /= dim.size;
      stride = dim.stride * dim.size;
      if (whole.dims[*(it - 1)].stride != stride) return std::nullopt;
    }
  }
  return box;
}

}  // namespace

std::optional<Box> box_within(const Tensor& whole, const Tensor& view) {
  if (whole.storage != view.storage || whole.element != view.element) return std::nullopt;
  // Dims of `whole` that move the address, largest stride first; they must nest, so that every address has
  // one place.
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < whole.dims.size(); ++d) {
    if (whole.dims[d].size == 0) return std::nullopt;
    if (whole.dims[d].size > 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&whole](std::size_t a, std::size_t b) { return whole.dims[a].stride > whole.dims[b].stride; });
  std::int64_t inner = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Dim& dim = whole.dims[*it];
    if (dim.stride < inner) return std::nullopt;
    inner = dim.stride * dim.size;
  }
  Box box;
  for (const auto& dim : whole.dims) box.push_back({0, dim.size > 1 ? 1 : dim.size, 1});
  std::int64_t rest = view.offset - whole.offset;
  if (rest < 0) return std::nullopt;
  for (const std::size_t d : order) {
    const Dim& dim = whole.dims[d];
    box[d].start = std::min(rest / dim.stride, dim.size - 1);
    rest -= box[d].start * dim.stride;
  }
  if (rest != 0) return std::nullopt;

  std::vector<Dim> steps;
  for (const auto& dim : view.dims) {
    if (dim.size == 0) return std::nullopt;
    if (dim.size > 1 && dim.stride > 0) steps.push_back(dim);
  }
  std::sort(steps.begin(), steps.end(), [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  if (auto found = place_steps(whole, order, box, steps)) return found;
  // Dims that join are one: a batch of heads is a flat batch.
  for (std::size_t i = 0; i + 1 < steps.size();) {
    if (steps[i].stride * steps[i].size == steps[i + 1].stride) {
      steps[i].size *= steps[i + 1].size;
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
  return place_steps(whole, order, std::move(box), steps);
}

}  // namespace solmark::graph
