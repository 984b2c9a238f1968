#include "graph/windows.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/attention.h"

namespace solmark::graph {
namespace {

std::set<std::int64_t> positions(const std::vector<Slice>& slices) {
  std::set<std::int64_t> out;
  for (const auto& slice : slices) {
    for (std::int64_t i = 0; i < slice.count; ++i)
      EXPECT_TRUE(out.insert(slice.start + i * slice.step).second);
  }
  return out;
}

TEST(Windows, CountPairsAndPositionsAsALoopDoes) {
  std::mt19937 random(5);
  const auto draw = [&random](int low, int high) {
    return static_cast<std::int64_t>(std::uniform_int_distribution<int>(low, high)(random));
  };
  for (int i = 0; i < 2000; ++i) {
    const WindowDim dim{draw(1, 12), draw(1, 5), draw(0, 12), draw(1, 4), draw(0, 6), draw(1, 3)};
    std::int64_t pairs = 0;
    std::set<std::int64_t> inputs;
    std::set<std::int64_t> taps;
    std::set<std::int64_t> outputs;
    for (std::int64_t o = 0; o < dim.output; ++o) {
      for (std::int64_t k = 0; k < dim.kernel; ++k) {
        const std::int64_t at = o * dim.stride - dim.padding + k * dim.dilation;
        if (at < 0 || at >= dim.input) continue;
        ++pairs;
        inputs.insert(at);
        taps.insert(k);
        outputs.insert(o);
      }
    }
    ASSERT_EQ(valid_pairs(dim), pairs) << i;
    ASSERT_EQ(positions(touched_inputs(dim)), inputs) << i;
    ASSERT_EQ(positions(touched_taps(dim)), taps) << i;
    ASSERT_EQ(positions(touching_outputs(dim)), outputs) << i;
  }
}

// Sizes that no problem has end at once, and without overflow: nothing is claimed of them.
TEST(Windows, ThatCannotBeCountedAreNotClaimed) {
  OpGraph graph;
  const auto tensor = [&graph](std::vector<std::int64_t> sizes) {
    Tensor t;
    for (const std::int64_t size : sizes) t.dims.push_back({size, 0});
    graph.tensors.push_back(t);
    return static_cast<int>(graph.tensors.size()) - 1;
  };
  const auto pooled = [&](std::int64_t size, std::int64_t kernel) {
    const auto number = [](std::int64_t n) { return Arg{ArgList{Arg{n}}}; };
    Op op;
    op.op = "aten.max_pool1d.default";
    op.args = {Arg{TensorRef{tensor({1, 1, size})}}, number(kernel), number(1), number(0)};
    op.outputs = {tensor({1, 1, size - kernel + 1})};
    return pooled_parts(graph, op).has_value();
  };
  EXPECT_TRUE(pooled(1 << 10, 3));
  EXPECT_FALSE(pooled(std::int64_t{1} << 40, 3));
  EXPECT_FALSE(pooled(1 << 26, 1 << 25));
}

TEST(Attention, CountsCausalPairsAsALoopDoes) {
  for (std::int64_t queries = 0; queries < 9; ++queries) {
    for (std::int64_t keys = 1; keys < 9; ++keys) {
      for (const bool causal : {false, true}) {
        Attention attention;
        attention.causal = causal;
        attention.queries = queries;
        attention.keys = keys;
        std::int64_t values = 0;
        std::int64_t scores = 0;
        for (std::int64_t i = 0; i < queries; ++i) {
          std::int64_t seen = 0;
          for (std::int64_t j = 0; j < keys; ++j) seen += !causal || j <= i ? 1 : 0;
          values += seen;
          scores += seen > 1 ? seen : 0;  // one score is weighed by 1 whatever it is
          EXPECT_EQ(attention.keys_seen(i), seen);
        }
        EXPECT_EQ(attention.value_pairs(), values);
        EXPECT_EQ(attention.score_pairs(), scores);
      }
    }
  }
}

}  // namespace
}  // namespace solmark::graph
