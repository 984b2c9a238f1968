#include <fmt/format.h>

#include <charconv>

#include "problem/definition.h"
#include "problem/suggestion.h"

namespace solmark::problem {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

}  // namespace

Result<std::vector<std::int64_t>> resolve_shape(const TensorSpec& tensor, const AxisValues& axes) {
  std::vector<std::int64_t> out;
  if (!tensor.shape) return out;
  for (const std::string& token : *tensor.shape) {
    std::int64_t dim = 0;
    auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), dim);
    if (code != std::errc() || end != token.data() + token.size()) {
      auto it = axes.find(token);
      if (it == axes.end()) {
        std::vector<std::string> known;
        for (const auto& [name, value] : axes) known.push_back(name);
        return input_error(fmt::format("tensor \"{}\": axis \"{}\" has no value", tensor.name, token), {},
                           suggest_name(token, known));
      }
      dim = it->second;
    }
    if (dim < 0) {
      return input_error(
          fmt::format("tensor \"{}\": dimension \"{}\" is negative: {}", tensor.name, token, dim), {});
    }
    out.push_back(dim);
  }
  if (tensor.dtype == Dtype::kFloat4E2m1) {  // counts values; float4_e2m1fn_x2 counts pairs already
    if (out.empty())
      return input_error(fmt::format("tensor \"{}\": packed fp4 needs a dimension", tensor.name), {});
    if (out.back() % 2 != 0) {
      return input_error(fmt::format("tensor \"{}\": fp4 values need an even last dimension, not {}",
                                     tensor.name, out.back()),
                         {}, "two of them share a byte");
    }
    out.back() /= 2;
  }
  auto bytes = tensor_bytes(tensor.dtype, out);
  if (!bytes.ok()) return bytes.error().in(fmt::format("tensor \"{}\"", tensor.name));
  return out;
}

Result<std::size_t> tensor_bytes(Dtype dtype, const std::vector<std::int64_t>& shape) {
  // A packed dtype's shape already counts bytes.
  auto total = static_cast<std::int64_t>(dtype_is_packed(dtype) ? 1 : dtype_bits(dtype) / 8);
  bool empty = false;
  for (std::int64_t dim : shape) {
    if (dim < 0) return input_error(fmt::format("a dimension is negative: {}", dim), {});
    if (dim == 0) empty = true;
  }
  if (empty) return std::size_t{0};
  for (std::int64_t dim : shape) {
    if (total > kMostBytes / dim)
      return input_error("the shape needs more than 2^62 bytes", {}, "make an axis smaller");
    total *= dim;
  }
  return static_cast<std::size_t>(total);
}

}  // namespace solmark::problem
