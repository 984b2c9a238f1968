// Elements of every dtype as a double and as an ordinal whose differences are distances in units in the last place:
// the device's side of stats/compare.cpp, which decides what each of them means.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "problem/dtype.h"

namespace solmark::gpu {

struct Element {
  double value;
  long long ordinal;
};

// Sign and magnitude to an ordinal; -0 and +0 are the same.
template <int kWidth>
__device__ long long ordinal_of(unsigned long long bits) {
  constexpr unsigned long long kSign = 1ull << (kWidth - 1);
  const auto magnitude = static_cast<long long>(bits & (kSign - 1));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

// e2m1: sign, then 0 0.5 1 1.5 2 3 4 6.
__device__ inline double value_of_e2m1(unsigned bits) {
  const unsigned magnitude = bits & 7u;
  const unsigned exponent = magnitude >> 1;
  const double mantissa = (magnitude & 1u) * 0.5;
  const double value = exponent == 0 ? mantissa : (1.0 + mantissa) * (1u << (exponent - 1));
  return (bits & 8u) != 0 ? -value : value;
}

// Raw: the storage type of one element; kPerRaw: how many values it holds. decode(raw, k): its k-th value.
template <problem::Dtype kDtype>
struct Traits;

#define SOLMARK_FLOAT(dtype, raw_type, expression, width)                            \
  template <>                                                                        \
  struct Traits<problem::Dtype::dtype> {                                             \
    using Raw = raw_type;                                                            \
    static constexpr int kPerRaw = 1;                                                \
    static constexpr bool kWide = width == 64;                                       \
    static __device__ Element decode(Raw raw, int) {                                 \
      return {static_cast<double>(expression), ordinal_of<width>(raw)};              \
    }                                                                                \
  };
#define SOLMARK_INTEGER(dtype, raw_type)                                             \
  template <>                                                                        \
  struct Traits<problem::Dtype::dtype> {                                             \
    using Raw = raw_type;                                                            \
    static constexpr int kPerRaw = 1;                                                \
    static constexpr bool kWide = true;                                              \
    static __device__ Element decode(Raw raw, int) {                                 \
      return {static_cast<double>(raw), static_cast<long long>(raw)};                \
    }                                                                                \
  };
#define SOLMARK_PACKED(dtype)                                                        \
  template <>                                                                        \
  struct Traits<problem::Dtype::dtype> {                                             \
    using Raw = std::uint8_t;                                                        \
    static constexpr int kPerRaw = 2;                                                \
    static constexpr bool kWide = false;                                             \
    static __device__ Element decode(Raw raw, int k) {                               \
      const unsigned bits = (k == 0 ? raw : raw >> 4) & 0xfu;                        \
      return {value_of_e2m1(bits), ordinal_of<4>(bits)};                             \
    }                                                                                \
  };

SOLMARK_FLOAT(kFloat64, unsigned long long, __longlong_as_double(static_cast<long long>(raw)), 64)
SOLMARK_FLOAT(kFloat32, unsigned, __uint_as_float(raw), 32)
SOLMARK_FLOAT(kFloat16, unsigned short, __half2float(__ushort_as_half(raw)), 16)
SOLMARK_FLOAT(kBfloat16, unsigned short, __uint_as_float(static_cast<unsigned>(raw) << 16), 16)
SOLMARK_FLOAT(kFloat8E4m3fn, std::uint8_t, __half2float(__half(__nv_cvt_fp8_to_halfraw(raw, __NV_E4M3))), 8)
SOLMARK_FLOAT(kFloat8E5m2, std::uint8_t, __half2float(__half(__nv_cvt_fp8_to_halfraw(raw, __NV_E5M2))), 8)
SOLMARK_PACKED(kFloat4E2m1)
SOLMARK_PACKED(kFloat4E2m1x2)
SOLMARK_INTEGER(kInt64, long long)
SOLMARK_INTEGER(kInt32, int)
SOLMARK_INTEGER(kInt16, short)
SOLMARK_INTEGER(kInt8, signed char)
SOLMARK_INTEGER(kUint8, unsigned char)
SOLMARK_INTEGER(kBool, unsigned char)

#undef SOLMARK_FLOAT
#undef SOLMARK_INTEGER
#undef SOLMARK_PACKED

}  // namespace solmark::gpu
