#include "worker/request.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace solmark::worker {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

Error broken(const std::string& what) { return machine_error("request " + what); }

Result<const Json*> member(const Json& body, const char* key) {
  auto found = body.find(key);
  if (found == body.end()) return broken(fmt::format("has no member `{}`", key));
  return &*found;
}

Result<std::uint64_t> unsigned_member(const Json& body, const char* key) {
  SOLMARK_TRY(const Json* value, member(body, key));
  if (!value->is_number_integer() || (!value->is_number_unsigned() && value->get<std::int64_t>() < 0)) {
    return broken(fmt::format("member `{}` is not a non-negative integer", key));
  }
  std::uint64_t number = value->get<std::uint64_t>();
  if (number > kMost) return broken(fmt::format("member `{}` is too large", key));
  return number;
}

Result<std::string> text_member(const Json& body, const char* key) {
  SOLMARK_TRY(const Json* value, member(body, key));
  if (!value->is_string()) return broken(fmt::format("member `{}` is not a string", key));
  return value->get<std::string>();
}

Result<const Json*> list_member(const Json& body, const char* key) {
  SOLMARK_TRY(const Json* value, member(body, key));
  if (!value->is_array()) return broken(fmt::format("member `{}` is not a list", key));
  for (const Json& item : *value) {
    if (!item.is_object()) return broken(fmt::format("member `{}` holds something that is no object", key));
  }
  return value;
}

Result<BoundRegion> decode_region(const Json& body, std::vector<Fd>& descriptors) {
  BoundRegion out;
  SOLMARK_TRY(std::uint64_t index, unsigned_member(body, "fd"));
  SOLMARK_TRY(out.address, unsigned_member(body, "address"));
  SOLMARK_TRY(out.bytes, unsigned_member(body, "bytes"));
  SOLMARK_TRY(std::string access, text_member(body, "access"));
  if (access != "r" && access != "rw") return broken("has a region whose access is neither `r` nor `rw`");
  out.writable = access == "rw";
  if (index >= descriptors.size() || !descriptors[index].valid()) {
    return broken(fmt::format("names descriptor {}, which did not come or is taken", index));
  }
  out.fd = std::move(descriptors[index]);
  return out;
}

Result<std::size_t> count_bytes(const BoundTensor& tensor) {
  // A packed tensor's shape counts bytes, whatever the bits of one of its elements.
  std::uint64_t bytes = problem::dtype_is_packed(tensor.dtype) ? 1 : problem::dtype_bits(tensor.dtype) / 8;
  for (std::int64_t dimension : tensor.shape) {
    if (dimension != 0 && bytes > kMost / static_cast<std::uint64_t>(dimension)) {
      return broken(fmt::format("tensor `{}` is too large", tensor.name));
    }
    bytes *= static_cast<std::uint64_t>(dimension);
  }
  return bytes;
}

Status decode_scalar(const Json& value, BoundTensor& out) {
  if (value.is_boolean()) {
    out.scalar = value.get<bool>();
  } else if (value.is_number_unsigned() &&
             value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return broken(fmt::format("scalar `{}` is too large", out.name));
  } else if (value.is_number_integer()) {
    out.scalar = value.get<std::int64_t>();
  } else if (value.is_number()) {
    out.scalar = value.get<double>();
  } else {
    return broken(fmt::format("scalar `{}` is neither a number nor a boolean", out.name));
  }
  return success();
}

Result<BoundTensor> decode_tensor(const Json& body, const Binding& binding) {
  BoundTensor out;
  SOLMARK_TRY(out.name, text_member(body, "name"));
  SOLMARK_TRY(std::string dtype, text_member(body, "dtype"));
  auto known = problem::dtype_from_name(dtype);
  if (!known) return broken(fmt::format("tensor `{}` has the unknown dtype `{}`", out.name, dtype));
  out.dtype = *known;
  if (auto scalar = body.find("scalar"); scalar != body.end()) {
    SOLMARK_CHECK_OK(decode_scalar(*scalar, out));
    return out;
  }
  SOLMARK_TRY(const Json* shape, member(body, "shape"));
  if (!shape->is_array()) return broken(fmt::format("tensor `{}` has no list as its shape", out.name));
  for (const Json& dimension : *shape) {
    if (!dimension.is_number_integer() || dimension.get<std::int64_t>() < 0) {
      return broken(fmt::format("tensor `{}` has a dimension that is not a non-negative integer", out.name));
    }
    out.shape.push_back(dimension.get<std::int64_t>());
  }
  SOLMARK_TRY(out.region, unsigned_member(body, "region"));
  SOLMARK_TRY(out.offset, unsigned_member(body, "offset"));
  SOLMARK_TRY(out.slot_stride, unsigned_member(body, "slot_stride"));
  SOLMARK_TRY(out.bytes, count_bytes(out));
  if (out.region >= binding.regions.size())
    return broken(fmt::format("tensor `{}` names no region", out.name));
  if (out.offset % kAlignment != 0 || out.slot_stride % kAlignment != 0) {
    return broken(fmt::format("tensor `{}` is not aligned to {} bytes", out.name, kAlignment));
  }
  std::size_t room = binding.regions[out.region].bytes;
  auto steps = static_cast<std::uint64_t>(binding.slots - 1);
  if (out.bytes > room || out.offset > room - out.bytes ||
      (steps != 0 && out.slot_stride > (room - out.bytes - out.offset) / steps)) {
    return broken(fmt::format("tensor `{}` does not lie inside its region in every slot", out.name));
  }
  return out;
}

}  // namespace

