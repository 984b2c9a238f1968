// Which pipe may do a multiply of which precision, and at what rate: the substitution methods of the resource
// programme. The list is generous on purpose: a bound holds only if every real way of computing is in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/arch.h"
#include "bound/bound.h"
#include "graph/element.h"

namespace solmark::bound {

enum class Precision { kFp64, kFp32, kHalf, kFp8, kInt8, kFp4 };

[[nodiscard]] const char* precision_name(Precision precision);
// Precision of products of numbers that two operands hold (after narrowing); nothing for complex and wide
// integers.
[[nodiscard]] std::optional<Precision> product_precision(graph::Element a, graph::Element b);

// Pipes that run side by side. The tensor pipe serves all formats but fp64, which has hardware of its own, as
// have fp64 vector instructions.
enum class Resource { kTensor, kTensorFp64, kVector, kVectorFp64 };
inline constexpr int kResources = 4;
[[nodiscard]] const char* resource_name(Resource resource);

struct Method {
  Resource resource = Resource::kVector;
  double seconds_per_multiply = 0;
  std::string arithmetic;  // "1 x fp16 on tensor at 1.07e+15 FLOP/s (…)"
};
// Empty when the arch does not say enough for a ceiling.
[[nodiscard]] std::vector<Method> methods_for(Precision precision, const arch::Arch& arch,
                                              const BoundOptions& options);

}  // namespace solmark::bound
