#include "bound/triangle_count.h"

#include <algorithm>

#include "graph/box.h"

namespace solmark::bound {
namespace {

using graph::Contraction;
using graph::Triangle;

bool has(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::int64_t stride_of(const graph::ContractionOperand& operand, int label) {
  for (std::size_t d = 0; d < operand.labels.size(); ++d) {
    if (operand.labels[d] == label) return operand.view.dims[d].stride;
  }
  return -1;
}

// The triangle seen through a view whose rows are `row` and columns `column`: transposing makes lower upper.
std::optional<Triangle> seen(const graph::ContractionOperand& operand, const Triangle& triangle, int row,
                             int column) {
  if (operand.view.offset != 0 || triangle.row_stride == triangle.column_stride) return std::nullopt;
  const std::int64_t rows = stride_of(operand, row);
  const std::int64_t columns = stride_of(operand, column);
  if (rows == triangle.row_stride && columns == triangle.column_stride) return triangle;
  if (rows == triangle.column_stride && columns == triangle.row_stride) {
    return Triangle{!triangle.lower, -triangle.diagonal, triangle.column_stride, triangle.row_stride,
                    triangle.only_diagonal};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TriangularProduct> triangular_product(const Contraction& contraction,
                                                    const std::optional<Triangle>& a,
                                                    const std::optional<Triangle>& b) {
  const auto& first = contraction.operands[0];
  const auto& second = contraction.operands[1];
  TriangularProduct product;
  for (int label = 0; label < static_cast<int>(contraction.sizes.size()); ++label) {
    const bool in_a = has(first.labels, label);
    const bool in_b = has(second.labels, label);
    const bool in_output = has(contraction.output_labels, label);
    int* place = nullptr;
    if (in_a && in_b && !in_output) place = &product.inner;
    if (in_a && !in_b && in_output) place = &product.row;
    if (!in_a && in_b && in_output) place = &product.column;
    if (place == nullptr && !(in_a && in_b && in_output)) return std::nullopt;
    if (place == nullptr) continue;  // a batch
    if (*place >= 0) return std::nullopt;
    *place = label;
  }
  if (product.row < 0 || product.inner < 0 || product.column < 0) return std::nullopt;
  if (a) {
    const auto view = seen(first, *a, product.row, product.inner);
    if (!view) return std::nullopt;
    (view->lower ? product.a_at_most : product.a_at_least) = view->diagonal;
    if (view->only_diagonal) product.a_at_most = product.a_at_least = view->diagonal;
  }
  if (b) {
    const auto view = seen(second, *b, product.inner, product.column);
    if (!view) return std::nullopt;
    (view->lower ? product.b_at_least : product.b_at_most) = view->diagonal;
    if (view->only_diagonal) product.b_at_least = product.b_at_most = view->diagonal;
  }
  return product;
}

std::optional<double> count_triangular(const TriangularProduct& product, const Contraction& contraction,
                                       const std::vector<graph::Tensor>& parts) {
  const std::int64_t inner = contraction.sizes[static_cast<std::size_t>(product.inner)];
  double total = 0;
  for (const auto& part : parts) {
    const auto box = graph::box_within(contraction.output, part);
    if (!box) return std::nullopt;
    double batches = 1;
    graph::Slice rows{0, 1, 1};
    graph::Slice columns{0, 1, 1};
    for (std::size_t d = 0; d < box->size(); ++d) {
      if (contraction.output_labels[d] == product.row) {
        rows = (*box)[d];
      } else if (contraction.output_labels[d] == product.column) {
        columns = (*box)[d];
      } else {
        batches *= static_cast<double>((*box)[d].count);
      }
    }
    double count = 0;
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const std::int64_t i = rows.start + r * rows.step;
      for (std::int64_t c = 0; c < columns.count; ++c) {
        const std::int64_t j = columns.start + c * columns.step;
        std::int64_t low = 0;
        std::int64_t high = inner - 1;
        if (product.a_at_most) high = std::min(high, i + *product.a_at_most);
        if (product.a_at_least) low = std::max(low, i + *product.a_at_least);
        if (product.b_at_least) low = std::max(low, j - *product.b_at_least);
        if (product.b_at_most) high = std::min(high, j - *product.b_at_most);
        count += static_cast<double>(std::max<std::int64_t>(0, high - low + 1));
      }
    }
    total += batches * count;
  }
  return total;
}

}  // namespace solmark::bound
