// The operator's contract: axes, inputs, outputs and the PyTorch reference (SOL-ExecBench / FlashInfer-Trace
// schema).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/dtype.h"

namespace solmark::problem {

struct Axis {
  enum class Kind { kConst, kVar, kExpression };
  std::string name;
  Kind kind = Kind::kVar;
  std::int64_t value = 0;  // kConst
  std::string expression;  // kExpression
};

struct TensorSpec {
  std::string name;
  std::optional<std::vector<std::string>> shape;  // axis names or digit strings; nullopt: a Python scalar
  Dtype dtype = Dtype::kFloat32;
  std::string description;
  [[nodiscard]] bool is_scalar() const { return !shape.has_value(); }
};

struct Definition {
  std::string name;
  std::string op_type;
  std::string description;
  std::optional<std::string> hf_id;
  std::vector<Axis> axes;          // document order
  std::vector<TensorSpec> inputs;  // document order = argument order
  std::vector<TensorSpec> outputs;
  std::string reference;                 // Python source with a top-level `run`
  std::string custom_inputs_entrypoint;  // empty: none
  std::vector<std::string> constraints;  // Python-style comparisons over axes
  std::filesystem::path file;
};

// All axis values of one workload: constants, the workload's, and evaluated expressions. Document order.
using AxisValues = std::map<std::string, std::int64_t>;

// A definition and what the reader wants the user to know (unknown keys, once each).
struct LoadedDefinition {
  Definition definition;
  std::vector<std::string> warnings;
};
Result<LoadedDefinition> load_definition(const std::filesystem::path& file);
Result<LoadedDefinition> decode_definition(std::string_view text, const std::string& source);

// The dimensions of a tensor for these axes; those of fp4 tensors count pairs.
Result<std::vector<std::int64_t>> resolve_shape(const TensorSpec& tensor, const AxisValues& axes);
// Bytes of a contiguous tensor of this resolved shape; an Error when it overflows 2^62.
Result<std::size_t> tensor_bytes(Dtype dtype, const std::vector<std::int64_t>& shape);

}  // namespace solmark::problem
