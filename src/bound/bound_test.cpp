#include "bound/bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "arch/registry.h"
#include "bound/memory.h"
#include "bound/precision.h"
#include "bound/resource_lp.h"
#include "bound/work.h"

namespace solmark::bound {
namespace {

// The least time by search over how two classes may be split on two resources.
TEST(ResourceProgramme, MeetsASearchOverAllSplits) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> draw(0.1, 10);
  for (int i = 0; i < 200; ++i) {
    std::vector<LpClass> classes;
    for (int w = 0; w < 2; ++w) classes.push_back({draw(random), {{0, draw(random)}, {1, draw(random)}}});
    double least = std::numeric_limits<double>::infinity();
    constexpr int kSteps = 400;
    for (int a = 0; a <= kSteps; ++a) {
      for (int b = 0; b <= kSteps; ++b) {
        double load[2] = {0, 0};
        const double part[2] = {static_cast<double>(a) / kSteps, static_cast<double>(b) / kSteps};
        for (std::size_t w = 0; w < 2; ++w) {
          load[0] += part[w] * classes[w].units * classes[w].methods[0].seconds_per_unit;
          load[1] += (1 - part[w]) * classes[w].units * classes[w].methods[1].seconds_per_unit;
        }
        least = std::min(least, std::max(load[0], load[1]));
      }
    }
    const LpSolution solution = solve_resources(classes, 2);
    ASSERT_LE(solution.t_s, least * (1 + 1e-9));
    ASSERT_GE(solution.t_s, least * 0.97);
    EXPECT_NEAR(solution.prices[0] + solution.prices[1], 1, 1e-12);
  }
}

TEST(ResourceProgramme, KeepsItsPrecisionAtRealScales) {
  // 1e15 multiplies on pipes of 1e15 and 1e14 FLOP/s side by side.
  const LpSolution solution = solve_resources({{1e15, {{0, 2e-15}, {1, 2e-14}}}}, 2);
  EXPECT_NEAR(solution.t_s, 2e15 / 1.1e15, 1e-9);
  EXPECT_EQ(solve_resources({}, 3).t_s, 0);
}

// A chain of matrices by the textbook recurrence.
TEST(ContractionOrder, MeetsTheMatrixChainRecurrence) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const int count = std::uniform_int_distribution<int>(2, 7)(random);
    std::vector<std::int64_t> sizes;
    for (int i = 0; i <= count; ++i) sizes.push_back(std::uniform_int_distribution<int>(2, 9)(random));
    graph::Contraction chain;
    chain.sizes = sizes;
    for (int i = 0; i < count; ++i) {
      graph::ContractionOperand operand;
      operand.labels = {i, i + 1};
      const auto at = static_cast<std::size_t>(i);
      operand.view.dims = {{sizes[at], sizes[at + 1]}, {sizes[at + 1], 1}};
      chain.operands.push_back(std::move(operand));
    }
    chain.output_labels = {0, count};
    const auto n = static_cast<std::size_t>(count);
    std::vector<std::vector<double>> best(n, std::vector<double>(n, 0));
    for (std::size_t length = 2; length <= n; ++length) {
      for (std::size_t i = 0; i + length <= n; ++i) {
        const std::size_t j = i + length - 1;
        best[i][j] = std::numeric_limits<double>::infinity();
        for (std::size_t k = i; k < j; ++k) {
          best[i][j] = std::min(best[i][j], best[i][k] + best[k + 1][j] +
                                                static_cast<double>(sizes[i] * sizes[k + 1] * sizes[j + 1]));
        }
      }
    }
    ASSERT_EQ(fewest_multiplies(chain), best[0][n - 1]);
  }
}

TEST(ContractionOrder, BroadcastAndLoneLabelsAreFree) {
  graph::Contraction product;
  product.sizes = {8, 16, 4};  // i, k, j
  product.operands.resize(2);
  product.operands[0].labels = {0, 1};
  product.operands[0].view.dims = {{8, 16}, {16, 1}};
  product.operands[1].labels = {1, 2};
  product.operands[1].view.dims = {{16, 4}, {4, 1}};
  product.output_labels = {0, 2};
  EXPECT_EQ(fewest_multiplies(product), 8 * 16 * 4);
  product.operands[0].view.dims[0].stride = 0;  // the same row again and again
  EXPECT_EQ(fewest_multiplies(product), 16 * 4);
  product.operands[0].view.dims = {{8, 16}, {16, 0}};  // constant along k: b is summed first
  EXPECT_EQ(fewest_multiplies(product), 8 * 4);
  product.operands[0].view.dims = {{8, 16}, {16, 1}};
  product.output_labels = {0};  // j is summed away before
  EXPECT_EQ(fewest_multiplies(product), 8 * 16);
}

