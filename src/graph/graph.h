// The tensor-op graph of one reference on one workload: storages, tensors as affine views of storages,
// operations in program order, inputs and outputs by name. Plain data; graph_json.h reads it, verify.h checks
// it, passes derive facts from it without changing it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/element.h"

namespace solmark::graph {

enum class Role : std::uint8_t {
  kInput,         // a declared input
  kConstant,      // there before the run, or made from Python values
  kIntermediate,  // made by an operation
};

struct Storage {
  std::int64_t bytes = 0;
  Role role = Role::kIntermediate;
  std::string name;  // of the input
};

struct Dim {
  std::int64_t size = 0;
  std::int64_t stride = 0;  // in elements
  bool operator==(const Dim&) const = default;
};

// Element (i0, i1, …) lies at offset + sum(ik * stridek), in elements of the tensor's own type.
struct Tensor {
  int storage = 0;
  Element element = Element::kFloat32;
  std::int64_t offset = 0;
  std::vector<Dim> dims;
  // Values of a small constant, row-major, when the recorder kept them.
  std::optional<std::vector<double>> values;

  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(dims.size()); }
  [[nodiscard]] std::int64_t size(std::int64_t dim) const { return dims[static_cast<std::size_t>(dim)].size; }
  [[nodiscard]] std::int64_t count() const;  // elements by shape
  // The place of a dim as PyTorch counts: -1 is the last one; nothing when there is no such dim.
  [[nodiscard]] std::optional<std::int64_t> dim_at(std::int64_t dim) const {
    if (dim < -rank() || dim >= rank()) return std::nullopt;
    return dim < 0 ? dim + rank() : dim;
  }
};

struct TensorRef {
  int id = 0;
};
struct Arg;
using ArgList = std::vector<Arg>;
struct NameArg {  // dtype, device, memory format …: named things that are not strings of the operator's
                  // schema
  std::string kind;
  std::string name;
};
struct Arg {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, TensorRef, NameArg, ArgList> value;
};

struct Op {
  std::string op;         // "aten.mm.default"
  std::vector<Arg> args;  // by position in the operator's schema, defaults filled in
  std::vector<std::pair<std::string, Arg>> kwargs;
  std::vector<std::optional<int>> outputs;  // nothing for a result that was not made
  std::vector<int> mutates;

  // "mm" of "aten.mm.default"; the whole name when it is not an aten operator.
  [[nodiscard]] std::string name() const;
};

struct Binding {
  std::string name;
  std::optional<int> tensor;  // nothing: a scalar
};

struct OpGraph {
  std::string definition;
  bool recorded_on_values = false;  // shapes or control flow came from one set of input values
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<Binding> inputs, outputs;
  std::vector<std::string> warnings;

  [[nodiscard]] const Tensor& tensor(int id) const { return tensors[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Storage& storage(int id) const { return storages[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Storage& storage_of(int tensor_id) const { return storage(tensor(tensor_id).storage); }
};

// Argument access; nothing when the argument is absent or of another kind.
[[nodiscard]] const Arg* argument(const Op& op, std::size_t position, const char* keyword = nullptr);
[[nodiscard]] std::optional<int> tensor_argument(const Op& op, std::size_t position,
                                                 const char* keyword = nullptr);
[[nodiscard]] std::optional<std::int64_t> int_argument(const Op& op, std::size_t position,
                                                       const char* keyword = nullptr);
[[nodiscard]] std::optional<double> number_argument(const Op& op, std::size_t position,
                                                    const char* keyword = nullptr);
[[nodiscard]] std::optional<bool> bool_argument(const Op& op, std::size_t position,
                                                const char* keyword = nullptr);
[[nodiscard]] std::optional<std::string> string_argument(const Op& op, std::size_t position,
                                                         const char* keyword = nullptr);
// A list of integers; a lone integer is a list of one.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ints_argument(const Op& op, std::size_t position,
                                                                     const char* keyword = nullptr);
// All tensors among the arguments, in order, lists flattened; a tensor given twice appears twice.
[[nodiscard]] std::vector<int> tensor_arguments(const Op& op);

}  // namespace solmark::graph
