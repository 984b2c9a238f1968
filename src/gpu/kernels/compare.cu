// Element comparison in one pass over both sides: the counts of stats::compare_on_cpu, bit for bit. A thread counts
// for itself, a block reduces to one partial result, and a second launch of one block reduces those. Sums of integers
// and maxima do not depend on the order, and of equally bad elements the lowest index is kept: so neither does
// anything here depend on the grid.
#include "gpu/kernels/compare_args.h"
#include "gpu/kernels/elements.cuh"

namespace solmark::gpu {
namespace {

using stats::CompareCounts;
using stats::CompareRule;
using stats::kUlpBuckets;

constexpr unsigned long long kNoIndex = ~0ull;
constexpr int kWarps = kCompareThreads / 32;

// A thread sees fewer than 2^32 values.
struct ThreadCounts {
  unsigned elements = 0, matched = 0;
  unsigned got_nan = 0, got_inf = 0, expected_nan = 0, expected_inf = 0;
  unsigned got_nonzero = 0, expected_nonzero = 0;
  unsigned ulp[kUlpBuckets] = {};
  double max_absolute_error = 0, max_relative_error = 0;
  double worst_score = 0;
  unsigned long long worst_index = kNoIndex;
};

__device__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

__device__ int ulp_bucket(unsigned long long distance) {
  return distance <= 2 ? static_cast<int>(distance)
                       : 3 + (distance > 4) + (distance > 16) + (distance > 256) + (distance > 65536);
}

// __fmul_rn and its kind are never contracted: the tolerance rule is two roundings.
__device__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ double multiply(double a, double b) { return __dmul_rn(a, b); }
__device__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ double add(double a, double b) { return __dadd_rn(a, b); }
__device__ float subtract(float a, float b) { return __fsub_rn(a, b); }
__device__ double subtract(double a, double b) { return __dsub_rn(a, b); }

template <class T>
__device__ bool matches(const CompareArgs& args, T x, T y) {
  const T error = fabs(subtract(x, y));
  const T atol = static_cast<T>(args.atol);
  const T relative = multiply(static_cast<T>(args.rtol), static_cast<T>(fabs(y)));
  if (args.rule == CompareRule::kFlashinfer) return !(error > atol && error > relative);
  return error <= add(atol, relative);
}

__device__ bool is_worse(double score, unsigned long long index, double than_score, unsigned long long than_index) {
  if (index == kNoIndex) return false;
  return than_index == kNoIndex || score > than_score || (score == than_score && index < than_index);
}

template <bool kWide>
__device__ void count(const CompareArgs& args, ThreadCounts& c, const Element& x, const Element& y,
                      unsigned long long index) {
  const double inf = infinity();
  if (args.allow_negative_inf && x.value == -inf && y.value == -inf) return;
  ++c.elements;
  const bool x_nan = isnan(x.value), y_nan = isnan(y.value), x_inf = isinf(x.value), y_inf = isinf(y.value);
  c.got_nan += x_nan;
  c.got_inf += x_inf;
  c.expected_nan += y_nan;
  c.expected_inf += y_inf;
  c.got_nonzero += x.value != 0;
  c.expected_nonzero += y.value != 0;
  double score = inf;
  int bucket = kUlpBuckets - 1;
  if (!(x_nan || y_nan || x_inf || y_inf)) {
    const double error = fabs(subtract(x.value, y.value));
    const double size = fabs(y.value);
    if constexpr (kWide) {
      c.matched += matches<double>(args, x.value, y.value);
    } else {
      c.matched += matches<float>(args, static_cast<float>(x.value), static_cast<float>(y.value));
    }
    c.max_absolute_error = fmax(c.max_absolute_error, error);
    const double scale = fmax(size, args.atol);
    if (error > 0 && scale > 0) c.max_relative_error = fmax(c.max_relative_error, error / scale);
    bucket = ulp_bucket(x.ordinal > y.ordinal
                            ? static_cast<unsigned long long>(x.ordinal) - static_cast<unsigned long long>(y.ordinal)
                            : static_cast<unsigned long long>(y.ordinal) - static_cast<unsigned long long>(x.ordinal));
    score = subtract(error, add(args.atol, multiply(args.rtol, size)));
  }
#pragma unroll
  for (int i = 0; i < kUlpBuckets; ++i) c.ulp[i] += bucket == i;
  // Indices rise within a thread, so that the first of equals stays.
  if (c.worst_index == kNoIndex || score > c.worst_score) {
    c.worst_score = score;
    c.worst_index = index;
  }
}

template <problem::Dtype kDtype>
__device__ void count_raw(const CompareArgs& args, ThreadCounts& c, typename Traits<kDtype>::Raw x,
                          typename Traits<kDtype>::Raw y, unsigned long long raw_index) {
  using T = Traits<kDtype>;
#pragma unroll
  for (int k = 0; k < T::kPerRaw; ++k) {
    count<T::kWide>(args, c, T::decode(x, k), T::decode(y, k), raw_index * T::kPerRaw + k);
  }
}

__device__ unsigned long long sum_of_warp(unsigned long long value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  return value;
}
__device__ double maximum_of_warp(double value) {
  for (int step = 16; step > 0; step /= 2) value = fmax(value, __shfl_down_sync(~0u, value, step));
  return value;
}
__device__ void worst_of_warp(double& score, unsigned long long& index) {
  for (int step = 16; step > 0; step /= 2) {
    const double other_score = __shfl_down_sync(~0u, score, step);
    const unsigned long long other_index = __shfl_down_sync(~0u, index, step);
    if (is_worse(other_score, other_index, score, index)) {
      score = other_score;
      index = other_index;
    }
  }
}

// The sum of two partial results; worst_index is kNoIndex where there is no element.
__device__ void join(CompareCounts& into, const CompareCounts& part) {
  if (is_worse(part.worst_score, part.worst_index, into.worst_score, into.worst_index)) {
    into.worst_score = part.worst_score;
    into.worst_index = part.worst_index;
  }
  into.elements += part.elements;
  into.matched += part.matched;
  into.got_nan += part.got_nan;
  into.got_inf += part.got_inf;
  into.expected_nan += part.expected_nan;
  into.expected_inf += part.expected_inf;
  into.got_nonzero += part.got_nonzero;
  into.expected_nonzero += part.expected_nonzero;
  into.max_absolute_error = fmax(into.max_absolute_error, part.max_absolute_error);
  into.max_relative_error = fmax(into.max_relative_error, part.max_relative_error);
  for (int i = 0; i < kUlpBuckets; ++i) into.ulp[i] += part.ulp[i];
}

// Of all threads of the block, in thread 0. `counts`: ThreadCounts or CompareCounts.
template <class Counts>
__device__ CompareCounts block_total(const Counts& counts) {
  __shared__ CompareCounts of_warp[kWarps];
  CompareCounts total;
  total.elements = sum_of_warp(counts.elements);
  total.matched = sum_of_warp(counts.matched);
  total.got_nan = sum_of_warp(counts.got_nan);
  total.got_inf = sum_of_warp(counts.got_inf);
  total.expected_nan = sum_of_warp(counts.expected_nan);
  total.expected_inf = sum_of_warp(counts.expected_inf);
  total.got_nonzero = sum_of_warp(counts.got_nonzero);
  total.expected_nonzero = sum_of_warp(counts.expected_nonzero);
  for (int i = 0; i < kUlpBuckets; ++i) total.ulp[i] = sum_of_warp(counts.ulp[i]);
  total.max_absolute_error = maximum_of_warp(counts.max_absolute_error);
  total.max_relative_error = maximum_of_warp(counts.max_relative_error);
  total.worst_score = counts.worst_score;
  unsigned long long index = counts.worst_index;
  worst_of_warp(total.worst_score, index);
  total.worst_index = index;
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kWarps; ++warp) join(total, of_warp[warp]);
  }
  return total;
}

