// A captured graph as a flat list: child graphs are opened in place, and nodes that only this process could
// run are refused by name.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <vector>

#include "base/result.h"
#include "gpu/driver.h"
#include "seal/seal.h"

namespace solmark::seal {

struct FlatGraph {
  struct Item {
    CUgraphNode node = nullptr;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  };
  std::vector<Item> items;  // in an order that respects the edges
  std::vector<Edge> edges;
};

Result<FlatGraph> flatten(const gpu::Driver& driver, CUgraph graph);

}  // namespace solmark::seal

#endif