Result<std::int64_t> decode_count(const Json& body, const char* key) {
  SOLMARK_TRY(std::uint64_t value, unsigned_member(body, key));
  return static_cast<std::int64_t>(value);
}

Result<LoadRequest> decode_load(const Json& body) {
  LoadRequest out;
  SOLMARK_TRY(std::string device, text_member(body, "device"));
  SOLMARK_TRY(const Json* artefact, member(body, "artefact"));
  if (!artefact->is_object()) return broken("member `artefact` is not an object");
  for (const char* key : {"kind", "path", "entry"}) {
    SOLMARK_CHECK_OK(text_member(*artefact, key));
  }
  SOLMARK_TRY(const Json* style, member(*artefact, "destination_passing"));
  if (!style->is_boolean()) return broken("member `destination_passing` is not a boolean");
  if (device == "cpu") return out;
  out.cuda = device.starts_with("cuda");
  std::string index = device.size() > 5 ? device.substr(5) : "0";
  bool digits =
      !index.empty() && index.size() < 4 && index.find_first_not_of("0123456789") == std::string::npos;
  if (!out.cuda || !digits || (device.size() > 4 && device[4] != ':')) {
    return broken(fmt::format("names the device `{}`, which is neither `cpu` nor `cuda:N`", device));
  }
  out.open.device_index = std::stoi(index);
  SOLMARK_TRY(const Json* window, member(body, "window"));
  if (!window->is_object()) return broken("member `window` is not an object");
  SOLMARK_TRY(out.open.window_base, unsigned_member(*window, "base"));
  SOLMARK_TRY(out.open.window_bytes, unsigned_member(*window, "bytes"));
  if (auto sealing = body.find("sealing"); sealing != body.end()) {
    if (!sealing->is_boolean()) return broken("member `sealing` is not a boolean");
    out.open.sealing = sealing->get<bool>();
  }
  return out;
}

Result<Binding> decode_bind(const Json& body, std::vector<Fd>& descriptors) {
  Binding out;
  SOLMARK_TRY(out.slots, decode_count(body, "slots"));
  if (out.slots == 0) return broken("binds no slots");
  SOLMARK_TRY(const Json* axes, member(body, "axes"));
  if (!axes->is_object()) return broken("member `axes` is not an object");
  SOLMARK_TRY(const Json* regions, list_member(body, "regions"));
  for (const Json& region : *regions) {
    SOLMARK_TRY(BoundRegion decoded, decode_region(region, descriptors));
    out.regions.push_back(std::move(decoded));
  }
  for (const Fd& left : descriptors) {
    if (left.valid()) return broken("came with a descriptor that no region names");
  }
  SOLMARK_TRY(const Json* inputs, list_member(body, "inputs"));
  for (const Json& tensor : *inputs) {
    SOLMARK_TRY(BoundTensor decoded, decode_tensor(tensor, out));
    out.inputs.push_back(std::move(decoded));
  }
  SOLMARK_TRY(const Json* outputs, list_member(body, "outputs"));
  for (const Json& tensor : *outputs) {
    SOLMARK_TRY(BoundTensor decoded, decode_tensor(tensor, out));
    if (decoded.scalar) return broken(fmt::format("output `{}` is a scalar", decoded.name));
    if (!out.regions[decoded.region].writable) {
      return broken(fmt::format("output `{}` lies in a read-only region", decoded.name));
    }
    out.outputs.push_back(std::move(decoded));
  }
  return out;
}

}  // namespace solmark::worker
