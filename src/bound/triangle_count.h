// Products of triangular matrices: how many multiplies fall inside the triangles, for the needed part of the
// result.
#pragma once

#include <optional>
#include <vector>

#include "graph/contraction.h"
#include "graph/values.h"

namespace solmark::bound {

// result[i, j] = sum over k of a[i, k] b[k, j], with k limited by triangles: lower bounds and upper bounds on
// k.
struct TriangularProduct {
  int row = -1, inner = -1, column = -1;  // labels
  // k <= i + d (a lower), k >= i + d (a upper); k >= j - d (b lower), k <= j - d (b upper).
  std::optional<std::int64_t> a_at_most, a_at_least, b_at_least, b_at_most;
};

// Nothing when the operands are not plain matrices whose dims the triangles name. Broadcast operands are the
// caller's concern: products that are the same again count here as often as they are stated.
[[nodiscard]] std::optional<TriangularProduct> triangular_product(const graph::Contraction& contraction,
                                                                  const std::optional<graph::Triangle>& a,
                                                                  const std::optional<graph::Triangle>& b);

// Multiplies for the given disjoint parts of the result; nothing when a part is no box of it.
[[nodiscard]] std::optional<double> count_triangular(const TriangularProduct& product,
                                                     const graph::Contraction& contraction,
                                                     const std::vector<graph::Tensor>& parts);

}  // namespace solmark::bound
