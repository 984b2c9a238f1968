#include "seal/format.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <type_traits>

#include "base/files.h"
#include "seal/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace solmark::seal {
namespace {

constexpr std::string_view kMagic = "SLMSEAL1";
constexpr std::size_t kPrefixBytes = kMagic.size() + sizeof(std::uint64_t);

// Limits on counts and lengths: generous for real programs, small enough that a lie costs little.
constexpr std::uint64_t kMaxImages = 1 << 16;
constexpr std::uint64_t kMaxImageBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kMaxFunctions = 1 << 20;
constexpr std::uint64_t kMaxCalls = 1 << 20;
constexpr std::uint64_t kMaxNodes = 1 << 22;
constexpr std::uint64_t kMaxEdges = 1 << 24;
constexpr std::uint64_t kMaxSmallList = 1 << 12;
constexpr std::uint64_t kMaxText = 1 << 16;
constexpr std::uint64_t kMaxContents = std::uint64_t{1} << 38;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 38;

// `Of<Wire, T>` is T& for a Reader and const T& for a Writer.
template <class Wire, class T>
using Of = std::conditional_t<Wire::kReads, T&, const T&>;

template <class Wire>
void transfer_flag(Wire& wire, Of<Wire, bool> flag) {
  if constexpr (Wire::kReads) {
    std::uint8_t byte = 0;
    wire.integer(byte);
    if (byte > 1) wire.refuse("a flag is neither 0 nor 1");
    flag = byte == 1;
  } else {
    wire.integer(static_cast<std::uint8_t>(flag ? 1 : 0));
  }
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, Function> function) {
  wire.integer(function.image);
  wire.text(function.name, kMaxText);
  wire.list(function.attributes, kMaxSmallList, [&](auto& attribute) {
    wire.integer(attribute.id);
    wire.integer(attribute.value);
  });
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, KernelNode> node) {
  wire.integer(node.function);
  for (auto& size : node.grid) wire.integer(size);
  for (auto& size : node.block) wire.integer(size);
  wire.integer(node.dynamic_shared_bytes);
  wire.text(node.parameters, kMaxText);
  wire.list(node.attributes, kMaxSmallList, [&](auto& attribute) {
    wire.integer(attribute.id);
    wire.raw(attribute.value.data(), attribute.value.size());
  });
  wire.list(node.relocations, kMaxSmallList, [&](auto& relocation) {
    wire.integer(relocation.offset);
    wire.integer(relocation.image);
    wire.text(relocation.symbol, kMaxText);
    wire.integer(relocation.addend);
  });
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, MemsetNode> node) {
  wire.integer(node.address);
  wire.integer(node.pitch);
  wire.integer(node.value);
  wire.integer(node.element_bytes);
  wire.integer(node.width);
  wire.integer(node.height);
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, CopySide> side) {
  wire.integer(side.address);
  wire.integer(side.pitch);
  wire.integer(side.height);
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, MemcpyNode> node) {
  transfer<Wire>(wire, node.from);
  transfer<Wire>(wire, node.to);
  wire.integer(node.width_bytes);
  wire.integer(node.height);
  wire.integer(node.depth);
}

template <class Wire>
void transfer(Wire&, Of<Wire, EmptyNode>) {}

// The kind of a node on the wire is its place in the variant.
template <std::size_t kKind = 0>
void read_node(Reader& wire, Node& node, std::uint8_t kind) {
  if constexpr (kKind == std::variant_size_v<Node>) {
    wire.refuse("a node is of an unknown kind");
  } else if (kind == kKind) {
    transfer<Reader>(wire, node.emplace<kKind>());
  } else {
    read_node<kKind + 1>(wire, node, kind);
  }
}

template <class Wire>
void transfer_node(Wire& wire, Of<Wire, Node> node) {
  if constexpr (Wire::kReads) {
    std::uint8_t kind = 0;
    wire.integer(kind);
    read_node(wire, node, kind);
  } else {
    wire.integer(static_cast<std::uint8_t>(node.index()));
    std::visit([&]<class Kind>(const Kind& one) { transfer<Writer>(wire, one); }, node);
  }
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, Call> call) {
  wire.list(call.nodes, kMaxNodes, [&](auto& node) { transfer_node<Wire>(wire, node); });
  wire.list(call.edges, kMaxEdges, [&](auto& edge) {
    wire.integer(edge.from);
    wire.integer(edge.to);
    wire.integer(edge.from_port);
    wire.integer(edge.to_port);
    wire.integer(edge.type);
  });
  wire.list(call.outputs, kMaxSmallList, [&](auto& address) { wire.integer(address); });
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, Scratch> scratch) {
  wire.integer(scratch.address);
  wire.integer(scratch.bytes);
  transfer_flag<Wire>(wire, scratch.has_contents);
  wire.list(scratch.extents, kMaxNodes, [&](auto& extent) {
    wire.integer(extent.offset);
    wire.text(extent.bytes, kMaxContents);
  });
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, Buffer> buffer) {
  wire.text(buffer.name, kMaxText);
  transfer_flag<Wire>(wire, buffer.output);
  wire.integer(buffer.address);
  wire.integer(buffer.bytes);
  wire.integer(buffer.slot_stride);
}

template <class Wire>
void transfer(Wire& wire, Of<Wire, Seal> seal) {
  wire.integer(seal.compute_capability);
  wire.integer(seal.driver_version);
  wire.list(seal.images, kMaxImages, [&](auto& image) { wire.text(image.bytes, kMaxImageBytes); });
  wire.list(seal.functions, kMaxFunctions, [&](auto& function) { transfer<Wire>(wire, function); });
  wire.list(seal.calls, kMaxCalls, [&](auto& call) { transfer<Wire>(wire, call); });
  wire.list(seal.state, kMaxFunctions, [&](auto& state) {
    wire.integer(state.image);
    wire.text(state.symbol, kMaxText);
    wire.integer(state.offset);
    wire.text(state.bytes, kMaxImageBytes);
  });
  wire.list(seal.scratch, kMaxImages, [&](auto& scratch) { transfer<Wire>(wire, scratch); });
  wire.list(seal.buffers, kMaxSmallList, [&](auto& buffer) { transfer<Wire>(wire, buffer); });
  wire.list(seal.notes, kMaxSmallList, [&](auto& note) { wire.text(note, kMaxText); });
}

std::string checksum(std::string_view body) {
  Writer writer;
  writer.integer(static_cast<std::uint64_t>(XXH3_64bits(body.data(), body.size())));
  return writer.take();
}

}  // namespace

