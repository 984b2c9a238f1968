// For tests without a GPU: a driver table whose graphs, modules and functions are plain objects. It does
// nothing but remember, which is all that recording and replaying ask of a driver. One at a time.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/driver.h"

namespace solmark::seal {

struct TestModule {
  std::string image;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> globals;  // address, bytes
};
struct TestFunction {
  std::string name;
  TestModule* module = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> layout;
  std::map<int, int> attributes;
};
struct TestGraph;
struct TestNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_KERNEL_NODE_PARAMS kernel{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  CUDA_MEMCPY3D copy{};
  TestGraph* child = nullptr;
  std::map<int, CUlaunchAttributeValue> attributes;
  std::string parameters;  // of a node made by the code under test: as its layout says
};
struct TestGraph {
  std::vector<TestNode*> nodes;
  struct Edge {
    TestNode* from;
    TestNode* to;
    CUgraphEdgeData data;
  };
  std::vector<Edge> edges;
};

// Everything the fake driver knows.
struct TestGpu {
  std::deque<TestModule> modules;
  std::deque<TestFunction> functions;
  std::deque<TestNode> nodes;
  std::deque<TestGraph> graphs;
  std::map<std::uint64_t, std::string> memory;  // device memory by start address
  std::map<std::uint64_t, unsigned> foreign;    // addresses outside the window: CUmemorytype
  std::map<std::string, TestModule*> loads;     // what loading an image gives
  std::set<std::string> unloadable;
  int compute_capability = 90;
  unsigned long long instantiate_flags = 0;
  int live_modules = 0;

  TestModule& add_module(const std::string& image) {
    modules.push_back({image, {}});
    loads[image] = &modules.back();
    return modules.back();
  }
  void add_global(TestModule& module, const std::string& name, std::uint64_t address,
                  const std::string& bytes) {
    module.globals[name] = {address, bytes.size()};
    memory[address] = bytes;
  }
  TestFunction& add_function(TestModule& module, const std::string& name,
                             std::vector<std::pair<std::size_t, std::size_t>> layout = {}) {
    functions.push_back(
        {name,
         &module,
         std::move(layout),
         {{8, 0}, {9, -1}, {14, 0}, {15, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 32}, {5, 90}, {6, 90}}});
    return functions.back();
  }
  TestGraph& add_graph() { return graphs.emplace_back(); }
  TestNode& add_node(TestGraph& graph, CUgraphNodeType type) {
    TestNode& node = nodes.emplace_back();
    node.type = type;
    graph.nodes.push_back(&node);
    return node;
  }
};

TestGpu& test_gpu();
// Forgets everything.
TestGpu& reset_test_gpu();
gpu::Driver test_driver();

template <class To, class From>
To handle(From& object) {
  return reinterpret_cast<To>(&object);
}

}  // namespace solmark::seal

#endif
