#include "seal/graph_nodes.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <map>

#include "seal/order.h"

namespace solmark::seal {
namespace {

constexpr int kMaxDepth = 8;

// Why a node of this type cannot be sealed; null when it can.
const char* refusal(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_HOST:
      return "the call runs a host function in its stream";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "the call waits for an event from outside itself";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "the call records an event for others";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return "the call uses a semaphore of another API";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "the call allocates memory in its stream by a way that does not go through the address window";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "the call waits for or writes memory by stream operations";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return "the call has conditional nodes";
    default:
      return "the call has a node of a kind that this version does not know";
  }
}

class Flattener {
 public:
  explicit Flattener(const gpu::Driver& driver) : driver_(driver) {}

  struct Ends {
    std::vector<std::uint32_t> roots, leaves;
  };

  Result<Ends> add(CUgraph graph, int depth) {
    if (depth > kMaxDepth) return machine_error("the call nests graphs more than 8 deep");
    SOLMARK_NEEDS(driver_, cuGraphGetEdges);
    std::size_t count = 0;
    SOLMARK_CHECK_OK(
        driver_.check(driver_.cuGraphGetNodes(graph, nullptr, &count), "counting a graph's nodes"));
    std::vector<CUgraphNode> nodes(count);
    if (count > 0)
      SOLMARK_CHECK_OK(
          driver_.check(driver_.cuGraphGetNodes(graph, nodes.data(), &count), "reading a graph's nodes"));
    // A child graph stands between its roots and leaves; every other node is both for itself.
    std::map<CUgraphNode, Ends> places;
    for (const CUgraphNode node : nodes) {
      CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
      SOLMARK_CHECK_OK(driver_.check(driver_.cuGraphNodeGetType(node, &type), "asking for a node's type"));
      if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
        CUgraph child = nullptr;
        SOLMARK_CHECK_OK(
            driver_.check(driver_.cuGraphChildGraphNodeGetGraph(node, &child), "opening a child graph"));
        SOLMARK_TRY(places[node], add(child, depth + 1));
        continue;
      }
      const bool known = type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                         type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_EMPTY;
      if (!known) return machine_error(refusal(type));
      const std::uint32_t place = append({node, type});
      places[node] = {{place}, {place}};
    }
    return connect(graph, nodes, places);
  }

  FlatGraph take() { return std::move(flat_); }

 private:
  std::uint32_t append(const FlatGraph::Item& item) {
    flat_.items.push_back(item);
    return static_cast<std::uint32_t>(flat_.items.size() - 1);
  }

  Result<Ends> connect(CUgraph graph, const std::vector<CUgraphNode>& nodes,
                       std::map<CUgraphNode, Ends>& places) {
    // An empty child graph is a meeting point and nothing else.
    for (auto& [node, ends] : places) {
      if (!ends.roots.empty()) continue;
      const std::uint32_t place = append({nullptr, CU_GRAPH_NODE_TYPE_EMPTY});
      ends = {{place}, {place}};
    }
    std::size_t count = 0;
    std::vector<CUgraphNode> from;
    std::vector<CUgraphNode> to;
    std::vector<CUgraphEdgeData> data;
    // Asked for with room to spare instead of counted first: counting is refused when edges carry data.
    for (std::size_t room = 4 * nodes.size(); count == from.size() && !nodes.empty(); room *= 2) {
      from.resize(room);
      to.resize(room);
      data.resize(room);
      count = room;
      SOLMARK_CHECK_OK(
          driver_.check(driver_.cuGraphGetEdges(graph, from.data(), to.data(), data.data(), &count),
                        "reading a graph's edges"));
    }
    std::map<CUgraphNode, bool> has_before;
    std::map<CUgraphNode, bool> has_after;
    for (std::size_t i = 0; i < count; ++i) {
      if (!places.contains(from[i]) || !places.contains(to[i]))
        return internal_error("a graph has an edge to a node that is not its own");
      has_before[to[i]] = true;
      has_after[from[i]] = true;
      for (const std::uint32_t source : places[from[i]].leaves)
        for (const std::uint32_t target : places[to[i]].roots)
          flat_.edges.push_back({source, target, data[i].from_port, data[i].to_port, data[i].type});
    }
    Ends ends;
    for (const CUgraphNode node : nodes) {
      const Ends& place = places[node];
      if (!has_before[node]) ends.roots.insert(ends.roots.end(), place.roots.begin(), place.roots.end());
      if (!has_after[node]) ends.leaves.insert(ends.leaves.end(), place.leaves.begin(), place.leaves.end());
    }
    return ends;
  }

  const gpu::Driver& driver_;
  FlatGraph flat_;
};

}  // namespace

Result<FlatGraph> flatten(const gpu::Driver& driver, CUgraph graph) {
  Flattener flattener(driver);
  SOLMARK_CHECK_OK(flattener.add(graph, 0));
  FlatGraph flat = flattener.take();
  const std::vector<std::uint32_t> order = topological_order(flat.items.size(), flat.edges);
  if (order.size() != flat.items.size()) return internal_error("a captured graph goes in a circle");
  FlatGraph sorted;
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.items.push_back(flat.items[order[i]]);
  }
  for (Edge edge : flat.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
    sorted.edges.push_back(edge);
  }
  return sorted;
}

}  // namespace solmark::seal

#endif
