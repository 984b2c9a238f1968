// Scaled dot-product attention: which (query, key) pairs exist under a causal mask, exactly, with grouped
// heads.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/graph.h"

namespace solmark::graph {

struct Attention {
  int query = 0, key = 0, value = 0;
  std::optional<int> mask;  // its values decide which pairs exist
  bool causal = false;
  bool dropout = false;
  std::int64_t queries = 0, keys = 0, depth = 0, value_depth = 0;

  // Keys that query i sees: PyTorch aligns the causal mask at the top left.
  [[nodiscard]] std::int64_t keys_seen(std::int64_t query_index) const;
  // Pairs of all queries of one batch and head; those of queries that see one key only weigh it by 1,
  // whatever the score, so their scores need not be computed.
  [[nodiscard]] std::int64_t score_pairs() const;
  [[nodiscard]] std::int64_t value_pairs() const;
};

[[nodiscard]] std::optional<Attention> attention_of(const OpGraph& graph, const Op& op);

}  // namespace solmark::graph
