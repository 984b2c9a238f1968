// SOL score: 1 / (1 + (t - t_sol) / (t_b - t_sol)), with its edge cases written down.
#pragma once

#include <optional>

namespace solmark::judge {

// nullopt when t < t_sol: a time below the bound is a Finding, not a score. Where the baseline is not slower
// than the bound (t_b <= t_sol) the score is 1 at t = t_sol and 0 otherwise, as in SOL-ExecBench.
std::optional<double> sol_score(double t_s, double t_sol_s, double t_b_s);

}  // namespace solmark::judge
