#include "gpu/check/random_pair.h"

#include <random>

namespace solmark::gpu::check {
namespace {

using problem::Dtype;

// The two highest bytes of +infinity; 0 for types that have none.
std::uint16_t top_of_infinity(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return 0x7ff0;
    case Dtype::kFloat32:
    case Dtype::kBfloat16:
      return 0x7f80;
    case Dtype::kFloat16:
    case Dtype::kFloat8E5m2:
      return 0x7c00;
    default:
      return 0;
  }
}

void set_infinity(std::uint8_t* element, std::size_t size, std::uint16_t top, bool negative) {
  for (std::size_t b = 0; b < size; ++b) element[b] = 0;
  element[size - 1] = static_cast<std::uint8_t>((top >> 8U) | (negative ? 0x80U : 0U));
  if (size > 1) element[size - 2] = static_cast<std::uint8_t>(top & 0xffU);
}

}  // namespace

RandomPair random_pair(Dtype dtype, std::size_t elements, std::uint64_t seed) {
  const std::size_t size = problem::dtype_is_packed(dtype) ? 1 : problem::dtype_bits(dtype) / 8;
  const std::uint16_t infinity = top_of_infinity(dtype);
  std::mt19937_64 random(seed);
  RandomPair out;
  // Random bits hold every exponent of a float.
  out.expected.resize(elements * size);
  for (std::uint8_t& byte : out.expected) byte = static_cast<std::uint8_t>(random());
  out.got = out.expected;
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint8_t* x = out.got.data() + i * size;
    std::uint8_t* y = out.expected.data() + i * size;
    std::uint8_t& upper = x[size > 1 ? size - 2 : 0];
    switch (random() % 10) {
      case 0:  // a neighbour: the lowest bits of a little-endian number
        x[0] = static_cast<std::uint8_t>(x[0] ^ (random() % 4));
        break;
      case 1:  // an error of some percent
        upper = static_cast<std::uint8_t>(upper ^ (random() % 2));
        break;
      case 2:  // the other sign
        x[size - 1] = static_cast<std::uint8_t>(x[size - 1] ^ 0x80U);
        break;
      case 3:  // something else altogether
        for (std::size_t b = 0; b < size; ++b) x[b] = static_cast<std::uint8_t>(random());
        break;
      case 4:  // zeros, one of which may have a sign
        for (std::size_t b = 0; b < size; ++b) x[b] = y[b] = 0;
        if (random() % 2 == 0) x[size - 1] = 0x80U;
        break;
      case 5:  // all ones: NaN, or the last integer
        for (std::size_t b = 0; b < size; ++b) x[b] = y[b] = 0xffU;
        if (random() % 2 == 0) y[size - 1] = 0;
        break;
      case 6:  // infinities of the same or of different signs
        if (infinity != 0) {
          set_infinity(x, size, infinity, random() % 2 == 0);
          if (random() % 4 != 0) set_infinity(y, size, infinity, random() % 2 == 0);
        }
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace solmark::gpu::check
