// Element types of SOL-ExecBench and FlashInfer-Trace definitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace solmark::problem {

enum class Dtype : std::uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kFloat8E4m3fn,
  kFloat8E5m2,
  // Both lie in memory as pairs, one a byte, the even index in the low nibble. In a definition's shape
  // float4_e2m1 counts values; float4_e2m1fn_x2 counts pairs, as PyTorch does and as SOL-ExecBench's problems
  // are written.
  kFloat4E2m1,    // "float4_e2m1"
  kFloat4E2m1x2,  // "float4_e2m1fn_x2"
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kBool,
};

std::optional<Dtype> dtype_from_name(std::string_view name);
std::string_view dtype_name(Dtype dtype);
// Storage of n elements in bytes; packed types round up.
std::size_t dtype_bits(Dtype dtype);
bool dtype_is_float(Dtype dtype);
bool dtype_is_packed(Dtype dtype);

}  // namespace solmark::problem
