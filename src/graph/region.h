// Byte footprints of affine views: the set { offset + sum(ik * stridek) } of a storage, and unions of such
// sets. Counts are exact where that is cheap and lower bounds elsewhere, so bytes counted here are never too
// many.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace solmark::graph {

// Normal form: byte strides, largest first; sizes of at least 2; dims that can be merged are merged; the last
// dim is a run of bytes (stride 1) unless the region is empty.
struct Region {
  std::int64_t offset = 0;
  std::vector<Dim> dims;
  bool empty = false;

  [[nodiscard]] std::int64_t end() const;  // one past the last byte
  bool operator==(const Region&) const = default;
};

struct Count {
  std::int64_t value = 0;
  bool exact = true;  // false: a lower bound
};

Region region_of(const Tensor& tensor);
Count count_bytes(const Region& region);
// Bytes of the union of regions of one storage. With sector > 1, bytes of all sectors that the union touches
// (counted from the storage's beginning, which allocators align); only when exact, else plain bytes.
Count union_bytes(const std::vector<Region>& regions, std::int64_t sector = 1);
// True only when certain.
bool contains(const Region& outer, const Region& inner);
bool disjoint(const Region& a, const Region& b);

}  // namespace solmark::graph
