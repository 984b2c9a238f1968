#include "seal/order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace solmark::seal {
namespace {

Call call_of(std::size_t nodes, std::vector<Edge> edges) {
  Call call;
  call.nodes.assign(nodes, EmptyNode{});
  call.edges = std::move(edges);
  return call;
}

// reach[a][b]: b cannot start before a has ended. Every edge orders the starts of its nodes; only a full
// dependency orders an end before a start.
std::vector<std::vector<bool>> reachable(const ReplayPlan& plan) {
  const std::size_t count = plan.nodes + plan.joins;
  using Matrix = std::vector<std::vector<bool>>;
  Matrix starts(count, std::vector<bool>(count, false));
  Matrix reach = starts;
  for (std::size_t i = 0; i < count; ++i) starts[i][i] = true;
  for (const Edge& edge : plan.edges) starts[edge.from][edge.to] = true;
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j)
        if (starts[i][k] && starts[k][j]) starts[i][j] = true;
  for (const Edge& edge : plan.edges) {
    if (edge.type != 0 || edge.from_port != 0) continue;
    for (std::size_t j = 0; j < count; ++j)
      if (starts[edge.to][j]) reach[edge.from][j] = true;
  }
  return reach;
}

void expect_no_overlap(const std::vector<Call>& calls) {
  const ReplayPlan plan = plan_replay(calls);
  const auto reach = reachable(plan);
  for (std::size_t c = 0; c + 1 < calls.size(); ++c)
    for (std::size_t i = 0; i < calls[c].nodes.size(); ++i)
      for (std::size_t j = 0; j < calls[c + 1].nodes.size(); ++j)
        EXPECT_TRUE(reach[plan.first_node[c] + i][plan.first_node[c + 1] + j])
            << "call " << c << " node " << i << " may overlap with node " << j << " of the next";
}

TEST(ReplayPlan, ChainsSingleNodesByOneEdge) {
  const ReplayPlan plan = plan_replay({call_of(1, {}), call_of(1, {}), call_of(1, {})});
  EXPECT_EQ(plan.nodes, 3U);
  EXPECT_EQ(plan.joins, 0U);
  EXPECT_EQ(plan.edges, (std::vector<Edge>{{0, 1, 0, 0, 0}, {1, 2, 0, 0, 0}}));
}

TEST(ReplayPlan, NeighboursNeverOverlap) {
  const Call chain = call_of(3, {{0, 1, 0, 0, 0}, {1, 2, 0, 0, 0}});
  const Call fork = call_of(4, {{0, 1, 0, 0, 0}, {0, 2, 0, 0, 0}, {1, 3, 0, 0, 0}, {2, 3, 0, 0, 0}});
  const Call wide = call_of(3, {});
  const Call two_ends = call_of(3, {{0, 1, 0, 0, 0}, {0, 2, 0, 0, 0}});
  expect_no_overlap({chain, fork, wide, wide, two_ends, wide, chain});
}

TEST(ReplayPlan, JoinsManyEndsInsteadOfMultiplying) {
  const ReplayPlan plan = plan_replay({call_of(50, {}), call_of(50, {})});
  EXPECT_EQ(plan.joins, 1U);
  EXPECT_EQ(plan.edges.size(), 100U);
  expect_no_overlap({call_of(50, {}), call_of(50, {})});
}

// With programmatic launch the second kernel may end before the first: the next call waits for both.
TEST(ReplayPlan, WaitsForTheSourceOfAProgrammaticEdge) {
  const Call pair = call_of(2, {{0, 1, 1, 0, 1}});
  expect_no_overlap({pair, pair});
  const ReplayPlan plan = plan_replay({pair, pair});
  EXPECT_EQ(std::count(plan.edges.begin(), plan.edges.end(), Edge{2, 3, 1, 0, 1}), 1);
}

TEST(TopologicalOrder, KeepsTheRecordedOrderWhereItMay) {
  EXPECT_EQ(topological_order(3, {}), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(topological_order(3, {{2, 0, 0, 0, 0}}), (std::vector<std::uint32_t>{1, 2, 0}));
  EXPECT_TRUE(topological_order(2, {{0, 1, 0, 0, 0}, {1, 0, 0, 0, 0}}).empty());
}

}  // namespace
}  // namespace solmark::seal
