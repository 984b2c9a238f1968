#include "graph/element.h"

#include <array>

namespace solmark::graph {
namespace {

struct Row {
  std::string_view name;
  std::int64_t bytes;
  ElementClass element_class;
};

// In the order of the enumerators.
constexpr std::array<Row, 22> kRows = {
    {{"float64", 8, ElementClass::kFloat},        {"float32", 4, ElementClass::kFloat},
     {"float16", 2, ElementClass::kFloat},        {"bfloat16", 2, ElementClass::kFloat},
     {"float8_e4m3fn", 1, ElementClass::kFloat},  {"float8_e4m3fnuz", 1, ElementClass::kFloat},
     {"float8_e5m2", 1, ElementClass::kFloat},    {"float8_e5m2fnuz", 1, ElementClass::kFloat},
     {"float8_e8m0fnu", 1, ElementClass::kFloat}, {"float4_e2m1fn_x2", 1, ElementClass::kFloat},
     {"complex128", 16, ElementClass::kComplex},  {"complex64", 8, ElementClass::kComplex},
     {"complex32", 4, ElementClass::kComplex},    {"int64", 8, ElementClass::kInteger},
     {"int32", 4, ElementClass::kInteger},        {"int16", 2, ElementClass::kInteger},
     {"int8", 1, ElementClass::kInteger},         {"uint64", 8, ElementClass::kInteger},
     {"uint32", 4, ElementClass::kInteger},       {"uint16", 2, ElementClass::kInteger},
     {"uint8", 1, ElementClass::kInteger},        {"bool", 1, ElementClass::kBool}}};

const Row& row(Element element) { return kRows[static_cast<std::size_t>(element)]; }

}  // namespace

std::optional<Element> element_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<Element>(i);
  }
  return std::nullopt;
}
std::string_view element_name(Element element) { return row(element).name; }
std::int64_t element_bytes(Element element) { return row(element).bytes; }
ElementClass element_class(Element element) { return row(element).element_class; }

}  // namespace solmark::graph