TEST(Precision, ProductsTakeTheWiderOperand) {
  using graph::Element;
  EXPECT_EQ(product_precision(Element::kFloat8E4m3fn, Element::kBfloat16), Precision::kHalf);
  EXPECT_EQ(product_precision(Element::kFloat32, Element::kInt8), Precision::kFp32);
  EXPECT_EQ(product_precision(Element::kFloat4E2m1fnX2, Element::kFloat8E5m2), Precision::kFp8);
  EXPECT_FALSE(product_precision(Element::kComplex64, Element::kFloat32).has_value());
  EXPECT_FALSE(product_precision(Element::kInt64, Element::kInt64).has_value());
}

TEST(Precision, NarrowerNeverTakesLonger) {
  for (const char* name : {"a100-sxm", "h100-sxm", "b200"}) {
    const arch::Arch arch = *arch::find_arch(name);
    const auto fastest = [&](Precision precision) {
      double least = std::numeric_limits<double>::infinity();
      for (const auto& method : methods_for(precision, arch, {}))
        least = std::min(least, method.seconds_per_multiply);
      return least;
    };
    EXPECT_LE(fastest(Precision::kFp4), fastest(Precision::kFp8));
    EXPECT_LE(fastest(Precision::kFp8), fastest(Precision::kHalf));
    EXPECT_LE(fastest(Precision::kHalf), fastest(Precision::kFp32));
    EXPECT_LE(fastest(Precision::kFp32), fastest(Precision::kFp64));
  }
}

arch::Arch cpu() {
  arch::Arch out;
  out.name = "cpu";
  out.kind = arch::Kind::kCpu;
  const auto figure = [](double value) { return arch::Figure{value, "test", arch::Certainty::kMeasured}; };
  out.units = figure(4);
  out.memory_bytes_per_s = figure(1e10);
  out.cache_bytes = figure(1e6);
  out.vector[arch::Format::kFp32] = figure(1e11);
  out.vector[arch::Format::kFp64] = figure(5e10);
  return out;
}

// Matrix cores that take float32 work beside the vector pipe, even where no shorter format is allowed.
TEST(Methods, Fp32MatrixCoresCount) {
  BoundOptions options;
  options.fp32_matmul = Fp32Matmul::kIeee;
  const auto methods = methods_for(Precision::kFp32, *arch::find_arch("mi355x"), options);
  double rate = 0;
  for (const auto& method : methods) {
    if (method.resource == Resource::kTensor) rate = std::max(rate, 2 / method.seconds_per_multiply);
  }
  EXPECT_NEAR(rate, 157.3e12, 0.1e12);
}

TEST(Precision, ACpuThatSaysNothingOfNarrowFormatsGivesNoRateForThem) {
  arch::Arch arch = cpu();
  EXPECT_TRUE(methods_for(Precision::kHalf, arch, {}).empty());
  EXPECT_TRUE(methods_for(Precision::kFp32, arch, {}).empty());  // narrow formats could stand in
  EXPECT_FALSE(methods_for(Precision::kFp64, arch, {}).empty());
  arch.vector[arch::Format::kFp16] = arch.vector[arch::Format::kBf16] = arch.vector[arch::Format::kFp32];
  EXPECT_FALSE(methods_for(Precision::kHalf, arch, {}).empty());
  EXPECT_TRUE(methods_for(Precision::kInt8, arch, {}).empty());
}

