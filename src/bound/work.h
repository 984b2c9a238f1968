// Counting multiplies (L2): what survives of the contractions, convolutions and attentions that live
// operations state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bound/bound.h"
#include "bound/precision.h"
#include "graph/contraction.h"
#include "graph/graph.h"
#include "graph/needs.h"
#include "graph/values.h"

namespace solmark::bound {

struct Work {
  WorkItem item;
  Precision precision = Precision::kFp32;
};

// Arithmetic other than multiplies of contractions, once for each distinct element that is needed.
enum class PointKind {
  kTranscendental,  // exp, log, sin, tanh, erf, sqrt, division by a varying number …
  kNonlinear,       // comparisons, clamps, roundings, products of two varying numbers …
  kSum,             // additions of a reduction, one less than its elements for each result
};
struct PointWork {
  std::size_t op = 0;
  std::string name;  // overload
  PointKind kind = PointKind::kNonlinear;
  double elements = 0;
  graph::Element element = graph::Element::kFloat32;  // of the narrowest operand or result
  bool foldable = false;  // a function of one number of 16 bits or fewer, so that a table may hold it
  std::string arithmetic;
};

// Steps of one operation that wait for one another (recurrences), whatever runs beside them.
struct ChainWork {
  std::size_t op = 0;
  std::string name;
  double steps = 0;
  std::string arithmetic;
};

struct WorkCount {
  std::vector<Work> work;
  std::vector<PointWork> points;
  std::vector<ChainWork> chains;
  std::vector<std::size_t> io_only;                              // live, no rule for their arithmetic
  std::vector<std::pair<std::size_t, std::string>> not_counted;  // with the reason
  std::vector<std::size_t> repeated;
};

[[nodiscard]] WorkCount count_work(const graph::OpGraph& graph, const graph::Values& values,
                                   const graph::Needs& needs);

// Fewest multiplies over all orders of a contraction of any number of operands (exact up to ten operands, a
// lower bound beyond). Labels along which every operand repeats itself, and labels of one operand that are
// summed away, are free.
[[nodiscard]] double fewest_multiplies(const graph::Contraction& contraction);

}  // namespace solmark::bound
