#include "bound/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace solmark::bound {
namespace {

using arch::Format;
using arch::Pipe;
using graph::Element;

// A way of computing one product: `count` products of `format`.
struct Way {
  Format format;
  double count;
};

// float32 has 24 significant bits; float16 has 11, so two pieces and three of their four products come within
// a bit or two of it. Published kernels do exactly this.
constexpr double kFp16ProductsPerFp32 = 3;
// float64 has 53 bits: products of 106 and more. By residues each int8 product yields at most 8 of them; by
// pieces float16 needs five, hence 15 products.
constexpr double kInt8ProductsPerFp64 = 13;
constexpr double kFp16ProductsPerFp64 = 15;
// Vector instructions multiply-add four int8 pairs in the place of one float32.
constexpr double kInt8PerFp32Lane = 0.25;

std::vector<Way> tensor_ways(Precision precision, const BoundOptions& options) {
  switch (precision) {
    case Precision::kFp64: {
      std::vector<Way> ways = {{Format::kFp64, 1}};
      if (options.emulate_fp64) {
        ways.push_back({Format::kInt8, kInt8ProductsPerFp64});
        ways.push_back({Format::kFp16, kFp16ProductsPerFp64});
      }
      return ways;
    }
    case Precision::kFp32: {
      std::vector<Way> ways = {{Format::kFp64, 1}, {Format::kFp32, 1}};
      if (options.fp32_matmul >= Fp32Matmul::kEmulated) {
        ways.push_back({Format::kFp16, kFp16ProductsPerFp32});
        ways.push_back({Format::kBf16, kFp16ProductsPerFp32});
      }
      if (options.fp32_matmul >= Fp32Matmul::kTf32) ways.push_back({Format::kTf32, 1});
      if (options.fp32_matmul >= Fp32Matmul::kHalf) {
        ways.push_back({Format::kFp16, 1});
        ways.push_back({Format::kBf16, 1});
      }
      return ways;
    }
    case Precision::kHalf:
      return {{Format::kFp16, 1}, {Format::kBf16, 1}, {Format::kTf32, 1}, {Format::kFp64, 1}};
    case Precision::kFp8:
      return {
          {Format::kFp8, 1}, {Format::kFp16, 1}, {Format::kBf16, 1}, {Format::kTf32, 1}, {Format::kFp64, 1}};
    case Precision::kInt8:
      return {{Format::kInt8, 1}, {Format::kFp8, 1},  {Format::kFp16, 1},
              {Format::kBf16, 1}, {Format::kTf32, 1}, {Format::kFp64, 1}};
    case Precision::kFp4:
      return {{Format::kFp4, 1},  {Format::kFp6, 1},  {Format::kFp8, 1},  {Format::kInt8, 1},
              {Format::kFp16, 1}, {Format::kBf16, 1}, {Format::kTf32, 1}, {Format::kFp64, 1}};
  }
  return {};
}

std::vector<Way> vector_ways(Precision precision, const BoundOptions& options) {
  std::vector<Way> ways = {{Format::kFp64, 1}};
  if (precision == Precision::kFp64) return ways;
  ways.push_back({Format::kFp32, 1});
  if (precision == Precision::kFp32) {
    if (options.fp32_matmul >= Fp32Matmul::kEmulated) {
      ways.push_back({Format::kFp16, kFp16ProductsPerFp32});
      ways.push_back({Format::kBf16, kFp16ProductsPerFp32});
    }
    if (options.fp32_matmul >= Fp32Matmul::kHalf) {
      ways.push_back({Format::kFp16, 1});
      ways.push_back({Format::kBf16, 1});
    }
    return ways;
  }
  ways.push_back({Format::kFp16, 1});
  ways.push_back({Format::kBf16, 1});
  if (precision == Precision::kInt8 || precision == Precision::kFp4) {
    ways.push_back({Format::kInt8, 1});
    ways.push_back({Format::kFp32, kInt8PerFp32Lane});
  }
  return ways;
}

// A cpu's vector units take all formats in turn.
Resource resource_of(const arch::Arch& arch, Pipe pipe, Format format) {
  if (arch.kind == arch::Kind::kCpu) return Resource::kVector;
  if (pipe == Pipe::kTensor) return format == Format::kFp64 ? Resource::kTensorFp64 : Resource::kTensor;
  return format == Format::kFp64 ? Resource::kVectorFp64 : Resource::kVector;
}

}  // namespace

const char* precision_name(Precision precision) {
  constexpr std::array<const char*, 6> kNames = {"fp64", "fp32", "half", "fp8", "int8", "fp4"};
  return kNames[static_cast<std::size_t>(precision)];
}

const char* resource_name(Resource resource) {
  constexpr std::array<const char*, 4> kNames = {"tensor", "tensor-fp64", "vector", "vector-fp64"};
  return kNames[static_cast<std::size_t>(resource)];
}

std::optional<Precision> product_precision(Element a, Element b) {
  const auto of = [](Element element) -> std::optional<Precision> {
    switch (element) {
      case Element::kFloat64:
        return Precision::kFp64;
      case Element::kFloat32:
        return Precision::kFp32;
      case Element::kFloat16:
      case Element::kBfloat16:
        return Precision::kHalf;
      case Element::kFloat8E4m3fn:
      case Element::kFloat8E4m3fnuz:
      case Element::kFloat8E5m2:
      case Element::kFloat8E5m2fnuz:
      case Element::kFloat8E8m0fnu:
        return Precision::kFp8;
      case Element::kFloat4E2m1fnX2:
        return Precision::kFp4;
      case Element::kInt8:
      case Element::kUint8:
      case Element::kBool:
        return Precision::kInt8;
      default:
        return std::nullopt;
    }
  };
  const auto first = of(a);
  const auto second = of(b);
  if (!first || !second) return std::nullopt;
  // fp8 times int8: small integers are fp8 numbers too, and fp8 is the wider of the two where both pipes
  // exist.
  return std::min(*first, *second);
}

std::vector<Method> methods_for(Precision precision, const arch::Arch& arch, const BoundOptions& options) {
  // A cpu's file names the formats that it has fast instructions for; when 16-bit or 8-bit ones are left out,
  // nothing is known about them.
  if (arch.kind == arch::Kind::kCpu) {
    const bool narrow = precision != Precision::kFp64;
    const bool integer = precision == Precision::kInt8 || precision == Precision::kFp4;
    if (narrow && (!arch.vector.contains(Format::kBf16) || !arch.vector.contains(Format::kFp16))) return {};
    if (integer && !arch.vector.contains(Format::kInt8)) return {};
  }
  std::vector<Method> methods;
  const auto add = [&](Pipe pipe, const std::vector<Way>& ways) {
    for (const auto& way : ways) {
      const auto peak = arch::peak_flop_per_s(arch, pipe, way.format, options.clock);
      if (!peak) continue;
      methods.push_back(
          {resource_of(arch, pipe, way.format), 2 * way.count / peak->per_s,
           fmt::format("{:g} x {} on {} at {:.4g} FLOP/s ({})", way.count, format_name(way.format),
                       pipe_name(pipe), peak->per_s, peak->arithmetic)});
    }
  };
  add(Pipe::kTensor, tensor_ways(precision, options));
  add(Pipe::kVector, vector_ways(precision, options));
  return methods;
}

}  // namespace solmark::bound
