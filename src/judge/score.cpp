#include "judge/score.h"

namespace solmark::judge {

std::optional<double> sol_score(double t_s, double t_sol_s, double t_b_s) {
  if (t_s < t_sol_s) return std::nullopt;
  if (t_b_s <= t_sol_s) return t_s <= t_sol_s ? 1.0 : 0.0;
  return 1.0 / (1.0 + (t_s - t_sol_s) / (t_b_s - t_sol_s));
}

}  // namespace solmark::judge
