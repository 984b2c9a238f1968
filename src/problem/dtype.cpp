#include "problem/dtype.h"

#include <array>

namespace solmark::problem {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  std::size_t bits;
  bool is_float;
};
constexpr std::array kRows = {
    Row{Dtype::kFloat64, "float64", 64, true},
    Row{Dtype::kFloat32, "float32", 32, true},
    Row{Dtype::kFloat16, "float16", 16, true},
    Row{Dtype::kBfloat16, "bfloat16", 16, true},
    Row{Dtype::kFloat8E4m3fn, "float8_e4m3fn", 8, true},
    Row{Dtype::kFloat8E5m2, "float8_e5m2", 8, true},
    Row{Dtype::kFloat4E2m1, "float4_e2m1", 4, true},
    Row{Dtype::kFloat4E2m1x2, "float4_e2m1fn_x2", 4, true},
    Row{Dtype::kInt64, "int64", 64, false},
    Row{Dtype::kInt32, "int32", 32, false},
    Row{Dtype::kInt16, "int16", 16, false},
    Row{Dtype::kInt8, "int8", 8, false},
    Row{Dtype::kUint8, "uint8", 8, false},
    Row{Dtype::kBool, "bool", 8, false},
};
const Row& row(Dtype dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const Row& r : kRows) {
    if (r.name == name) return r.dtype;
  }
  return std::nullopt;
}
std::string_view dtype_name(Dtype dtype) { return row(dtype).name; }
std::size_t dtype_bits(Dtype dtype) { return row(dtype).bits; }
bool dtype_is_float(Dtype dtype) { return row(dtype).is_float; }
bool dtype_is_packed(Dtype dtype) { return row(dtype).bits == 4; }

}  // namespace solmark::problem
