#include "graph/needs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "graph/op_kinds.h"
#include "graph/values.h"
#include "graph/verify.h"

namespace solmark::graph {
namespace {

// Which input elements each element depends on, found by running the program element by element.
using Sources = std::set<std::pair<int, std::int64_t>>;

class Interpreter {
 public:
  explicit Interpreter(const OpGraph& graph) : graph_(graph) {
    for (std::size_t s = 0; s < graph.storages.size(); ++s) {
      memory_.emplace_back(static_cast<std::size_t>(graph.storages[s].bytes / 4));
      if (graph.storages[s].role != Role::kInput) continue;
      for (std::size_t i = 0; i < memory_[s].size(); ++i) {
        memory_[s][i] = {{static_cast<int>(s), static_cast<std::int64_t>(i)}};
      }
    }
    for (const auto& op : graph.ops) run(op);
  }

  // Distinct input elements that the outputs depend on; an untouched element of a returned input costs
  // nothing.
  Sources read() const {
    Sources all;
    for (const auto& output : graph_.outputs) {
      const Tensor& t = graph_.tensor(*output.tensor);
      for (const auto at : addresses(t)) {
        const Sources& from = memory_[static_cast<std::size_t>(t.storage)][static_cast<std::size_t>(at)];
        if (graph_.storage(t.storage).role == Role::kInput && !written_.contains({t.storage, at})) continue;
        all.insert(from.begin(), from.end());
      }
    }
    return all;
  }

 private:
  static std::vector<std::int64_t> addresses(const Tensor& t) {
    std::vector<std::int64_t> out = {t.offset};
    for (const auto& dim : t.dims) {
      std::vector<std::int64_t> next;
      for (const auto at : out) {
        for (std::int64_t i = 0; i < dim.size; ++i) next.push_back(at + i * dim.stride);
      }
      out = std::move(next);
    }
    return out;
  }

  std::vector<Sources> values(const Tensor& t) const {
    std::vector<Sources> out;
    for (const auto at : addresses(t)) {
      out.push_back(memory_[static_cast<std::size_t>(t.storage)][static_cast<std::size_t>(at)]);
    }
    return out;
  }

  void store(const Tensor& t, const std::vector<Sources>& values) {
    const auto where = addresses(t);
    for (std::size_t i = 0; i < where.size(); ++i) {
      memory_[static_cast<std::size_t>(t.storage)][static_cast<std::size_t>(where[i])] = values[i];
      written_.insert({t.storage, where[i]});
    }
  }

  void run(const Op& op) {
    if (is_view(graph_, op)) return;
    const std::vector<int> in = tensor_arguments(op);
    std::vector<std::vector<Sources>> operands;
    for (const int id : in) operands.push_back(values(graph_.tensor(id)));
    const std::string name = base_name(op);
    const Tensor& out = graph_.tensor(op.mutates.empty() ? *op.outputs.front() : op.mutates.front());
    std::vector<Sources> result(static_cast<std::size_t>(out.count()));
    const auto join = [](Sources& into, const Sources& from) { into.insert(from.begin(), from.end()); };
    if (name == "mm") {
      const auto rows = static_cast<std::size_t>(graph_.tensor(in[0]).size(0));
      const auto inner = static_cast<std::size_t>(graph_.tensor(in[0]).size(1));
      const auto columns = static_cast<std::size_t>(graph_.tensor(in[1]).size(1));
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          for (std::size_t k = 0; k < inner; ++k) {
            join(result[i * columns + j], operands[0][i * inner + k]);
            join(result[i * columns + j], operands[1][k * columns + j]);
          }
        }
      }
    } else if (name == "sum") {
      for (const auto& from : operands[0]) join(result[0], from);
    } else if (name == "copy") {
      result = operands[1];
    } else {  // relu, add
      for (const auto& operand : operands) {
        for (std::size_t i = 0; i < result.size(); ++i) join(result[i], operand[i]);
      }
    }
    store(out, result);
  }

  const OpGraph& graph_;
  std::vector<std::vector<Sources>> memory_;
  Sources written_;
};

// Random programs of views, pointwise operations, products, copies into slices, over 4 x 4 matrices.
class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  OpGraph make() {
    for (int i = 0; i < 3; ++i) {
      const int id = fresh({{4, 4}, {4, 1}}, Role::kInput);
      graph_.inputs.push_back({"x" + std::to_string(i), id});
      pool_.push_back(id);
    }
    for (int i = 0; i < 12; ++i) step();
    for (int i = 0; i < 2; ++i) graph_.outputs.push_back({"y" + std::to_string(i), pick()});
    return graph_;
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  int pick() { return pool_[static_cast<std::size_t>(draw(0, static_cast<int>(pool_.size()) - 1))]; }