// result = a @ b of the given sizes and type.
graph::OpGraph product(std::int64_t m, std::int64_t k, std::int64_t n, graph::Element element) {
  graph::OpGraph graph;
  const auto add = [&](std::int64_t rows, std::int64_t columns, graph::Role role) {
    graph.storages.push_back({rows * columns * graph::element_bytes(element), role, ""});
    graph::Tensor tensor;
    tensor.storage = static_cast<int>(graph.storages.size()) - 1;
    tensor.element = element;
    tensor.dims = {{rows, columns}, {columns, 1}};
    graph.tensors.push_back(tensor);
    return static_cast<int>(graph.tensors.size()) - 1;
  };
  const int a = add(m, k, graph::Role::kInput);
  const int b = add(k, n, graph::Role::kInput);
  const int c = add(m, n, graph::Role::kIntermediate);
  graph::Op op;
  op.op = "aten.mm.default";
  op.args.resize(2);
  op.args[0].value = graph::TensorRef{a};
  op.args[1].value = graph::TensorRef{b};
  op.outputs = {c};
  graph.ops.push_back(std::move(op));
  graph.inputs = {{"a", a}, {"b", b}};
  graph.outputs = {{"c", c}};
  return graph;
}

TEST(Bound, GrowsWithEverySize) {
  const arch::Arch arch = *arch::find_arch("h100-sxm");
  const auto t = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
    const auto bound = compute_bound(product(m, k, n, graph::Element::kBfloat16), arch);
    EXPECT_TRUE(bound.ok());
    return bound->t_sol_s;
  };
  std::mt19937 random(8);
  const auto draw = [&random] { return std::uniform_int_distribution<std::int64_t>(1, 8192)(random); };
  for (int i = 0; i < 100; ++i) {
    const std::int64_t m = draw();
    const std::int64_t k = draw();
    const std::int64_t n = draw();
    EXPECT_LE(t(m, k, n), t(m + draw(), k, n));
    EXPECT_LE(t(m, k, n), t(m, k + draw(), n));
    EXPECT_LE(t(m, k, n), t(m, k, n + draw()));
  }
}

TEST(Bound, LargeProductsAreLimitedByTheTensorPipe) {
  BoundOptions options;
  options.clock.policy = arch::ClockPolicy::kDatasheet;
  const auto bound = compute_bound(product(8192, 8192, 8192, graph::Element::kBfloat16),
                                   *arch::find_arch("h100-sxm"), options);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->levels[2].limiter, "tensor");
  EXPECT_EQ(bound->levels[0].limiter, "memory");
  // Vector units beside the tensor pipe: (4096 + 512 + 256 + 128) FLOP a clock.
  EXPECT_NEAR(bound->t_sol_s, 2 * std::pow(8192.0, 3) / (132 * 1.83e9 * (4096 + 512 + 256 + 128)), 1e-9);
}

TEST(Bound, OnACpu) {
  arch::Arch arch = cpu();
  arch.vector[arch::Format::kFp16] = arch.vector[arch::Format::kBf16] = arch.vector[arch::Format::kFp32];
  BoundOptions options;
  options.fp32_matmul = Fp32Matmul::kIeee;
  const auto bound = compute_bound(product(512, 512, 512, graph::Element::kFloat32), arch, options);
  ASSERT_TRUE(bound.ok()) << bound.error().text();
  EXPECT_EQ(bound->levels[0].t_s, 3 * 512 * 512 * 4 / 1e10);
  EXPECT_EQ(bound->levels[2].limiter, "vector");
  EXPECT_NEAR(bound->t_sol_s, 2 * std::pow(512.0, 3) / 1e11, 1e-6);
  // Nothing is known of 16-bit rates: the label says so, and the bound is what I/O gives.
  const auto silent = compute_bound(product(512, 512, 512, graph::Element::kBfloat16), cpu());
  EXPECT_NE(silent->label.find("half multiplies"), std::string::npos);
  EXPECT_EQ(silent->t_sol_s, silent->levels[0].t_s);
}

TEST(Memory, WarmCallsPayOnlyForWhatTheCacheCannotHold) {
  const arch::Arch arch = cpu();
  BoundOptions options;
  options.cache = CacheState::kWarm;
  EXPECT_EQ(memory_term(400000, 500000, arch, options).t_s, 0);
  EXPECT_NEAR(memory_term(3000000, 500000, arch, options).t_s, 2000000 / 1e10, 1e-15);
  options.cache = CacheState::kCold;
  options.slots = 10;
  EXPECT_NEAR(memory_term(400000, 500000, arch, options).t_s, (3000000.0 + 4000000.0) / 10 / 1e10, 1e-15);
  options.slots.reset();
  EXPECT_NEAR(memory_term(400000, 500000, arch, options).t_s, 900000 / 1e10, 1e-15);
}

}  // namespace
}  // namespace solmark::bound
