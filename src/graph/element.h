// Element types that may occur inside a recorded reference: all of PyTorch's, which is more than a Definition
// may declare (complex intermediates, block scales, unsigned integers).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace solmark::graph {

enum class Element : std::uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kFloat8E4m3fn,
  kFloat8E4m3fnuz,
  kFloat8E5m2,
  kFloat8E5m2fnuz,
  kFloat8E8m0fnu,
  kFloat4E2m1fnX2,
  kComplex128,
  kComplex64,
  kComplex32,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint64,
  kUint32,
  kUint16,
  kUint8,
  kBool,
};

enum class ElementClass : std::uint8_t { kFloat, kComplex, kInteger, kBool };

std::optional<Element> element_from_name(std::string_view name);
std::string_view element_name(Element element);
// Bytes of one stored element; kFloat4E2m1fnX2 stores two values in its one byte.
std::int64_t element_bytes(Element element);
ElementClass element_class(Element element);

}  // namespace solmark::graph