  int tensor(int storage, std::int64_t offset, std::vector<Dim> dims) {
    Tensor t;
    t.storage = storage;
    t.offset = offset;
    t.dims = std::move(dims);
    graph_.tensors.push_back(std::move(t));
    return static_cast<int>(graph_.tensors.size()) - 1;
  }

  int fresh(std::vector<Dim> dims, Role role) {
    std::int64_t count = 1;
    for (const auto& dim : dims) count *= dim.size;
    graph_.storages.push_back({count * 4, role, ""});
    return tensor(static_cast<int>(graph_.storages.size()) - 1, 0, std::move(dims));
  }

  static std::vector<Dim> contiguous(const Tensor& like) {
    std::vector<Dim> dims = like.dims;
    std::int64_t stride = 1;
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      dim->stride = stride;
      stride *= dim->size;
    }
    return dims;
  }

  void op(const char* name, const std::vector<int>& in, int out, bool mutates = false) {
    Op op;
    op.op = std::string("aten.") + name;
    op.args.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) op.args[i].value = TensorRef{in[i]};
    op.outputs = {out};
    if (mutates) op.mutates = {out};
    graph_.ops.push_back(std::move(op));
    if (!mutates) pool_.push_back(out);
  }

  void step() {
    const int a = pick();
    const Tensor of_a = graph_.tensor(a);
    switch (draw(0, 6)) {
      case 0: {  // a slice
        auto dims = of_a.dims;
        std::int64_t offset = of_a.offset;
        const auto d = static_cast<std::size_t>(draw(0, 1));
        if (dims[d].size > 1) {
          const std::int64_t start = draw(0, 1);
          const std::int64_t step = dims[d].size > 2 ? draw(1, 2) : 1;
          offset += start * dims[d].stride;
          dims[d] = {(dims[d].size - start + step - 1) / step, dims[d].stride * step};
        }
        return op("slice.Tensor", {a}, tensor(of_a.storage, offset, dims));
      }
      case 1:  // transposed
        return op("t.default", {a}, tensor(of_a.storage, of_a.offset, {of_a.dims[1], of_a.dims[0]}));
      case 2:
        return op("relu.default", {a}, fresh(contiguous(of_a), Role::kIntermediate));
      case 3:
      case 4: {  // with another of the same shape
        const int b = pick();
        const Tensor& of_b = graph_.tensor(b);
        if (of_a.size(0) != of_b.size(0) || of_a.size(1) != of_b.size(1)) return;
        if (draw(0, 1) == 0) return op("add.Tensor", {a, b}, fresh(contiguous(of_a), Role::kIntermediate));
        if (of_a.storage == of_b.storage) return;  // copies between overlapping views are not defined
        return op("copy_.default", {a, b}, a, true);
      }
      case 5: {
        const int b = pick();
        const Tensor& of_b = graph_.tensor(b);
        if (of_a.size(1) != of_b.size(0)) return;
        return op("mm.default", {a, b},
                  fresh({{of_a.size(0), of_b.size(1)}, {of_b.size(1), 1}}, Role::kIntermediate));
      }
      default:
        return op("relu_.default", {a}, a, true);
    }
  }

  std::mt19937 random_;
  OpGraph graph_;
  std::vector<int> pool_;
};

TEST(Needs, NeverExceedAnInterpretersAndMostlyMeetThem) {
  int met = 0;
  constexpr int kPrograms = 3000;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    const OpGraph graph = Maker(seed).make();
    ASSERT_TRUE(verify(graph).ok()) << verify(graph).error().text();
    const Needs needs = analyse_needs(graph, analyse_values(graph));
    std::map<int, std::int64_t> truth;
    for (const auto& [storage, element] : Interpreter(graph).read()) truth[storage] += 4;
    std::int64_t total = 0;
    for (const auto& traffic : needs.reads) {
      ASSERT_LE(traffic.bytes, truth[traffic.storage]) << "program " << seed;
      total += traffic.bytes;
    }
    std::int64_t all = 0;
    for (const auto& [storage, bytes] : truth) all += bytes;
    met += total == all ? 1 : 0;
  }
  EXPECT_GT(met, kPrograms * 8 / 10) << "of " << kPrograms;
}

}  // namespace
}  // namespace solmark::graph
