// A Python scalar as the bytes of one element of its declared dtype: what a dlpack candidate finds behind the
// 0-D tensor of a scalar input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "problem/dtype.h"

namespace solmark::worker {

// Nothing for dtypes that no scalar can have (8-bit and 4-bit floats) and for integers that do not fit.
std::optional<std::array<std::byte, 8>> scalar_bytes(problem::Dtype dtype,
                                                     const std::variant<std::int64_t, double, bool>& value);

}  // namespace solmark::worker
