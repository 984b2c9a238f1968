#include "graph/contraction.h"

#include <algorithm>
#include <map>
#include <string>

#include "graph/op_kinds.h"

namespace solmark::graph {
namespace {

using Labels = std::vector<int>;

// Labels of the usual matrix product.
constexpr int kRow = 0;
constexpr int kInner = 1;
constexpr int kColumn = 2;
constexpr int kFirstFree = 3;

class Builder {
 public:
  Builder(const OpGraph& graph, const Op& op) : graph_(graph), op_(op) {}

  std::optional<Contraction> build() {
    const std::string name = base_name(op_);
    if (op_.outputs.empty() || !op_.outputs.front()) return std::nullopt;
    out_.output = graph_.tensor(*op_.outputs.front());
    bool ok = false;
    if (name == "mm" || name == "_int_mm" || name == "bmm" || name == "matmul" || name == "mv" ||
        name == "dot" || name == "vdot") {
      ok = product(0, 1);
    } else if (name == "addmm" || name == "baddbmm" || name == "addmv" || name == "_addmm_activation") {
      ok = scaled(0, 1, 2, 3);
    } else if (name == "addbmm") {
      ok = summed_batches();
    } else if (name == "outer" || name == "ger") {
      ok = outer(0, 1);
    } else if (name == "addr") {
      ok = outer(1, 2) && factors(0, 3);
    } else if (name == "linear") {
      ok = linear();
    } else if (name == "_scaled_mm") {
      ok = product(0, 1);
      for (std::size_t i = 2; i < op_.args.size(); ++i) add(i, nullptr);
      for (const char* key : {"scale_a", "scale_b", "bias", "scale_result"}) add(op_.args.size(), key);
    } else if (name == "einsum") {
      ok = einsum();
    }
    if (!ok || !take_sizes()) return std::nullopt;
    return std::move(out_);
  }

 private:
  std::optional<int> tensor(std::size_t position) const { return tensor_argument(op_, position); }

  void add(std::size_t position, const char* key) {
    if (const auto id = tensor_argument(op_, position, key)) {
      if (std::find(out_.added.begin(), out_.added.end(), *id) == out_.added.end()) out_.added.push_back(*id);
    }
  }

  void operand(int id, Labels labels) { out_.operands.push_back({id, graph_.tensor(id), std::move(labels)}); }

  // Batch dims are matched from the right; a batch dim of size 1 broadcasts and carries no label.
  Labels batch_labels(const Tensor& t, std::size_t own) const {
    Labels labels;
    const std::size_t batch = t.dims.size() - own;
    for (std::size_t i = 0; i < batch; ++i) labels.push_back(kFirstFree + static_cast<int>(batch - 1 - i));
    return labels;
  }

  bool product(std::size_t first, std::size_t second) {
    const auto a = tensor(first);
    const auto b = tensor(second);
    if (!a || !b) return false;
    const std::size_t rank_a = graph_.tensor(*a).dims.size();
    const std::size_t rank_b = graph_.tensor(*b).dims.size();
    if (rank_a == 0 || rank_b == 0) return false;
    Labels labels_a = batch_labels(graph_.tensor(*a), std::min<std::size_t>(rank_a, 2));
    Labels labels_b = batch_labels(graph_.tensor(*b), std::min<std::size_t>(rank_b, 2));
    Labels out;
    const std::size_t batch = std::max(labels_a.size(), labels_b.size());
    for (std::size_t i = 0; i < batch; ++i) out.push_back(kFirstFree + static_cast<int>(batch - 1 - i));
    if (rank_a > 1) labels_a.push_back(kRow);
    labels_a.push_back(kInner);
    labels_b.push_back(kInner);
    if (rank_b > 1) labels_b.push_back(kColumn);
    if (rank_a > 1) out.push_back(kRow);
    if (rank_b > 1) out.push_back(kColumn);
    operand(*a, std::move(labels_a));
    operand(*b, std::move(labels_b));
    out_.output_labels = std::move(out);
    return true;
  }

  // beta at `factor`, alpha after it; both may be keywords.
  bool factors(std::size_t added, std::size_t factor) {
    if (number_argument(op_, factor, "beta").value_or(1) != 0) add(added, nullptr);
    if (number_argument(op_, factor + 1, "alpha").value_or(1) == 0) out_.operands.clear();
    return true;
  }

  bool scaled(std::size_t added, std::size_t first, std::size_t second, std::size_t factor) {
    return product(first, second) && factors(added, factor);
  }

  bool summed_batches() {
    const auto a = tensor(1);
    const auto b = tensor(2);
    if (!a || !b || graph_.tensor(*a).rank() != 3 || graph_.tensor(*b).rank() != 3) return false;
    operand(*a, {kFirstFree, kRow, kInner});
    operand(*b, {kFirstFree, kInner, kColumn});
    out_.output_labels = {kRow, kColumn};
    return factors(0, 3);
  }

