#include "bound/resource_lp.h"

#include <algorithm>
#include <limits>

namespace solmark::bound {
namespace {

constexpr double kTiny = 1e-12;

// maximise c.x subject to A x <= b, x >= 0 with b >= 0: tableau simplex from the origin, Bland's rule (no
// cycling).
std::vector<double> maximise(std::vector<std::vector<double>> a, std::vector<double> b,
                             std::vector<double> c) {
  const std::size_t rows = a.size();
  const std::size_t columns = c.size();
  std::vector<std::size_t> basis(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    basis[i] = columns + i;
    a[i].resize(columns + rows, 0);
    a[i][columns + i] = 1;
  }
  c.resize(columns + rows, 0);
  for (int round = 0; round < 10000; ++round) {
    const auto entering = std::find_if(c.begin(), c.end(), [](double gain) { return gain > kTiny; });
    if (entering == c.end()) break;
    const auto column = static_cast<std::size_t>(entering - c.begin());
    std::size_t leaving = rows;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < rows; ++i) {
      if (a[i][column] <= kTiny) continue;
      const double ratio = b[i] / a[i][column];
      if (ratio < least - kTiny || (ratio < least + kTiny && leaving < rows && basis[i] < basis[leaving])) {
        least = ratio;
        leaving = i;
      }
    }
    if (leaving == rows) break;  // unbounded: not for well-formed input
    const double pivot = a[leaving][column];
    for (double& value : a[leaving]) value /= pivot;
    b[leaving] /= pivot;
    for (std::size_t i = 0; i < rows; ++i) {
      const double factor = i == leaving ? 0 : a[i][column];
      if (factor == 0) continue;
      for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] -= factor * a[leaving][j];
      b[i] -= factor * b[leaving];
    }
    const double factor = c[column];
    for (std::size_t j = 0; j < c.size(); ++j) c[j] -= factor * a[leaving][j];
    basis[leaving] = column;
  }
  std::vector<double> x(columns, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    if (basis[i] < columns) x[basis[i]] = b[i];
  }
  return x;
}

}  // namespace

LpSolution solve_resources(const std::vector<LpClass>& classes, std::size_t resources) {
  LpSolution solution;
  solution.prices.assign(resources, 0);
  solution.class_s.assign(classes.size(), 0);
  if (classes.empty() || resources == 0) return solution;
  double most_units = 0;
  double most_seconds = 0;
  for (const auto& work : classes) {
    most_units = std::max(most_units, work.units);
    for (const auto& method : work.methods) most_seconds = std::max(most_seconds, method.seconds_per_unit);
  }
  if (most_units <= 0 || most_seconds <= 0) return solution;

  // Variables: prices of the resources, then a value per class: value_w <= price_r * seconds of every method
  // of w.
  std::vector<std::vector<double>> a;
  std::vector<double> b;
  for (std::size_t w = 0; w < classes.size(); ++w) {
    for (const auto& method : classes[w].methods) {
      std::vector<double> row(resources + classes.size(), 0);
      row[method.resource] = -method.seconds_per_unit / most_seconds;
      row[resources + w] = 1;
      a.push_back(std::move(row));
      b.push_back(0);
    }
  }
  std::vector<double> sum(resources + classes.size(), 0);
  std::fill(sum.begin(), sum.begin() + static_cast<std::ptrdiff_t>(resources), 1.0);
  a.push_back(std::move(sum));
  b.push_back(1);
  std::vector<double> objective(resources + classes.size(), 0);
  for (std::size_t w = 0; w < classes.size(); ++w) objective[resources + w] = classes[w].units / most_units;
  const std::vector<double> x = maximise(std::move(a), std::move(b), std::move(objective));

  double total = 0;
  for (std::size_t r = 0; r < resources; ++r) total += std::max(0.0, x[r]);
  if (total <= 0) return solution;
  for (std::size_t r = 0; r < resources; ++r) solution.prices[r] = std::max(0.0, x[r]) / total;
  for (std::size_t w = 0; w < classes.size(); ++w) {
    double cheapest = std::numeric_limits<double>::infinity();
    for (const auto& method : classes[w].methods) {
      cheapest = std::min(cheapest, solution.prices[method.resource] * method.seconds_per_unit);
    }
    solution.class_s[w] = classes[w].units * cheapest;
    solution.t_s += solution.class_s[w];
  }
  return solution;
}

}  // namespace solmark::bound
