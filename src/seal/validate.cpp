#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "seal/seal.h"
#include "seal/window_range.h"

namespace solmark::seal {
namespace {

constexpr std::uint64_t kMaxNameBytes = std::uint64_t{1} << 16;
constexpr std::uint64_t kMaxBlockThreads = 1024;

Error broken_seal(const std::string& place, const std::string& what) {
  return input_error("the seal is broken: " + what, place);
}

// planes x rows x row_bytes at their pitches: the bytes from the first to the last one, or nothing on
// overflow.
bool extent_in_window(std::uint64_t address, std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t pitch,
                      std::uint64_t planes, std::uint64_t plane_rows) {
  if (row_bytes == 0 || rows == 0 || planes == 0) return in_window(address, 0);
  const std::uint64_t limit = gpu::kWindowBytes;
  if (row_bytes > limit || rows > limit || planes > limit || pitch > limit || plane_rows > limit)
    return false;
  __extension__ using Wide = unsigned __int128;
  const Wide last_row = Wide{planes - 1} * plane_rows + (rows - 1);
  const Wide bytes = last_row * pitch + row_bytes;
  return bytes <= limit && in_window(address, static_cast<std::uint64_t>(bytes));
}

Status check_name(const std::string& place, const std::string& name) {
  if (name.empty() || name.size() > kMaxNameBytes || name.find('\0') != std::string::npos)
    return broken_seal(place, "a name is empty, too long or holds a zero byte");
  return success();
}

class Check {
 public:
  Check(const Seal& seal, std::string place) : seal_(seal), place_(std::move(place)) {}

  Status operator()(const KernelNode& node) const {
    if (node.function >= seal_.functions.size())
      return broken_seal(place_, "the kernel's function is not there");
    std::uint64_t threads = 1;
    for (const std::uint32_t size : node.block) {
      if (size == 0 || size > kMaxBlockThreads)
        return broken_seal(place_, "the block has a size that no GPU has");
      threads *= size;
    }
    if (threads > kMaxBlockThreads) return broken_seal(place_, "the block has more than 1024 threads");
    for (const std::uint32_t size : node.grid)
      if (size == 0) return broken_seal(place_, "the grid is empty");
    if (node.parameters.size() > kMaxParameterBytes)
      return broken_seal(place_, "there are too many parameter bytes");
    for (const LaunchAttribute& attribute : node.attributes)
      if (!is_sealable_launch_attribute(attribute.id))
        return broken_seal(place_,
                           fmt::format("launch attribute {} does not belong in a seal", attribute.id));
    for (const Relocation& relocation : node.relocations) {
      if (relocation.image >= seal_.images.size())
        return broken_seal(place_, "a parameter's image is not there");
      if (node.parameters.size() < 8 || relocation.offset > node.parameters.size() - 8)
        return broken_seal(place_, "a parameter's address lies outside the parameters");
      SOLMARK_CHECK_OK(check_name(place_, relocation.symbol));
    }
    return success();
  }

  Status operator()(const MemsetNode& node) const {
    if (node.element_bytes != 1 && node.element_bytes != 2 && node.element_bytes != 4)
      return broken_seal(place_, "a fill has elements that are not 1, 2 or 4 bytes");
    if (node.width > gpu::kWindowBytes) return broken_seal(place_, "a fill is wider than the address window");
    if (node.width == 0 || node.height == 0) return broken_seal(place_, "a fill is empty");
    if (!extent_in_window(node.address, node.width * node.element_bytes, node.height, node.pitch, 1, 1))
      return broken_seal(place_, "a fill goes outside the address window");
    return success();
  }

  Status operator()(const MemcpyNode& node) const {
    if (node.width_bytes == 0 || node.height == 0 || node.depth == 0)
      return broken_seal(place_, "a copy is empty");
    for (const CopySide* side : {&node.from, &node.to})
      if (!extent_in_window(side->address, node.width_bytes, node.height, side->pitch, node.depth,
                            side->height))
        return broken_seal(place_, "a copy goes outside the address window");
    return success();
  }

  Status operator()(const EmptyNode&) const { return success(); }

