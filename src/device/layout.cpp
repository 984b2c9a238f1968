#include "device/layout.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace solmark::device {

std::size_t TensorPlacement::elements() const {
  std::size_t n = 1;
  for (std::int64_t d : shape) n *= static_cast<std::size_t>(d);
  return n;
}

Result<Layout> lay_out(const std::vector<problem::TensorSpec>& specs, const problem::AxisValues& axes) {
  Layout out;
  std::size_t at = 0;
  for (const auto& spec : specs) {
    TensorPlacement place;
    place.name = spec.name;
    place.dtype = spec.dtype;
    place.is_scalar = spec.is_scalar();
    if (!place.is_scalar) {
      SOLMARK_TRY(place.shape, problem::resolve_shape(spec, axes));
      SOLMARK_TRY(place.bytes, problem::tensor_bytes(spec.dtype, place.shape));
      place.offset = at;
      at += (place.bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    }
    out.tensors.push_back(std::move(place));
  }
  out.slot_stride = at;
  return out;
}

Json tensors_json(const Layout& layout, int region, std::size_t first_offset, const Json& scalars) {
  Json out = Json::array();
  for (const auto& place : layout.tensors) {
    Json t{{"name", place.name}, {"dtype", std::string(problem::dtype_name(place.dtype))}};
    if (place.is_scalar) {
      t["scalar"] = scalars.value(place.name, Json(nullptr));
    } else {
      t["shape"] = place.shape;
      t["region"] = region;
      t["offset"] = first_offset + place.offset;
      t["slot_stride"] = layout.slot_stride;
    }
    out.push_back(std::move(t));
  }
  return out;
}

Json region_json(const Region& region, int fd_index, Access access) {
  return Json{{"fd", fd_index},
              {"address", region.address()},
              {"bytes", region.bytes()},
              {"access", access == Access::kRead ? "r" : "rw"}};
}

}  // namespace solmark::device
