#include "graph/attention.h"

#include <algorithm>
#include <string>

#include "graph/op_kinds.h"

namespace solmark::graph {
namespace {

// Sum of min(i + 1, keys) for i in [0, queries).
std::int64_t triangle_pairs(std::int64_t queries, std::int64_t keys) {
  const std::int64_t rising = std::min(queries, keys);
  return rising * (rising + 1) / 2 + (queries - rising) * keys;
}

}  // namespace

std::int64_t Attention::keys_seen(std::int64_t query_index) const {
  return causal ? std::min(query_index + 1, keys) : keys;
}

std::int64_t Attention::value_pairs() const {
  return causal ? triangle_pairs(queries, keys) : queries * keys;
}

std::int64_t Attention::score_pairs() const {
  if (keys < 2) return 0;
  return value_pairs() - (causal && queries > 0 ? 1 : 0);
}

std::optional<Attention> attention_of(const OpGraph& graph, const Op& op) {
  if (op_kind(op) != OpKind::kAttention) return std::nullopt;
  const auto query = tensor_argument(op, 0);
  const auto key = tensor_argument(op, 1);
  const auto value = tensor_argument(op, 2);
  if (!query || !key || !value) return std::nullopt;
  const std::string name = base_name(op);
  // Positions of mask, dropout and causal in each operator's schema; 99: it has none.
  std::size_t mask = 99;
  std::size_t dropout = 3;
  std::size_t causal = 4;
  if (name == "scaled_dot_product_attention") {
    mask = 3;
    dropout = 4;
    causal = 5;
  } else if (name == "_scaled_dot_product_efficient_attention" ||
             name == "_scaled_dot_product_cudnn_attention") {
    mask = 3;
    dropout = 5;
    causal = 6;
  }
  const Tensor& q = graph.tensor(*query);
  const Tensor& k = graph.tensor(*key);
  const Tensor& v = graph.tensor(*value);
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) return std::nullopt;
  Attention out;
  out.query = *query;
  out.key = *key;
  out.value = *value;
  out.mask = tensor_argument(op, mask, "attn_mask");
  out.causal = bool_argument(op, causal, "is_causal").value_or(false);
  out.dropout = number_argument(op, dropout, "dropout_p").value_or(0) != 0;
  out.queries = q.size(q.rank() - 2);
  out.depth = q.size(q.rank() - 1);
  out.keys = k.size(k.rank() - 2);
  out.value_depth = v.size(v.rank() - 1);
  return out;
}

}  // namespace solmark::graph
