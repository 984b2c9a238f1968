#include <algorithm>
#include <bit>
#include <limits>

#include "bound/work.h"

namespace solmark::bound {
namespace {

using Mask = unsigned long long;

constexpr std::size_t kMaxOperands = 10;

}  // namespace

double fewest_multiplies(const graph::Contraction& contraction) {
  const std::size_t count = contraction.operands.size();
  if (count < 2 || contraction.sizes.size() > 60) return 0;
  std::vector<double> sizes(contraction.sizes.begin(), contraction.sizes.end());
  Mask output = 0;
  for (const int label : contraction.output_labels) output |= Mask{1} << label;
  // Labels along which an operand really varies.
  std::vector<Mask> labels(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& operand = contraction.operands[i];
    for (std::size_t d = 0; d < operand.labels.size(); ++d) {
      if (operand.view.dims[d].size == 0) return 0;
      if (operand.view.dims[d].stride != 0) labels[i] |= Mask{1} << operand.labels[d];
    }
  }
  const auto product = [&sizes](Mask mask) {
    double out = 1;
    for (; mask != 0; mask &= mask - 1) out *= sizes[static_cast<std::size_t>(std::countr_zero(mask))];
    return out;
  };
  // A set of operands, multiplied: the labels that the others or the output still need.
  const auto outside = [&](std::size_t set) {
    Mask mask = output;
    for (std::size_t i = 0; i < count; ++i) {
      if ((set >> i & 1) == 0) mask |= labels[i];
    }
    return mask;
  };
  const auto inside = [&](std::size_t set) {
    Mask mask = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if ((set >> i & 1) != 0) mask |= labels[i];
    }
    return mask;
  };
  const std::size_t all = (std::size_t{1} << std::min(count, std::size_t{62})) - 1;
  if (count > kMaxOperands) {
    // The last product makes every output element that varies.
    Mask varying = 0;
    for (const Mask mask : labels) varying |= mask;
    return product(varying & output);
  }
  std::vector<double> best(all + 1, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < count; ++i) best[std::size_t{1} << i] = 0;
  for (std::size_t set = 1; set <= all; ++set) {
    if (std::has_single_bit(set)) continue;
    for (std::size_t left = (set - 1) & set; left != 0; left = (left - 1) & set) {
      const std::size_t right = set ^ left;
      if (left < right) continue;
      const Mask merged = (inside(left) & outside(left)) | (inside(right) & outside(right));
      best[set] = std::min(best[set], best[left] + best[right] + product(merged));
    }
  }
  return best[all];
}

}  // namespace solmark::bound