// Four elements at a time (two of 8 bytes): enough bytes in flight, and the code stays small.
template <int kBytes>
struct Vector;
template <>
struct Vector<4> {
  using Type = unsigned;
};
template <>
struct Vector<8> {
  using Type = uint2;
};
template <>
struct Vector<16> {
  using Type = uint4;
};

template <problem::Dtype kDtype>
__device__ void compare_part(const CompareArgs& args, CompareCounts* partial) {
  using T = Traits<kDtype>;
  using Raw = typename T::Raw;
  constexpr int kVectorBytes = sizeof(Raw) == 8 ? 16 : 4 * sizeof(Raw);
  constexpr int kRawsPerVector = kVectorBytes / sizeof(Raw);
  using Load = typename Vector<kVectorBytes>::Type;
  const auto* got = static_cast<const Raw*>(args.got);
  const auto* expected = static_cast<const Raw*>(args.expected);
  const unsigned long long raws = args.values / T::kPerRaw;
  const unsigned long long thread = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long threads = gridDim.x * static_cast<unsigned long long>(blockDim.x);
  ThreadCounts c;
  unsigned long long done = 0;
  if (args.vector_loads) {
    const unsigned long long vectors = raws / kRawsPerVector;
    for (unsigned long long v = thread; v < vectors; v += threads) {
      alignas(16) Raw x[kRawsPerVector], y[kRawsPerVector];
      *reinterpret_cast<Load*>(x) = __ldcs(reinterpret_cast<const Load*>(got) + v);
      *reinterpret_cast<Load*>(y) = __ldcs(reinterpret_cast<const Load*>(expected) + v);
#pragma unroll
      for (int i = 0; i < kRawsPerVector; ++i) count_raw<kDtype>(args, c, x[i], y[i], v * kRawsPerVector + i);
    }
    done = vectors * kRawsPerVector;
  }
  for (unsigned long long i = done + thread; i < raws; i += threads) count_raw<kDtype>(args, c, got[i], expected[i], i);
  const CompareCounts total = block_total(c);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

template <problem::Dtype kDtype>
__device__ double value_at(const void* data, unsigned long long index) {
  using T = Traits<kDtype>;
  return T::decode(static_cast<const typename T::Raw*>(data)[index / T::kPerRaw],
                   static_cast<int>(index % T::kPerRaw))
      .value;
}

}  // namespace
}  // namespace solmark::gpu

