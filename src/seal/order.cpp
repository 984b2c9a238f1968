#include "seal/order.h"

#include <functional>
#include <queue>

namespace solmark::seal {
namespace {

struct Ends {
  std::vector<std::uint32_t> roots;
  std::vector<std::uint32_t> leaves;
};

Ends ends_of(const Call& call, std::uint32_t first) {
  std::vector<bool> has_before(call.nodes.size(), false);
  std::vector<bool> has_after(call.nodes.size(), false);
  for (const Edge& edge : call.edges) {
    has_before[edge.to] = true;
    // A launch-order or programmatic edge lets its target end before its source does: the source is then an
    // end of the call in its own right.
    if (edge.type == 0 && edge.from_port == 0) has_after[edge.from] = true;
  }
  Ends ends;
  for (std::uint32_t i = 0; i < call.nodes.size(); ++i) {
    if (!has_before[i]) ends.roots.push_back(first + i);
    if (!has_after[i]) ends.leaves.push_back(first + i);
  }
  return ends;
}

}  // namespace

ReplayPlan plan_replay(const std::vector<Call>& calls) {
  ReplayPlan plan;
  for (const Call& call : calls) {
    plan.first_node.push_back(plan.nodes);
    plan.nodes += call.nodes.size();
  }
  std::vector<std::uint32_t> before;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto first = static_cast<std::uint32_t>(plan.first_node[i]);
    const Ends ends = ends_of(calls[i], first);
    if (before.size() > 1 && ends.roots.size() > 1) {
      const auto join = static_cast<std::uint32_t>(plan.nodes + plan.joins++);
      for (const std::uint32_t leaf : before) plan.edges.push_back({leaf, join, 0, 0, 0});
      before = {join};
    }
    for (const std::uint32_t leaf : before)
      for (const std::uint32_t root : ends.roots) plan.edges.push_back({leaf, root, 0, 0, 0});
    for (Edge edge : calls[i].edges) {
      edge.from += first;
      edge.to += first;
      plan.edges.push_back(edge);
    }
    before = ends.leaves;
  }
  return plan;
}

std::vector<std::uint32_t> topological_order(std::size_t nodes, const std::vector<Edge>& edges) {
  std::vector<std::vector<std::uint32_t>> after(nodes);
  std::vector<std::uint32_t> waiting(nodes, 0);
  for (const Edge& edge : edges) {
    after[edge.from].push_back(edge.to);
    ++waiting[edge.to];
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
  for (std::uint32_t i = 0; i < nodes; ++i)
    if (waiting[i] == 0) free.push(i);
  std::vector<std::uint32_t> order;
  while (!free.empty()) {
    const std::uint32_t node = free.top();
    free.pop();
    order.push_back(node);
    for (const std::uint32_t next : after[node])
      if (--waiting[next] == 0) free.push(next);
  }
  if (order.size() != nodes) order.clear();
  return order;
}

}  // namespace solmark::seal