  bool outer(std::size_t first, std::size_t second) {
    const auto a = tensor(first);
    const auto b = tensor(second);
    if (!a || !b) return false;
    operand(*a, {kRow});
    operand(*b, {kColumn});
    out_.output_labels = {kRow, kColumn};
    return true;
  }

  bool linear() {
    const auto x = tensor(0);
    const auto w = tensor(1);
    if (!x || !w || graph_.tensor(*x).rank() < 1) return false;
    Labels labels = batch_labels(graph_.tensor(*x), 1);
    Labels out = labels;
    labels.push_back(kInner);
    operand(*x, std::move(labels));
    if (graph_.tensor(*w).rank() == 2) {
      operand(*w, {kColumn, kInner});
      out.push_back(kColumn);
    } else if (graph_.tensor(*w).rank() == 1) {
      operand(*w, {kInner});
    } else {
      return false;
    }
    out_.output_labels = std::move(out);
    add(2, "bias");
    return true;
  }

  // "ij,jk->ik" with "..." and implicit output; a label twice in one operand is its diagonal.
  bool einsum() {
    const auto given = string_argument(op_, 0);
    const Arg* list = argument(op_, 1);
    const auto* tensors = list == nullptr ? nullptr : std::get_if<ArgList>(&list->value);
    if (!given || tensors == nullptr) return false;
    std::string equation;
    for (const char c : *given) {
      if (c != ' ') equation += c;
    }
    const auto arrow = equation.find("->");
    const std::string left = equation.substr(0, arrow);
    std::vector<std::string> terms(1);
    for (const char c : left) {
      if (c == ',') {
        terms.emplace_back();
      } else {
        terms.back() += c;
      }
    }
    if (terms.size() != tensors->size()) return false;
    constexpr int kEllipsis = 1000;  // dims behind "...", counted from the right
    const auto parse = [](const std::string& term, std::size_t hidden) {
      Labels labels;
      for (std::size_t i = 0; i < term.size(); ++i) {
        if (term[i] != '.') {
          labels.push_back(term[i]);
          continue;
        }
        for (std::size_t h = hidden; h > 0; --h) labels.push_back(kEllipsis + static_cast<int>(h));
        i += 2;
      }
      return labels;
    };
    std::size_t most_hidden = 0;
    std::map<char, int> uses;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto* ref = std::get_if<TensorRef>(&(*tensors)[i].value);
      if (ref == nullptr) return false;
      const Tensor& t = graph_.tensor(ref->id);
      const bool ellipsis = terms[i].find('.') != std::string::npos;
      const std::size_t named = terms[i].size() - (ellipsis ? 3 : 0);
      if (named > t.dims.size() || (!ellipsis && named != t.dims.size())) return false;
      most_hidden = std::max(most_hidden, t.dims.size() - named);
      for (const char c : terms[i]) {
        if (c != '.') ++uses[c];
      }
      operand(ref->id, parse(terms[i], t.dims.size() - named));
    }
    if (arrow != std::string::npos) {
      out_.output_labels = parse(equation.substr(arrow + 2), most_hidden);
    } else {
      std::string implicit = most_hidden > 0 ? "..." : "";
      for (const auto& [c, count] : uses) {
        if (count == 1) implicit += c;
      }
      out_.output_labels = parse(implicit, most_hidden);
    }
    return true;
  }

  // Renumbers labels from 0, folds diagonals, drops dims of size 1 and finds the sizes.
  bool take_sizes() {
    std::map<int, int> numbers;
    const auto settle = [&](Tensor& view, Labels& labels) {
      if (labels.size() != view.dims.size()) return false;
      std::vector<Dim> dims;
      Labels kept;
      for (std::size_t d = 0; d < labels.size(); ++d) {
        const Dim dim = view.dims[d];
        if (dim.size == 1) continue;
        const auto [place, fresh] = numbers.try_emplace(labels[d], static_cast<int>(numbers.size()));
        if (fresh) out_.sizes.push_back(dim.size);
        const int label = place->second;
        if (out_.sizes[static_cast<std::size_t>(label)] != dim.size) return false;
        const auto twice = std::find(kept.begin(), kept.end(), label);
        if (twice != kept.end()) {
          dims[static_cast<std::size_t>(twice - kept.begin())].stride += dim.stride;
          continue;
        }
        kept.push_back(label);
        dims.push_back(dim);
      }
      view.dims = std::move(dims);
      labels = std::move(kept);
      return true;
    };
    for (auto& operand : out_.operands) {
      if (!settle(operand.view, operand.labels)) return false;
    }
    if (out_.operands.empty()) {
      out_.output_labels.clear();
      return true;
    }
    const std::size_t known = numbers.size();
    return settle(out_.output, out_.output_labels) && numbers.size() == known;
  }

  const OpGraph& graph_;
  const Op& op_;
  Contraction out_;
};

}  // namespace

std::optional<Contraction> contraction_of(const OpGraph& graph, const Op& op) {
  if (op_kind(op) != OpKind::kContraction) return std::nullopt;
  return Builder(graph, op).build();
}

}  // namespace solmark::graph
