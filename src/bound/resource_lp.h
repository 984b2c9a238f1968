// The resource programme: work classes, each of which may be done by several methods on several resources, in
// the least time. Solved through its dual, whose solution is the certificate: with prices y >= 0 on the
// resources that sum to 1, T >= sum over classes of work x the cheapest method's price, whatever the
// schedule.
#pragma once

#include <cstddef>
#include <vector>

namespace solmark::bound {

struct LpMethod {
  std::size_t resource = 0;
  double seconds_per_unit = 0;  // positive
};

struct LpClass {
  double units = 0;
  std::vector<LpMethod> methods;  // at least one
};

struct LpSolution {
  double t_s = 0;               // the certified value: computed from the prices below
  std::vector<double> prices;   // by resource, sum 1
  std::vector<double> class_s;  // each class's part of t_s
};

[[nodiscard]] LpSolution solve_resources(const std::vector<LpClass>& classes, std::size_t resources);

}  // namespace solmark::bound
