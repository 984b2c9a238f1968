// What kind of reader each operator is, by its exact name (never by part of it): which elements of its
// operands its result depends on. An operator that is not listed is kUnknown: nothing may be assumed about
// what it reads.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace solmark::graph {

enum class OpKind : std::uint8_t {
  kUnknown,
  kFactory,       // reads no element: zeros, arange, rand
  kPointwise,     // result element i depends on element i of every operand, by broadcasting
  kCopyInto,      // self is overwritten by the source, by broadcasting
  kWhole,         // every result depends on every element of every operand
  kRowwise,       // as kWhole, but results other than the first depend on the first operand only (norms)
  kSelect,        // where, masked_fill: which operand is read depends on a mask
  kTriangle,      // tril, triu
  kConcatenate,   // cat, stack
  kPad,           // constant_pad_nd
  kGather,        // reads where indices say
  kScatter,       // writes where indices say, over what was there
  kScatterAdd,    // the same, adding
  kSliceScatter,  // slice_scatter, select_scatter: writes a part that the arguments name
  kContraction,   // matmul and its relatives, einsum
  kConvolution,
  kConvolutionBackward,
  kAttention,
  kPool,       // windows over the last dims: max_pool2d and relatives
  kLogical,    // and, or: one operand may decide alone
  kReadsNone,  // reads that cannot be proved: any, dropout in training
};

// The name without "aten.", the overload, and the final underscore of in-place operators.
[[nodiscard]] std::string base_name(const Op& op);
[[nodiscard]] OpKind op_kind(const Op& op);
// A result is a view of memory that an argument already had, and nothing is written.
[[nodiscard]] bool is_view(const OpGraph& graph, const Op& op);

}  // namespace solmark::graph
