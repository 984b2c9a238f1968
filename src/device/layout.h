// Where the tensors of a workload lie: offsets in regions, the same for every slot save a stride. Also the
// JSON that names regions and tensors in messages to children (docs/architecture.md, "Memory").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "device/device.h"
#include "problem/definition.h"

namespace solmark::device {

inline constexpr std::size_t kTensorAlignment = 256;

struct TensorPlacement {
  std::string name;
  problem::Dtype dtype = problem::Dtype::kFloat32;
  std::vector<std::int64_t> shape;  // packed shape
  bool is_scalar = false;           // a Python scalar: has no place
  std::size_t bytes = 0;            // contiguous
  std::size_t offset = 0;           // in slot 0
  [[nodiscard]] std::size_t elements() const;
};

// A group of tensors laid out one after the other, repeated `slot_stride` apart.
struct Layout {
  std::vector<TensorPlacement> tensors;
  std::size_t slot_stride = 0;  // multiple of kTensorAlignment; 0 when there is nothing to place
};

// Places the tensors of `specs` for these axes. Scalars get no memory.
Result<Layout> lay_out(const std::vector<problem::TensorSpec>& specs, const problem::AxisValues& axes);

// {"name","dtype","shape","region","offset","slot_stride"} for each tensor; scalars take their value from
// `scalars` (name -> JSON) and become {"name","dtype","scalar"}.
Json tensors_json(const Layout& layout, int region, std::size_t first_offset, const Json& scalars);
// {"fd","address","bytes","access"}
Json region_json(const Region& region, int fd_index, Access access);

}  // namespace solmark::device
