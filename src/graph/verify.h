// Checks what every pass relies on: ids exist, views stay inside their storage, nothing overflows, a storage
// is made before it is used, inputs and outputs are bound. Run by the reader and again after anything that
// edits a graph.
#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace solmark::graph {

// The error's place is a JSON pointer into the graph.
Status verify(const OpGraph& graph);

}  // namespace solmark::graph