#define SOLMARK_COMPARE_DTYPES(X) \
  X(kFloat64) X(kFloat32) X(kFloat16) X(kBfloat16) X(kFloat8E4m3fn) X(kFloat8E5m2) X(kFloat4E2m1x2) X(kInt64) X(kInt32) \
      X(kInt16) X(kInt8) X(kUint8)

#define SOLMARK_COMPARE(dtype)                                                                          \
  extern "C" __global__ void __launch_bounds__(solmark::gpu::kCompareThreads)                           \
      solmark_compare_##dtype(solmark::gpu::CompareArgs args, solmark::stats::CompareCounts* partial) { \
    solmark::gpu::compare_part<solmark::problem::Dtype::dtype>(args, partial);                          \
  }
SOLMARK_COMPARE_DTYPES(SOLMARK_COMPARE)

// One block: the partial results of `blocks` blocks, and the two values at the worst index.
extern "C" __global__ void __launch_bounds__(solmark::gpu::kCompareThreads)
    solmark_compare_total(solmark::gpu::CompareArgs args, solmark::problem::Dtype dtype,
                          const solmark::stats::CompareCounts* partial, int blocks,
                          solmark::stats::CompareCounts* out) {
  using namespace solmark::gpu;
  solmark::stats::CompareCounts mine;
  mine.worst_index = kNoIndex;
  for (int b = threadIdx.x; b < blocks; b += blockDim.x) join(mine, partial[b]);
  solmark::stats::CompareCounts total = block_total(mine);
  if (threadIdx.x != 0) return;
  if (total.worst_index == kNoIndex) {
    total.worst_index = 0;
    total.worst_score = -1;
  } else {
    switch (dtype) {
#define SOLMARK_VALUES(name)                                                                                  \
  case solmark::problem::Dtype::name:                                                                         \
    total.worst_got = value_at<solmark::problem::Dtype::name>(args.got, total.worst_index);                   \
    total.worst_expected = value_at<solmark::problem::Dtype::name>(args.expected, total.worst_index);         \
    break;
      SOLMARK_COMPARE_DTYPES(SOLMARK_VALUES)
      default:
        break;
    }
  }
  *out = total;
}
