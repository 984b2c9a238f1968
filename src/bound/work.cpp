#include "bound/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bound/triangle_count.h"
#include "graph/attention.h"
#include "graph/op_kinds.h"
#include "graph/windows.h"

namespace solmark::bound {
namespace {

using graph::Contraction;
using graph::Element;
using graph::OpGraph;
using graph::OpKind;
using graph::Tensor;
using graph::Value;

// Largest output, in elements, whose triangular products are counted one by one.
constexpr double kMaxCountedElements = 64e6;

std::string sizes_text(const Contraction& contraction) {
  std::string out;
  for (const std::int64_t size : contraction.sizes) out += (out.empty() ? "" : " x ") + std::to_string(size);
  return out.empty() ? "1" : out;
}

// One for each combination of all labels.
double every_multiply(const Contraction& contraction) {
  double out = 1;
  for (const std::int64_t size : contraction.sizes) out *= static_cast<double>(size);
  return out;
}

class Counter {
 public:
  Counter(const OpGraph& graph, const graph::Values& values, const graph::Needs& needs)
      : graph_(graph), values_(values), needs_(needs) {}

  WorkCount run() {
    find_uses();
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (needs_.ops[i].live && graph::op_kind(graph_.ops[i]) == OpKind::kContraction) find_inner(i);
    }
    std::set<std::size_t> counted;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!needs_.ops[i].live || values_.constant_results[i]) continue;
      const OpKind kind = graph::op_kind(graph_.ops[i]);
      if (kind == OpKind::kFactory || kind == OpKind::kCopyInto) continue;
      const bool has_rule = kind == OpKind::kContraction || kind == OpKind::kConvolution ||
                            kind == OpKind::kConvolutionBackward || kind == OpKind::kAttention;
      if (!has_rule) {
        out_.io_only.push_back(i);
        continue;
      }
      if (!counted.insert(values_.same_as[i]).second) {
        out_.repeated.push_back(i);
        continue;
      }
      if (inner_.contains(i)) continue;  // counted with the contraction that uses it
      if (kind == OpKind::kContraction) {
        contraction(i);
      } else if (kind == OpKind::kAttention) {
        attention(i);
      } else {
        convolution(i, kind == OpKind::kConvolutionBackward);
      }
    }
    return std::move(out_);
  }

 private:
  void skip(std::size_t index, std::string why) { out_.not_counted.emplace_back(index, std::move(why)); }

  [[nodiscard]] const Value& value(std::size_t index, int tensor) const {
    return values_.of(index, graph_.ops[index], tensor);
  }

  [[nodiscard]] Element narrow(std::size_t index, int tensor) const {
    return value(index, tensor).narrow.value_or(graph_.tensor(tensor).element);
  }

  // Who reads each storage, and who makes it.
  void find_uses() {
    makers_.assign(graph_.storages.size(), std::nullopt);
    uses_.assign(graph_.storages.size(), 0);
    written_.assign(graph_.storages.size(), false);
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const auto& op = graph_.ops[i];
      if (graph::is_view(graph_, op)) continue;
      if (needs_.ops[i].live) {
        for (const int id : graph::tensor_arguments(op))
          ++uses_[static_cast<std::size_t>(graph_.tensor(id).storage)];
      }
      for (const auto& output : op.outputs) {
        if (!output) continue;
        auto& maker = makers_[static_cast<std::size_t>(graph_.tensor(*output).storage)];
        if (!maker) maker = i;
      }
      for (const int id : op.mutates) written_[static_cast<std::size_t>(graph_.tensor(id).storage)] = true;
    }
    for (const auto& output : graph_.outputs) {
      if (output.tensor) ++uses_[static_cast<std::size_t>(graph_.tensor(*output.tensor).storage)];
    }
  }

  // Contractions whose only use is as an operand of this one, dim for dim: the product may be taken in any
  // order.
  void find_inner(std::size_t index) {
    const auto outer = graph::contraction_of(graph_, graph_.ops[index]);
    if (!outer) return;
    for (const auto& operand : outer->operands) {
      const auto storage = static_cast<std::size_t>(graph_.tensor(operand.tensor).storage);
      const auto maker = makers_[storage];
      if (!maker || uses_[storage] != 1 || written_[storage] || !needs_.ops[*maker].live) continue;
      if (graph::op_kind(graph_.ops[*maker]) != OpKind::kContraction || values_.same_as[*maker] != *maker)
        continue;
      const auto made = graph::contraction_of(graph_, graph_.ops[*maker]);
      if (!made || !made->added.empty() || made->operands.empty()) continue;
      if (!needs_.ops[*maker].results.front().whole || !needs_.ops[index].results.front().whole) continue;
      if (matches(made->output, operand.view)) inner_[*maker] = index;
    }
  }

  static bool matches(const Tensor& made, const Tensor& used) {
    if (made.offset != used.offset || made.element != used.element || made.dims.size() != used.dims.size()) {
      return false;
    }
    return std::is_permutation(made.dims.begin(), made.dims.end(), used.dims.begin());
  }

  // The contraction with its inner ones put in place of their results.
  Contraction expand(std::size_t index, std::vector<std::size_t>& ops, bool& known,
                     std::vector<std::optional<Precision>>& precisions, bool& packed) const {
    Contraction whole = *graph::contraction_of(graph_, graph_.ops[index]);
    ops.push_back(index);
    std::vector<graph::ContractionOperand> operands;
    for (auto& operand : whole.operands) {
      const auto storage = static_cast<std::size_t>(graph_.tensor(operand.tensor).storage);
      const auto maker = makers_[storage];
      if (maker && inner_.contains(*maker) && inner_.at(*maker) == index) {
        const Contraction made = expand(*maker, ops, known, precisions, packed);
        std::map<int, int> names;  // labels of the inner contraction, in ours
        for (std::size_t d = 0; d < made.output_labels.size(); ++d) {
          const auto at = std::find(operand.view.dims.begin(), operand.view.dims.end(), made.output.dims[d]);
          names[made.output_labels[d]] =
              operand.labels[static_cast<std::size_t>(at - operand.view.dims.begin())];
        }
        for (auto inner : made.operands) {
          for (int& label : inner.labels) {
            const auto [place, fresh] = names.try_emplace(label, static_cast<int>(whole.sizes.size()));
            if (fresh) whole.sizes.push_back(made.sizes[static_cast<std::size_t>(label)]);
            label = place->second;
          }
          operands.push_back(std::move(inner));
        }
        continue;
      }
      known = known || value(index, operand.tensor).may_be_known;
      const Element element = narrow(index, operand.tensor);
      packed = packed || graph_.tensor(operand.tensor).element == Element::kFloat4E2m1fnX2;
      precisions.push_back(product_precision(element, element));
      // What repeats varies no more than a broadcast dim.
      for (auto& dim : operand.view.dims) {
        if (graph::repeats_along(dim, value(index, operand.tensor))) dim.stride = 0;
      }
      operands.push_back(operand);
    }
    whole.operands = std::move(operands);
    return whole;
  }

  void contraction(std::size_t index) {
    const auto& op = graph_.ops[index];
    const auto plain = graph::contraction_of(graph_, op);
    if (!plain) return skip(index, "its arguments do not fit its name");
    if (plain->operands.empty()) return;
    std::vector<std::size_t> ops;
    bool known = false;
    bool packed = false;
    std::vector<std::optional<Precision>> precisions;
    const Contraction whole = expand(index, ops, known, precisions, packed);
    std::optional<Precision> precision;
    if (ops.size() == 1 && plain->operands.size() == 2) {
      precision = product_precision(narrow(index, plain->operands[0].tensor),
                                    narrow(index, plain->operands[1].tensor));
    } else {
      // Orders are free, so products of wide numbers may be put off until little is left: the narrowest of
      // all.
      for (const auto& own : precisions) {
        if (!own) return skip(index, "no rule for its dtype");
        precision = precision ? std::max(*precision, *own) : *own;
      }
    }
    if (!precision) return skip(index, "no rule for its dtype");
    const double packing = packed ? 2 : 1;  // packed pairs lie along the summed dim
    const graph::ResultNeed& need = needs_.ops[index].results.front();
    if (known) {
      const bool distinct = fewest_multiplies(whole) == every_multiply(whole);
      const auto triangular =
          ops.size() == 1 && distinct ? triangular_multiplies(index, *plain, need) : std::nullopt;
      if (!triangular) return skip(index, "an operand may hold zeros or constants by construction");
      return add(index, ops, "contraction.triangular", *triangular, *precision,
                 "pairs inside the triangles of " + sizes_text(*plain));
    }
    double multiplies = packing * fewest_multiplies(whole);
    std::string text = sizes_text(whole);
    if (packed) text = "2 x " + text;
    std::string rule = whole.operands.size() > 2 ? "contraction.best-order" : "contraction.classical";
    if (whole.operands.size() > 2) text = fmt::format("best of all orders over {}", text);
    if (ops.size() == 1 && symmetric(index, *plain)) {
      const double rows = static_cast<double>(plain->output.dims.back().size);
      multiplies *= (rows + 1) / (2 * rows);
      rule = "contraction.symmetric";
      text = fmt::format("{} x ({} + 1) / (2 x {})", text, rows, rows);
    }
    if (!need.whole) {
      // Every element of the result costs alike only where nothing comes for free.
      if (fewest_multiplies(whole) < every_multiply(whole))
        return skip(index, "part of a result that repeats itself");
      const std::int64_t all = plain->output.count();
      multiplies *= static_cast<double>(need.elements) / static_cast<double>(all);
      text = fmt::format("{} x {} / {} needed", text, need.elements, all);
    }
    add(index, ops, rule, multiplies, *precision, text);
  }

  // x @ x.t(): element (i, j) is element (j, i).
  [[nodiscard]] bool symmetric(std::size_t index, const Contraction& c) const {
    if (c.operands.size() != 2) return false;
    const auto& a = c.operands[0];
    const auto& b = c.operands[1];
    const auto dim_of = [](const graph::ContractionOperand& operand, int label) {
      for (std::size_t d = 0; d < operand.labels.size(); ++d) {
        if (operand.labels[d] == label) return std::optional(operand.view.dims[d]);
      }
      return std::optional<graph::Dim>();
    };
    if (a.view.storage != b.view.storage || a.view.offset != b.view.offset ||
        a.view.element != b.view.element ||
        value(index, a.tensor).version != value(index, b.tensor).version) {
      return false;
    }
    // All labels agree but one on each side, which are the same dim of the same memory.
    std::optional<graph::Dim> only_a;
    std::optional<graph::Dim> only_b;
    for (std::size_t label = 0; label < c.sizes.size(); ++label) {
      const auto in_a = dim_of(a, static_cast<int>(label));
      const auto in_b = dim_of(b, static_cast<int>(label));
      if (in_a && in_b) {
        if (!(*in_a == *in_b)) return false;
      } else if (in_a && !only_a) {
        only_a = in_a;
      } else if (in_b && !only_b) {
        only_b = in_b;
      } else {
        return false;
      }
    }
    return only_a && only_b && *only_a == *only_b && only_a->stride != 0 &&
           c.output.dims.back().size == only_a->size;
  }

  [[nodiscard]] std::optional<double> triangular_multiplies(std::size_t index, const Contraction& c,
                                                            const graph::ResultNeed& need) const {
    if (c.operands.size() != 2) return std::nullopt;
    for (const auto& operand : c.operands) {
      const Value& known = value(index, operand.tensor);
      if (known.may_be_known && !known.triangle) return std::nullopt;
    }
    const std::optional<TriangularProduct> product = triangular_product(
        c, value(index, c.operands[0].tensor).triangle, value(index, c.operands[1].tensor).triangle);
    if (!product || static_cast<double>(need.elements) > kMaxCountedElements) return std::nullopt;
    return count_triangular(*product, c, need.parts);
  }

  void attention(std::size_t index) {
    const auto found = graph::attention_of(graph_, graph_.ops[index]);
    if (!found) return skip(index, "its arguments do not fit its name");
    if (!needs_.ops[index].results.front().whole) return skip(index, "only part of its result is needed");
    if (found->mask) return skip(index, "the mask's values decide which pairs exist");
    if (found->dropout) return skip(index, "dropout decides which pairs exist");
    for (const int id : {found->query, found->key, found->value}) {
      if (value(index, id).may_be_known)
        return skip(index, "an operand may hold zeros or constants by construction");
    }
    // Keys and values may be shared by heads; queries that are the same again give the same again.
    double batches = 1;
    for (const int id : {found->query, found->key, found->value}) {
      const auto& dims = graph_.tensor(id).dims;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const bool repeats = graph::repeats_along(dims[d], value(index, id));
        if (repeats && d + 2 >= dims.size()) return skip(index, "an operand repeats itself");
        if (id == found->query && d + 2 < dims.size() && !repeats)
          batches *= static_cast<double>(dims[d].size);
      }
    }
    const auto scores = product_precision(narrow(index, found->query), narrow(index, found->key));
    const auto values = product_precision(narrow(index, found->value), narrow(index, found->value));
    if (!scores || !values) return skip(index, "no rule for its dtype");
    const double score_pairs = static_cast<double>(found->score_pairs());
    const double value_pairs = static_cast<double>(found->value_pairs());
    const std::string pairs = found->causal ? "causal pairs" : "pairs";
    add(index, {index}, "attention.scores", batches * score_pairs * static_cast<double>(found->depth),
        *scores, fmt::format("{} heads x {} {} x {}", batches, score_pairs, pairs, found->depth));
    // Weights are computed numbers; a kernel may hold them as narrow as the values.
    add(index, {index}, "attention.values", batches * value_pairs * static_cast<double>(found->value_depth),
        *values, fmt::format("{} heads x {} {} x {}", batches, value_pairs, pairs, found->value_depth));
  }

  void convolution(std::size_t index, bool backward) {
    const auto& op = graph_.ops[index];
    const auto conv =
        backward ? graph::convolution_of_backward(graph_, op) : graph::convolution_of(graph_, op);
    if (!conv) return skip(index, "its arguments do not fit its name");
    std::vector<int> operands = {conv->input, conv->weight};
    if (backward) operands.push_back(*graph::tensor_argument(op, 0));
    for (const int id : operands) {
      if (value(index, id).may_be_known)
        return skip(index, "an operand may hold zeros or constants by construction");
      for (const auto& dim : graph_.tensor(id).dims) {
        if (graph::repeats_along(dim, value(index, id))) return skip(index, "an operand repeats itself");
      }
    }
    const auto precision_of = [&](int a, int b) {
      return product_precision(narrow(index, a), narrow(index, b));
    };
    const std::string text =
        fmt::format("{} pairs of weight and valid position", static_cast<double>(conv->multiplies));
    if (!backward) {
      if (!needs_.ops[index].results.front().whole) return skip(index, "only part of its result is needed");
      const auto precision = precision_of(conv->input, conv->weight);
      if (!precision) return skip(index, "no rule for its dtype");
      return add(index, {index}, "convolution.valid", static_cast<double>(conv->multiplies), *precision,
                 text);
    }
    for (std::size_t i = 0; i < 2 && i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      const graph::ResultNeed* need = needs_.ops[index].result(*op.outputs[i]);
      if (need == nullptr) continue;
      const auto precision = precision_of(operands[2], i == 0 ? conv->weight : conv->input);
      if (!need->whole || !precision) {
        skip(index, "only part of its result is needed, or no rule for its dtype");
        continue;
      }
      add(index, {index}, i == 0 ? "convolution.input-gradient" : "convolution.weight-gradient",
          static_cast<double>(conv->multiplies), *precision, text);
    }
  }

  void add(std::size_t index, std::vector<std::size_t> ops, std::string rule, double multiplies,
           Precision precision, std::string arithmetic) {
    std::sort(ops.begin(), ops.end());
    if (multiplies <= 0) return;
    out_.work.push_back({{std::move(ops), graph_.ops[index].op, std::move(rule), multiplies,
                          precision_name(precision), std::move(arithmetic)},
                         precision});
  }

  const OpGraph& graph_;
  const graph::Values& values_;
  const graph::Needs& needs_;
  std::vector<std::optional<std::size_t>> makers_;
  std::vector<int> uses_;
  std::vector<bool> written_;
  std::map<std::size_t, std::size_t> inner_;  // contraction -> the one that it is an operand of
  WorkCount out_;
};

}  // namespace

WorkCount count_work(const OpGraph& graph, const graph::Values& values, const graph::Needs& needs) {
  return Counter(graph, values, needs).run();
}

}  // namespace solmark::bound
