#include "graph/verify.h"

#include <fmt/format.h>

#include <set>

#include "graph/op_kinds.h"

namespace solmark::graph {
namespace {

Error at(const std::string& place, std::string message) { return input_error(std::move(message), place); }

// Beyond this no real tensor goes, and products of two such numbers need care anyway.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

Status verify_tensor(const OpGraph& graph, std::size_t index) {
  const Tensor& tensor = graph.tensors[index];
  const std::string place = fmt::format("/tensors/{}", index);
  if (static_cast<std::size_t>(tensor.storage) >= graph.storages.size() || tensor.storage < 0) {
    return at(place + "/storage", fmt::format("there is no storage {}", tensor.storage));
  }
  if (tensor.offset < 0) return at(place + "/offset", "is negative");
  std::int64_t count = 1;
  std::int64_t last = tensor.offset;
  bool empty = false;
  for (const auto& dim : tensor.dims) {
    if (dim.size < 0 || dim.stride < 0) return at(place, "a size or stride is negative");
    empty = empty || dim.size == 0;
    if (__builtin_mul_overflow(count, dim.size, &count) || count > (std::int64_t{1} << 56)) {
      return at(place + "/shape", "the element count is too large");
    }
    std::int64_t reach = 0;
    if (dim.size > 0 && (__builtin_mul_overflow(dim.size - 1, dim.stride, &reach) ||
                         __builtin_add_overflow(last, reach, &last))) {
      return at(place + "/strides", "the last element's place is too large");
    }
  }
  if (empty) return success();
  const std::int64_t bytes = graph.storage(tensor.storage).bytes;
  std::int64_t end = 0;
  if (__builtin_add_overflow(last, 1, &end) ||
      __builtin_mul_overflow(end, element_bytes(tensor.element), &end) || end > bytes) {
    return at(place, fmt::format("the view ends at element {}, beyond storage {} of {} bytes", last,
                                 tensor.storage, bytes));
  }
  if (tensor.values && static_cast<std::int64_t>(tensor.values->size()) != count) {
    return at(place + "/values", fmt::format("{} values for {} elements", tensor.values->size(), count));
  }
  return success();
}

// The tensors that an operator of PyTorch takes at the least. What analyses an operator by its name counts on
// them.
std::size_t least_tensors(const Op& op) {
  const std::string name = base_name(op);
  switch (op_kind(op)) {
    case OpKind::kUnknown:
    case OpKind::kFactory:
    case OpKind::kReadsNone:
      return 0;
    case OpKind::kCopyInto:
    case OpKind::kGather:
    case OpKind::kScatter:
    case OpKind::kSliceScatter:
    case OpKind::kConvolution:
      return 2;
    case OpKind::kSelect:
      return name == "where" ? 1 : 2;  // its two choices may be numbers
    case OpKind::kContraction:
      if (name == "einsum") return 1;
      return name == "addmm" || name == "baddbmm" || name == "addbmm" || name == "addmv" || name == "addr" ||
                     name == "_addmm_activation"
                 ? 3
                 : 2;
    case OpKind::kScatterAdd:
    case OpKind::kConvolutionBackward:
    case OpKind::kAttention:
      return 3;
    default:
      return 1;
  }
}

Status verify_counts(const Op& op, const std::string& place) {
  const std::size_t given = tensor_arguments(op).size();
  if (const std::size_t least = least_tensors(op); given < least) {
    return at(place + "/args", fmt::format("{} takes {} tensors at the least, not {}", op.op, least, given));
  }
  return success();
}

}  // namespace

Status verify(const OpGraph& graph) {
  for (std::size_t i = 0; i < graph.storages.size(); ++i) {
    const std::int64_t bytes = graph.storages[i].bytes;
    if (bytes < 0 || bytes > kMaxBytes) return at(fmt::format("/storages/{}/bytes", i), "out of range");
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) SOLMARK_CHECK_OK(verify_tensor(graph, i));

  const auto known = [&graph](int id) {
    return id >= 0 && static_cast<std::size_t>(id) < graph.tensors.size();
  };
  // Storages that exist at this point of the program.
  std::set<int> made;
  for (std::size_t i = 0; i < graph.storages.size(); ++i) {
    if (graph.storages[i].role != Role::kIntermediate) made.insert(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const std::string place = fmt::format("/ops/{}", i);
    if (op.op.empty()) return at(place + "/op", "the name is empty");
    SOLMARK_CHECK_OK(verify_counts(op, place));
    for (const int id : tensor_arguments(op)) {
      if (!known(id)) return at(place + "/args", fmt::format("there is no tensor {}", id));
      if (!made.contains(graph.tensor(id).storage)) {
        return at(place + "/args", fmt::format("tensor {} is read before its storage {} is made", id,
                                               graph.tensor(id).storage));
      }
    }
    for (const auto& output : op.outputs) {
      if (!output) continue;
      if (!known(*output)) return at(place + "/outputs", fmt::format("there is no tensor {}", *output));
      made.insert(graph.tensor(*output).storage);
    }
    for (const int id : op.mutates) {
      if (!known(id)) return at(place + "/mutates", fmt::format("there is no tensor {}", id));
      if (!made.contains(graph.tensor(id).storage)) {
        return at(place + "/mutates", fmt::format("tensor {} is written before its storage is made", id));
      }
    }
  }
  std::set<std::string> names;
  const auto verify_bindings = [&](const std::vector<Binding>& bindings, const char* key) -> Status {
    names.clear();
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const std::string place = fmt::format("/{}/{}", key, i);
      if (!names.insert(bindings[i].name).second) return at(place + "/name", "the name is there twice");
      if (!bindings[i].tensor) continue;
      if (!known(*bindings[i].tensor)) return at(place + "/tensor", "there is no such tensor");
      if (!made.contains(graph.tensor(*bindings[i].tensor).storage)) {
        return at(place + "/tensor", "its storage is never made");
      }
    }
    return success();
  };
  SOLMARK_CHECK_OK(verify_bindings(graph.inputs, "inputs"));
  return verify_bindings(graph.outputs, "outputs");
}

}  // namespace solmark::graph