 private:
  const Seal& seal_;
  std::string place_;
};

Status check_call(const Seal& seal, const Call& call, const std::string& place) {
  if (call.nodes.empty()) return broken_seal(place, "the call does nothing");
  if (call.nodes.size() > std::numeric_limits<std::uint32_t>::max())
    return broken_seal(place, "there are too many nodes");
  for (std::size_t i = 0; i < call.nodes.size(); ++i)
    SOLMARK_CHECK_OK(std::visit(Check(seal, fmt::format("{}.nodes[{}]", place, i)), call.nodes[i]));
  for (std::size_t i = 0; i < call.edges.size(); ++i) {
    const Edge& edge = call.edges[i];
    if (edge.to >= call.nodes.size() || edge.from >= edge.to)
      return broken_seal(fmt::format("{}.edges[{}]", place, i),
                         "an edge does not lead from an earlier node to a later one");
    const bool plain = edge.type == 0 && edge.from_port == 0 && edge.to_port == 0;
    const bool kernels = std::holds_alternative<KernelNode>(call.nodes[edge.from]) &&
                         std::holds_alternative<KernelNode>(call.nodes[edge.to]);
    if (!plain && (!kernels || edge.type > 1 || edge.from_port > 2 || edge.to_port != 0))
      return broken_seal(fmt::format("{}.edges[{}]", place, i), "an edge has ports that mean nothing");
  }
  for (const std::uint64_t address : call.outputs)
    if (!in_window(address, 1)) return broken_seal(place, "an output lies outside the address window");
  return success();
}

Status check_memory(const Seal& seal) {
  for (std::size_t i = 0; i < seal.scratch.size(); ++i) {
    const Scratch& scratch = seal.scratch[i];
    const std::string place = fmt::format("scratch[{}]", i);
    if (scratch.bytes == 0 || !in_window(scratch.address, scratch.bytes))
      return broken_seal(place, "memory lies outside the address window");
    std::uint64_t end = 0;
    for (const Scratch::Extent& extent : scratch.extents) {
      if (extent.offset < end || extent.offset > scratch.bytes ||
          extent.bytes.size() > scratch.bytes - extent.offset)
        return broken_seal(place, "contents lie outside their memory or overlap");
      end = extent.offset + extent.bytes.size();
    }
    if (!scratch.has_contents && !scratch.extents.empty())
      return broken_seal(place, "contents that are not declared");
  }
  for (std::size_t i = 0; i < seal.buffers.size(); ++i) {
    const Buffer& buffer = seal.buffers[i];
    const std::string place = fmt::format("buffers[{}]", i);
    SOLMARK_CHECK_OK(check_name(place, buffer.name));
    // The stride is bounded by itself: it is multiplied by the number of slots below.
    if (buffer.slot_stride > gpu::kWindowBytes || !in_window(buffer.address, buffer.bytes))
      return broken_seal(place, "a tensor lies outside the address window");
    __extension__ using Wide = unsigned __int128;
    const Wide last = Wide{buffer.slot_stride} * (seal.calls.size() - 1) + buffer.bytes;
    if (last > gpu::kWindowBytes || !in_window(buffer.address, static_cast<std::uint64_t>(last)))
      return broken_seal(place, "a tensor's last slot lies outside the address window");
  }
  return success();
}

}  // namespace

bool is_sealable_launch_attribute(std::uint32_t id) {
  // Access policy window, cooperative, cluster dimension, cluster scheduling, priority, memory
  // synchronisation domain map and domain, preferred cluster dimension, shared memory carveout, NVLink
  // scheduling. The others are about events, streams and updates from the device, which exist in one process
  // only; programmatic launch is in the edges.
  constexpr std::array<std::uint32_t, 10> kIds{1, 2, 4, 5, 8, 9, 10, 11, 14, 16};
  return std::find(kIds.begin(), kIds.end(), id) != kIds.end();
}

Status validate(const Seal& seal) {
  if (seal.calls.empty()) return broken_seal("calls", "there is no call");
  for (std::size_t i = 0; i < seal.images.size(); ++i)
    if (seal.images[i].bytes.size() < 64)
      return broken_seal(fmt::format("images[{}]", i), "the image is no cubin");
  for (std::size_t i = 0; i < seal.functions.size(); ++i) {
    const std::string place = fmt::format("functions[{}]", i);
    if (seal.functions[i].image >= seal.images.size())
      return broken_seal(place, "the function's image is not there");
    SOLMARK_CHECK_OK(check_name(place, seal.functions[i].name));
  }
  for (std::size_t i = 0; i < seal.calls.size(); ++i)
    SOLMARK_CHECK_OK(check_call(seal, seal.calls[i], fmt::format("calls[{}]", i)));
  for (std::size_t i = 0; i < seal.state.size(); ++i) {
    const std::string place = fmt::format("state[{}]", i);
    if (seal.state[i].image >= seal.images.size())
      return broken_seal(place, "the variable's image is not there");
    SOLMARK_CHECK_OK(check_name(place, seal.state[i].symbol));
  }
  return check_memory(seal);
}

}  // namespace solmark::seal
