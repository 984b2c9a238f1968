// Programs whose least bytes and multiplies are known (recorded by tests/data/graphs/make.py). `bytes` are
// distinct bytes read and written; kExact: the bound must equal them, else it must not exceed them.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "arch/registry.h"
#include "base/json.h"
#include "bound/bound.h"
#include "bound/bound_json.h"
#include "bound/explain.h"
#include "graph/graph_json.h"

namespace solmark::bound {
namespace {

struct Program {
  const char* name;
  std::int64_t read_bytes;
  std::int64_t write_bytes;
  double multiplies;
  bool bytes_exact = true;
  bool multiplies_exact = true;
};

constexpr std::int64_t kMi = 1 << 20;

const Program kPrograms[] = {
    {"u01_einsum_chain", 3 * 512 * 512 * 2, 512 * 512 * 2, 2 * 512.0 * 512 * 512},
    {"u01_einsum_best_order", 3 * 8192 * 2, 8192 * 2, 2 * 8 * 8 * 1024.0},
    {"u02_diagonal", 4096 * 2 + 2 * 16 * kMi, 2 * 16 * kMi, 4096.0 * 4096},
    {"u03_triangular", 1024 * 1025 / 2 * 2 * 2, 2 * kMi, 1024.0 * 1025 * 1026 / 6},
    {"u04_index_select", 128 + 128 * 2, 2048 * 2, 0},
    {"u04_known_rows", 3 * 128 * 2, 4 * 128 * 2, 0},
    {"u05_gather", 1000 * 2 + 1000 * 8, 1000 * 2, 0},
    {"u06_unfold", 1024 * 4104 * 2 + 9 * 2, 1024 * 4096 * 2, 0},
    {"u07_expand", 4096 * 1024 * 2 + 1024 * 2, 4096 * 1024 * 2, 0},
    {"u08_decode_gqa", 8 * 32 * 128 * 2 + 8 * 2 * 4096 * 128 * 2, 8 * 32 * 4096 * 2, 8.0 * 32 * 4096 * 128},
    {"u09_syrk", 2 * kMi, 2 * kMi, 1024.0 * 1025 / 2 * 1024},
    {"u10_views", 2 * kMi, 2 * kMi, 0},
    {"u11_shared_linear", 4 * 1024 * 2 + 2 * kMi, 4 * 1024 * 2, 10 * 4 * 1024.0 * 1024},
    {"u12_dead_branch", 512 * 512 * 2 + 1024 * 512 * 2, 512 * 1024 * 2, 512.0 * 512 * 1024},
    {"u13_topk", 2 * kMi, 1024 * 8 * 2, 0},
    {"u13_sort", 2 * kMi, 2 * kMi, 0},
    {"u13_var_mean", 2 * kMi, 2 * 1024 * 2, 0},
    {"u14_conv3d_groups", 16 * 600 * 2 + 16 * 4 * 27 * 2, 16 * 4 * 64 * 2, 16 * 4 * 27 * 4 * 64.0},
    {"u15_strided_conv", 64 * 28 * 28 * 2 + 128 * 64 * 2, 128 * 28 * 28 * 2, 128 * 64 * 28 * 28.0},
    {"u15_strided_pool", 64 * 28 * 28 * 4, 64 * 28 * 28 * 4, 0},
    {"u16_padded_conv", 8 * 512 * 49 * 2 + 512 * 512 * 9 * 2, 8 * 512 * 49 * 2, 8.0 * 512 * 512 * 19 * 19},
    {"u17_narrow", 2 * kMi, kMi, 0},
    {"u18_causal", (3 * 2 * 8 * 1024 - 16) * 64 * 2, 2 * 8 * 1024 * 64 * 2,
     2 * 8 * 64.0 * (1024.0 * 1025 - 1)},
    {"u18_causal_gqa", (2 * 32 * 511 + 2 * 2 * 8 * 512) * 128 * 2, 2 * 32 * 512 * 128 * 2,
     2 * 32 * 128.0 * (512.0 * 513 - 1)},
    {"u18_masked_by_hand", (8 * (3 * 256 - 1) + 64) * 64 * 2, 8 * 256 * 64 * 2,
     8 * 64 * (256.0 * 257 - 1) + 8 * 256 * 64 * 64.0},
    {"u18_masked_by_addend", 4 * (3 * 128 - 1) * 64 * 2, 4 * 128 * 64 * 2, 4 * 64 * (128.0 * 129 - 1)},
    {"u18_masked_by_where", 4 * (3 * 128 - 1) * 64 * 2, 4 * 128 * 64 * 2, 4 * 64 * (128.0 * 129 - 1)},
    {"u18_masked_gqa", (2 * 8 * 127 + 2 * 2 * 2 * 128) * 64 * 2, 2 * 8 * 128 * 64 * 2,
     2 * 8 * 64 * (128.0 * 129 - 1)},
    {"u20_dense_moe", (256 + 8 + 512) * 512 * 2, 256 * 512 * 2, 256 * 512.0 * (8 + 512), false, false},
    {"u21_where_zeros", 2 * kMi, 2 * kMi, 0},
    {"u22_qkv_unbind", 3 * 2 * 512 * 8 * 64 * 2, 2 * 512 * 8 * 64 * 2, 2 * 2 * 8 * 512.0 * 512 * 64},
    {"u23_linear_sum", 4 * kMi, 1024 * 2, 1024.0 * 1024 * 1024},
    {"u28_same_half", kMi, kMi, 0},
    {"l01_transpose_copy", 2 * kMi, 2 * kMi, 0},
    {"l02_addmm", (512 + 256 * 1024 + 1024 * 512) * 2, 256 * 512 * 2, 256.0 * 512 * 1024},
    {"l02_baddbmm", 2 * 8 * 64 * 256 * 2, 8 * 64 * 64 * 2, 8 * 64 * 64 * 256.0},
    {"l02_einsum_ellipsis", 32 * (64 + 16) * 32 * 2, 32 * 64 * 16 * 2, 32 * 64 * 16 * 32.0},
    {"l02_tensordot", (64 + 80) * 32 * 48 * 2, 64 * 80 * 2, 64 * 80 * 32 * 48.0},
    {"l03_both_returned", 2 * kMi, 4 * kMi, 0},
    {"l04_chunks", 2 * kMi, kMi, 0},
    {"l05_stacked_cache", 62 * 2 * 1024 * 128 * 2 + 512, 512, 62 * 2 * 2 * 1024 * 128.0},
    {"l07_backward", (64 * 512 + 256 * 1024 + 64 * 256 + 1024 * 512) * 2, (1024 * 512 + 256 * 1024) * 2,
     64 * 512 * 1024.0 * 2 + 64 * 256 * 1024.0 * 2},
    {"l07_conv_backward", (4 * 16 * 144 + 32 * 16 * 9 + 4 * 32 * 100) * 2, (4 * 16 * 144 + 32 * 16 * 9) * 2,
     2 * 4 * 32 * 16 * 900.0},
    {"l10_fp32", 8 * kMi, 4 * kMi, 1024.0 * 1024 * 1024},
    {"l12_global_norm", 16 * kMi, 16 * kMi, 0},
    {"l16_scaled_fp8", 1024 * 2048 + 512 * 2048 + 8, 1024 * 512 * 2, 1024.0 * 512 * 2048},
    {"p_widened_fp8", 1024 * 2048 + 512 * 2048 + 1024 * 16 * 4 + 4 * 16 * 4, 1024 * 512 * 2,
     1024.0 * 512 * 2048},
    {"p_widened_bf16", kMi, kMi, 512.0 * 512 * 512},
    {"p_cache_update", 8 * 100 * 128 * 2 + 2 * 8 * 128 * 2, 8 * 101 * 2, 8 * 101 * 128.0},
    {"p_cache_returned", 8 * 128 * 2, 8 * 128 * 2, 0},
    {"p_index_copy", (8192 - 16) * 128 * 2 + 16 * 128 * 2 + 16 * 8, 8192 * 128 * 2, 0, false},
    {"p_index_add", 8192 * 128 * 2 + 16 * 128 * 2 + 16 * 8, 8192 * 128 * 2, 0},
    {"p_rope", 2 * 8 * 512 * 64 * 2 + 2 * 512 * 64 * 2, 2 * 8 * 512 * 64 * 2, 0},
    {"p_alias", 0, 0, 0},
    {"p_expanded_result", 2048, 2048, 0},
    {"p_cse", 2 * 256 * 256 * 2, 256 * 256 * 2, 256.0 * 256 * 256},
    {"p_last_row", 512 * 2 + 1024 * 512 * 2, 1024 * 2, 512 * 1024.0},
    {"p_layer_norm", 4096 * 1024 * 2 + 2 * 1024 * 2, 4096 * 1024 * 2, 0},
    {"p_transposed_conv", (2 * 16 * 64 + 16 * 8 * 9) * 2, 2 * 8 * 225 * 2, 2 * 16 * 8 * 22 * 22.0},
    {"p_written_out_rows", 256 * 2 + 256 * 512 * 2, 1024 * 512 * 2, 256.0 * 512},
    {"p_cancelled", 0, 128 * 2, 0},
    {"p_softmax_of_one", 0, 128 * 2, 0},
    {"p_fp64", 2 * 2 * kMi, 2 * kMi, 512.0 * 512 * 512},
    {"p_masked_sdpa", (3 * 8 * 128 * 64) * 2 + 128 * 128, 8 * 128 * 64 * 2, 2 * 8 * 128.0 * 128 * 64, false,
     false},
};

graph::OpGraph read(const std::string& name) {
  auto graph = graph::read_graph(std::string(SOLMARK_SOURCE_DIR "/tests/data/graphs/") + name + ".json");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(graph).value();
}

double multiplies(const Bound& bound) {
  double total = 0;
  for (const auto& item : bound.work) total += item.multiplies;
  return total;
}

std::int64_t bytes(const Bound& bound, bool write) {
  std::int64_t total = 0;
  for (const auto& item : bound.traffic) total += item.write == write ? item.bytes : 0;
  return total;
}

class Programs : public ::testing::TestWithParam<Program> {};

TEST_P(Programs, NeverExceedTheTruthAndMeetItWhereClaimed) {
  const Program& truth = GetParam();
  const auto bound = compute_bound(read(truth.name), *arch::find_arch("h100-sxm"));
  ASSERT_TRUE(bound.ok()) << bound.error().text();
  EXPECT_LE(bytes(*bound, false), truth.read_bytes);
  EXPECT_LE(bytes(*bound, true), truth.write_bytes);
  EXPECT_LE(multiplies(*bound), truth.multiplies * (1 + 1e-12));
  if (truth.bytes_exact) {
    EXPECT_EQ(bytes(*bound, false), truth.read_bytes);
    EXPECT_EQ(bytes(*bound, true), truth.write_bytes);
  }
  if (truth.multiplies_exact) {
    EXPECT_NEAR(multiplies(*bound), truth.multiplies, truth.multiplies * 1e-12);
  }
}

TEST_P(Programs, LevelsAreOrderedOnEveryArchAndState) {
  const graph::OpGraph graph = read(GetParam().name);
  for (const char* name : {"a100-sxm", "h100-sxm", "h200-sxm", "b200"}) {
    const arch::Arch arch = *arch::find_arch(name);
    double before = -1;
    for (const auto& slots :
         {std::optional<std::int64_t>(1), std::optional<std::int64_t>(64), std::optional<std::int64_t>()}) {
      BoundOptions options;
      options.slots = slots;
      const auto bound = compute_bound(graph, arch, options);
      ASSERT_TRUE(bound.ok());
      EXPECT_LE(bound->levels[0].t_s, bound->levels[1].t_s);
      EXPECT_LE(bound->levels[1].t_s, bound->levels[2].t_s);
      EXPECT_GE(bound->t_sol_s, before);  // more slots, less help from the cache
      before = bound->t_sol_s;
      options.cache = CacheState::kWarm;
      const auto warm = compute_bound(graph, arch, options);
      ASSERT_TRUE(warm.ok());
      EXPECT_LE(warm->t_sol_s, bound->t_sol_s);
    }
  }
}

TEST_P(Programs, SlowerClocksAndStricterArithmeticNeverLowerTheBound) {
  const graph::OpGraph graph = read(GetParam().name);
  const arch::Arch arch = *arch::find_arch("h100-sxm");
  double before = 0;
  for (const double hz : {1.98e9, 1.5e9, 0.5e9}) {
    BoundOptions options;
    options.clock = {arch::ClockPolicy::kLocked, hz};
    const double t = compute_bound(graph, arch, options)->t_sol_s;
    EXPECT_GE(t, before);
    before = t;
  }
  before = 0;
  for (const auto policy : {Fp32Matmul::kHalf, Fp32Matmul::kTf32, Fp32Matmul::kEmulated, Fp32Matmul::kIeee}) {
    BoundOptions options;
    options.fp32_matmul = policy;
    const double t = compute_bound(graph, arch, options)->t_sol_s;
    EXPECT_GE(t, before);
    before = t;
  }
}

TEST_P(Programs, DeadCodeChangesNothing) {
  graph::OpGraph graph = read(GetParam().name);
  const arch::Arch arch = *arch::find_arch("h100-sxm");
  const auto clean = compute_bound(graph, arch);
  // A product of every two matrices of inputs, and a reader of every input, whose results nobody returns.
  const auto add_dead = [&graph](const char* name, std::vector<graph::Arg> args, const graph::Tensor& like) {
    graph::Tensor result = like;
    result.values.reset();
    result.offset = 0;
    std::int64_t stride = 1;
    for (auto dim = result.dims.rbegin(); dim != result.dims.rend(); ++dim) {
      dim->stride = stride;
      stride *= dim->size;
    }
    result.storage = static_cast<int>(graph.storages.size());
    graph.storages.push_back({stride * graph::element_bytes(result.element), graph::Role::kIntermediate, ""});
    graph.tensors.push_back(result);
    graph::Op op;
    op.op = name;
    op.args = std::move(args);
    op.outputs = {static_cast<int>(graph.tensors.size()) - 1};
    graph.ops.push_back(std::move(op));
  };
  for (const auto& input : std::vector<graph::Binding>(graph.inputs)) {
    const graph::Tensor like = graph.tensor(*input.tensor);  // NOLINT: add_dead moves the tensors
    add_dead("aten.relu.default", {graph::Arg{graph::TensorRef{*input.tensor}}}, like);
    if (like.rank() == 2 && like.size(0) == like.size(1)) {
      const graph::Arg self{graph::TensorRef{*input.tensor}};
      add_dead("aten.mm.default", {self, self}, like);
    }
  }
  const auto dirty = compute_bound(graph, arch);
  ASSERT_TRUE(dirty.ok()) << dirty.error().text();
  EXPECT_GT(dirty->dead_ops, clean->dead_ops);
  EXPECT_EQ(dirty->t_sol_s, clean->t_sol_s);
  EXPECT_EQ(dirty->read_bytes, clean->read_bytes);
  EXPECT_EQ(multiplies(*dirty), multiplies(*clean));
}

// Replays the certificate with nothing but its operands.
TEST_P(Programs, CertificateAddsUp) {
  for (const auto& slots : {std::optional<std::int64_t>(), std::optional<std::int64_t>(8)}) {
    BoundOptions options;
    options.slots = slots;
    const Bound bound = *compute_bound(read(GetParam().name), *arch::find_arch("h100-sxm"), options);
    double largest = 0;
    for (const auto& term : bound.levels[2].terms) {
      std::map<std::string, double> with;
      for (const auto& operand : term.operands) with[operand.name] = operand.value;
      double t = -1;
      if (term.rule == "io.memory-rotation") {
        t = (with["read_bytes"] + with["write_bytes"]) / with["memory_bytes_per_s"];
      } else if (term.rule == "io.memory-batch") {
        t = (std::max(0.0, with["slots"] * with["read_bytes"] - with["cache_bytes"]) +
             std::max(0.0, with["slots"] * with["write_bytes"] - with["cache_bytes"])) /
            with["slots"] / with["memory_bytes_per_s"];
      } else if (term.rule == "io.cache-path") {
        t = (with["read_bytes"] + with["write_bytes"]) / with["cache_bytes_per_s"];
      } else if (term.rule == "io.latency-floor") {
        t = with["latency_floor_s"];
      } else if (term.rule == "compute.resource-programme") {
        double prices = 0;
        for (const auto& [name, value] : with) prices += name.rfind("price_", 0) == 0 ? value : 0;
        EXPECT_NEAR(prices, 1, 1e-9);
        t = term.t_s;
      }
      EXPECT_NEAR(t, term.t_s, 1e-12 * term.t_s) << term.rule;
      largest = std::max(largest, term.t_s);
    }
    EXPECT_EQ(largest, bound.t_sol_s);
  }
}

TEST_P(Programs, ReportsAreStable) {
  const graph::OpGraph graph = read(GetParam().name);
  const arch::Arch arch = *arch::find_arch("b200");
  const Bound bound = *compute_bound(graph, arch);
  EXPECT_EQ(to_json_line(bound_json(bound)), to_json_line(bound_json(*compute_bound(graph, arch))));
  EXPECT_NE(bound_table(bound).find("L2 classical"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, Programs, ::testing::ValuesIn(kPrograms),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Labels, NameWhatIsNotCounted) {
  const arch::Arch arch = *arch::find_arch("h100-sxm");
  EXPECT_EQ(compute_bound(read("l10_fp32"), arch)->label, "L2 classical");
  EXPECT_NE(
      compute_bound(read("p_layer_norm"), arch)->label.find("I/O only for aten.native_layer_norm.default"),
      std::string::npos);
  const Bound masked = *compute_bound(read("p_masked_sdpa"), arch);
  EXPECT_NE(masked.label.find("multiplies not counted for aten.scaled_dot_product_attention.default"),
            std::string::npos);
  EXPECT_NE(masked.label.find("not all reads proved"), std::string::npos);
}

TEST(Rates, FollowTheNarrowestTypeThatHoldsTheNumbers) {
  const arch::Arch arch = *arch::find_arch("h100-sxm");
  const auto precision = [&](const char* name) {
    return compute_bound(read(name), arch)->work.front().precision;
  };
  EXPECT_EQ(precision("p_widened_fp8"), "fp8");
  EXPECT_EQ(precision("p_widened_bf16"), "half");
  EXPECT_EQ(precision("l16_scaled_fp8"), "fp8");
  EXPECT_EQ(precision("l10_fp32"), "fp32");
  EXPECT_EQ(precision("p_fp64"), "fp64");
}

TEST(Rates, Fp32MatmulFollowsThePolicy) {
  const arch::Arch arch = *arch::find_arch("b200");
  const auto compute_s = [&](Fp32Matmul policy) {
    BoundOptions options;
    options.fp32_matmul = policy;
    const Bound bound = *compute_bound(read("l10_fp32"), arch, options);
    return bound.levels[2].terms.back().t_s;
  };
  const double flop = 2 * 1024.0 * 1024 * 1024;
  const double clock = 1.98e9 * 148;
  // All pipes that may do it share the work.
  EXPECT_NEAR(compute_s(Fp32Matmul::kIeee), flop / (clock * (256 + 146 + 128)), 1e-9);
  EXPECT_NEAR(compute_s(Fp32Matmul::kEmulated), flop / (clock * (8192.0 / 3 + 256 + 146 + 128)), 1e-9);
  EXPECT_NEAR(compute_s(Fp32Matmul::kTf32), flop / (clock * (4096 + 256 + 146 + 128)), 1e-9);
  EXPECT_NEAR(compute_s(Fp32Matmul::kHalf), flop / (clock * (8192 + 512 + 146 + 128)), 1e-9);
}

TEST(Batch, TwiceTheCacheIsTheMostThatRotationSaves) {
  const arch::Arch arch = *arch::find_arch("h100-sxm");
  const graph::OpGraph graph = read("u07_expand");
  BoundOptions options;
  const Bound limit = *compute_bound(graph, arch, options);
  options.slots = 32;
  const Bound batch = *compute_bound(graph, arch, options);
  const double saved = 2 * arch.cache_bytes->value / 32 / arch.memory_bytes_per_s->value;
  EXPECT_NEAR(batch.levels[0].t_s, limit.levels[0].t_s - saved, 1e-15);
  options.slots = 0;
  EXPECT_FALSE(compute_bound(graph, arch, options).ok());
}

TEST(Schema, FileIsJson) { EXPECT_TRUE(read_json(SOLMARK_SOURCE_DIR "/schemas/bound.schema.json").ok()); }

}  // namespace
}  // namespace solmark::bound
