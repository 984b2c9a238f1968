#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "seal/seal.h"

namespace solmark::seal {
namespace {

constexpr std::size_t kListedKernels = 64;
constexpr std::size_t kPage = 4096;

struct Counts {
  std::size_t kernels = 0, memsets = 0, memcpys = 0, edges = 0;
};

Counts count(const Call& call) {
  Counts counts;
  counts.edges = call.edges.size();
  for (const Node& node : call.nodes) {
    counts.kernels += std::holds_alternative<KernelNode>(node) ? 1 : 0;
    counts.memsets += std::holds_alternative<MemsetNode>(node) ? 1 : 0;
    counts.memcpys += std::holds_alternative<MemcpyNode>(node) ? 1 : 0;
  }
  return counts;
}

Json describe(const Seal& seal, const KernelNode& node) {
  Json kernel = Json::object();
  const bool named = node.function < seal.functions.size();
  kernel["name"] = named ? seal.functions[node.function].name : std::string();
  kernel["grid"] = node.grid;
  kernel["block"] = node.block;
  kernel["dynamic_shared_bytes"] = node.dynamic_shared_bytes;
  return kernel;
}

}  // namespace

void set_contents(Scratch& scratch, std::string_view contents) {
  scratch.has_contents = true;
  scratch.extents.clear();
  const auto is_zero = [&](std::size_t at, std::size_t bytes) {
    return std::all_of(contents.begin() + static_cast<std::ptrdiff_t>(at),
                       contents.begin() + static_cast<std::ptrdiff_t>(at + bytes),
                       [](char c) { return c == 0; });
  };
  bool open = false;
  for (std::size_t at = 0; at < contents.size(); at += kPage) {
    const std::size_t bytes = std::min(kPage, contents.size() - at);
    if (is_zero(at, bytes)) {
      open = false;
      continue;
    }
    if (!open) scratch.extents.push_back({at, {}});
    scratch.extents.back().bytes.append(contents.substr(at, bytes));
    open = true;
  }
}

std::string summary_json(const Seal& seal) {
  Json summary = Json::object();
  std::uint64_t image_bytes = 0;
  for (const Image& image : seal.images) image_bytes += image.bytes.size();
  std::uint64_t scratch_bytes = 0;
  for (const Scratch& scratch : seal.scratch) scratch_bytes += scratch.bytes;
  std::uint64_t state_bytes = 0;
  for (const ModuleState& state : seal.state) state_bytes += state.bytes.size();
  summary["compute_capability"] = seal.compute_capability;
  summary["driver_version"] = seal.driver_version;
  summary["calls"] = seal.calls.size();
  summary["images"] = seal.images.size();
  summary["image_bytes"] = image_bytes;
  summary["functions"] = seal.functions.size();
  summary["state_bytes"] = state_bytes;
  summary["scratch_bytes"] = scratch_bytes;
  if (!seal.calls.empty()) {
    const Call& first = seal.calls.front();
    const Counts counts = count(first);
    summary["kernels_per_call"] = counts.kernels;
    summary["memsets_per_call"] = counts.memsets;
    summary["memcpys_per_call"] = counts.memcpys;
    summary["edges_per_call"] = counts.edges;
    Json kernels = Json::array();
    for (const Node& node : first.nodes)
      if (const auto* kernel = std::get_if<KernelNode>(&node);
          kernel != nullptr && kernels.size() < kListedKernels)
        kernels.push_back(describe(seal, *kernel));
    summary["kernels"] = std::move(kernels);
    // A call that plans by slot is legal, but the user should see that the calls are not alike.
    summary["uniform"] = std::all_of(seal.calls.begin(), seal.calls.end(), [&](const Call& call) {
      return call.nodes.size() == first.nodes.size() && call.edges == first.edges;
    });
  }
  summary["notes"] = seal.notes;
  return to_json_line(summary);
}

}  // namespace solmark::seal
