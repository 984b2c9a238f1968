// The backward pass: from the declared outputs to the bytes that any program must read and write. An
// operation is live when some of its result is certainly needed; what it needs of its operands follows from
// its kind. Where that is not certain, nothing is needed: bytes counted here are never too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/region.h"
#include "graph/values.h"

namespace solmark::graph {

struct ResultNeed {
  int tensor = 0;
  bool whole = false;
  std::vector<Tensor>
      parts;  // certainly needed parts (views within the result); one part, the result, when whole
  std::int64_t elements = 0;  // at least so many distinct elements are needed
};

struct OpNeed {
  bool live = false;
  std::vector<ResultNeed> results;  // needed ones only

  [[nodiscard]] const ResultNeed* result(int tensor) const;
};

struct StorageTraffic {
  int storage = 0;
  std::int64_t bytes = 0;         // distinct
  std::int64_t sector_bytes = 0;  // in whole sectors
  bool exact = true;              // false: a lower bound of the distinct bytes
  // The bytes that are certain one by one. A read may need more than their union: `bytes` says how many.
  std::vector<Region> regions;
};

struct Needs {
  std::vector<OpNeed> ops;
  std::vector<StorageTraffic> reads;   // input storages
  std::vector<StorageTraffic> writes;  // storages of declared outputs
  // Live operations whose reads could not be proved, so that nothing was counted for them or what feeds only
  // them.
  std::vector<std::size_t> unproved;
};

// `sector`: least transfer in bytes, 1 when unknown.
[[nodiscard]] Needs analyse_needs(const OpGraph& graph, const Values& values, std::int64_t sector = 1);

}  // namespace solmark::graph
