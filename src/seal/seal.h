// A Seal: what one call a slot would make the GPU do, as plain data. Kernels with their parameters and launch
// attributes, fills and copies, the order between them, and the module state and memory they rely on. A Seal
// needs neither the process that made it nor its compiler: replay.h runs it. It comes from a worker that is
// not trusted; validate() says whether it is whole, never whether it is honest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace solmark::seal {

// One loaded module: the machine code that the driver ran. Two modules with equal bytes stay two images,
// because each has its own variables.
struct Image {
  std::string bytes;
};

// A kernel as it was set up; attributes are CUfunction_attribute numbers that a program may set.
struct Function {
  std::uint32_t image = 0;
  std::string name;
  struct Attribute {
    std::int32_t id = 0;
    std::int32_t value = 0;
    bool operator==(const Attribute&) const = default;
  };
  std::vector<Attribute> attributes;
  bool operator==(const Function&) const = default;
};

// CUlaunchAttributeID and the 64 bytes of its value.
struct LaunchAttribute {
  std::uint32_t id = 0;
  std::array<unsigned char, 64> value{};
  bool operator==(const LaunchAttribute&) const = default;
};

// Eight bytes of a parameter block that hold the address of a module's variable, which is elsewhere in every
// process.
struct Relocation {
  std::uint32_t offset = 0;
  std::uint32_t image = 0;
  std::string symbol;
  std::uint64_t addend = 0;
  bool operator==(const Relocation&) const = default;
};

struct KernelNode {
  std::uint32_t function = 0;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::string parameters;
  std::vector<LaunchAttribute> attributes;
  std::vector<Relocation> relocations;
  bool operator==(const KernelNode&) const = default;
};

struct MemsetNode {
  std::uint64_t address = 0;
  std::uint64_t pitch = 0;  // bytes between rows
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;  // 1, 2 or 4
  std::uint64_t width = 0;          // elements
  std::uint64_t height = 1;
  bool operator==(const MemsetNode&) const = default;
};

struct CopySide {
  std::uint64_t address = 0;
  std::uint64_t pitch = 0;   // bytes between rows
  std::uint64_t height = 0;  // rows between planes
  bool operator==(const CopySide&) const = default;
};
struct MemcpyNode {
  CopySide from;
  CopySide to;
  std::uint64_t width_bytes = 0;
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
  bool operator==(const MemcpyNode&) const = default;
};

// Nothing; a meeting point of edges.
struct EmptyNode {
  bool operator==(const EmptyNode&) const = default;
};

using Node = std::variant<KernelNode, MemsetNode, MemcpyNode, EmptyNode>;

// CUgraphEdgeData: ports and type tell programmatic dependent launch from a full dependency (all zero).
struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint8_t from_port = 0;
  std::uint8_t to_port = 0;
  std::uint8_t type = 0;
  bool operator==(const Edge&) const = default;
};

struct Call {
  std::vector<Node> nodes;  // in an order that respects the edges: from < to
  std::vector<Edge> edges;
  std::vector<std::uint64_t> outputs;  // where each output of this slot lies afterwards
  bool operator==(const Call&) const = default;
};

// Bytes of a module's variable that differ from what loading the image gives, or may do so.
struct ModuleState {
  std::uint32_t image = 0;
  std::string symbol;
  std::uint64_t offset = 0;
  std::string bytes;
  bool operator==(const ModuleState&) const = default;
};

// Device memory of the worker. Without contents it is handed over by descriptor; with them (a saved Seal)
// they are written before the first replay, everything between the extents being zero.
struct Scratch {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool has_contents = false;
  struct Extent {
    std::uint64_t offset = 0;
    std::string bytes;
    bool operator==(const Extent&) const = default;
  };
  std::vector<Extent> extents;
  bool operator==(const Scratch&) const = default;
};

// A judge-owned tensor as the call was bound to it; in slot s at address + s * slot_stride.
struct Buffer {
  std::string name;
  bool output = false;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t slot_stride = 0;
  bool operator==(const Buffer&) const = default;
};

struct Seal {
  std::int32_t compute_capability = 0;  // 90, 100, …
  std::int32_t driver_version = 0;  // of the driver that compiled or loaded the images: 13000 is CUDA 13.0
  std::vector<Image> images;
  std::vector<Function> functions;
  std::vector<Call> calls;  // one a slot
  std::vector<ModuleState> state;
  std::vector<Scratch> scratch;
  std::vector<Buffer> buffers;
  std::vector<std::string> notes;  // what the user should know, one sentence each
};

// CUDA's own limit on a launch's parameters, since 12.1.
inline constexpr std::size_t kMaxParameterBytes = 32764;

// Whether indices, sizes and addresses fit together, so that replaying cannot go out of bounds on the host:
// an Error names the place, as in "calls[3].nodes[0].function".
Status validate(const Seal& seal);

// Launch attributes that a Seal may carry (CUlaunchAttributeID): those that change how a kernel runs and mean
// the same in another process.
bool is_sealable_launch_attribute(std::uint32_t id);

// Puts memory contents into a Seal, leaving out runs of zeros.
void set_contents(Scratch& scratch, std::string_view contents);

// For people and for the trace: counts, kernels of the first call, notes. One JSON object.
std::string summary_json(const Seal& seal);

}  // namespace solmark::seal