std::string encode_body(const Seal& seal) {
  Writer writer;
  transfer<Writer>(writer, seal);
  return writer.take();
}

Result<Seal> decode_body(std::string_view body) {
  Reader reader(body);
  Seal seal;
  transfer<Reader>(reader, seal);
  if (reader.ok() && reader.left() != 0) {
    return input_error("the seal is broken: something follows its end",
                       fmt::format("offset {}", body.size() - reader.left()));
  }
  if (!reader.ok())
    return input_error("the seal is broken: " + reader.error(), fmt::format("offset {}", reader.error_at()));
  SOLMARK_CHECK_OK(validate(seal));
  return seal;
}

Result<std::string> encode(const Seal& seal) {
  SOLMARK_CHECK_OK(validate(seal));
  const std::string body = encode_body(seal);
  return std::string(kMagic) + checksum(body) + body;
}

Result<Seal> decode(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    const bool newer = bytes.starts_with(kMagic.substr(0, kMagic.size() - 1));
    return input_error(newer ? "the seal is of another version" : "this is no seal", "offset 0",
                       newer ? "seal the solution again with this version" : "");
  }
  if (bytes.size() < kPrefixBytes)
    return input_error("the seal is broken: it ends within its checksum", "offset 8");
  const std::string_view body = bytes.substr(kPrefixBytes);
  if (bytes.substr(kMagic.size(), sizeof(std::uint64_t)) != checksum(body))
    return input_error("the seal is broken: its checksum does not match", "offset 8");
  return decode_body(body);
}

Status save(const Seal& seal, const std::filesystem::path& file) {
  SOLMARK_TRY(const std::string bytes, encode(seal));
  return write_file(file, bytes);
}

Result<Seal> load(const std::filesystem::path& file) {
  SOLMARK_TRY(const std::string bytes, read_file(file, kMaxFileBytes));
  auto seal = decode(bytes);
  if (!seal.ok()) {
    Error error = seal.error();
    error.where = file.string() + (error.where.empty() ? "" : ":" + error.where);
    return error;
  }
  return seal;
}

Result<Fd> to_memfd(const Seal& seal, std::size_t& bytes) {
  SOLMARK_TRY(const std::string encoded, encode(seal));
  SOLMARK_TRY(Fd fd, make_memfd("seal", encoded.size()));
  SOLMARK_TRY(const Mapping mapping, Mapping::map(fd, encoded.size(), Mapping::Access::kReadWrite));
  std::memcpy(mapping.data(), encoded.data(), encoded.size());
  bytes = encoded.size();
  return fd;
}

Result<Seal> from_memfd(const Fd& fd) {
  struct stat status{};
  if (fstat(fd.get(), &status) != 0 || status.st_size <= 0)
    return input_error("the descriptor holds no seal", "descriptor " + std::to_string(fd.get()));
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > kMaxFileBytes) return input_error("the seal is larger than any can be", "offset 0");
  SOLMARK_TRY(const Mapping mapping, Mapping::map(fd, bytes, Mapping::Access::kRead));
  // A copy: whoever else holds the memory must not change it between the check and the use.
  const std::string copy(reinterpret_cast<const char*>(mapping.data()), bytes);
  return decode(copy);
}

}  // namespace solmark::seal
