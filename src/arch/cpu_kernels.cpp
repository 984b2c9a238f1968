#include "arch/cpu_kernels.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace solmark::arch {
namespace {

constexpr std::size_t kChains = 16;  // more than latency x issue width of any core so far

}  // namespace

#if defined(__x86_64__)
namespace {

__attribute__((target("avx2,fma"))) double fma_fp32_avx2(std::size_t rounds, float* sink) {
  // 12 chains: with the two constants they fit the 16 registers.
  constexpr std::size_t kAvx2Chains = 12;
  __m256 sums[kAvx2Chains];
  for (std::size_t i = 0; i < kAvx2Chains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999999F);
  const __m256 addend = _mm256_set1_ps(1e-6F);
  for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kAvx2Chains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
  }
  __m256 total = sums[0];
  for (std::size_t i = 1; i < kAvx2Chains; ++i) total = _mm256_add_ps(total, sums[i]);
  *sink += _mm256_cvtss_f32(total);
  return static_cast<double>(rounds) * kAvx2Chains * 8 * 2;
}

__attribute__((target("avx2,fma"))) double fma_fp64_avx2(std::size_t rounds, double* sink) {
  constexpr std::size_t kAvx2Chains = 12;
  __m256d sums[kAvx2Chains];
  for (std::size_t i = 0; i < kAvx2Chains; ++i) sums[i] = _mm256_set1_pd(static_cast<double>(i));
  const __m256d factor = _mm256_set1_pd(0.999999);
  const __m256d addend = _mm256_set1_pd(1e-6);
  for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kAvx2Chains; ++i) sums[i] = _mm256_fmadd_pd(sums[i], factor, addend);
  }
  __m256d total = sums[0];
  for (std::size_t i = 1; i < kAvx2Chains; ++i) total = _mm256_add_pd(total, sums[i]);
  *sink += _mm256_cvtsd_f64(total);
  return static_cast<double>(rounds) * kAvx2Chains * 4 * 2;
}

__attribute__((target("avx512f"))) double fma_fp32_avx512(std::size_t rounds, float* sink) {
  __m512 sums[kChains];
  for (std::size_t i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.999999F);
  const __m512 addend = _mm512_set1_ps(1e-6F);
  for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, addend);
  }
  __m512 total = sums[0];
  for (std::size_t i = 1; i < kChains; ++i) total = _mm512_add_ps(total, sums[i]);
  *sink += _mm512_cvtss_f32(total);
  return static_cast<double>(rounds) * kChains * 16 * 2;
}

__attribute__((target("avx512f"))) double fma_fp64_avx512(std::size_t rounds, double* sink) {
  __m512d sums[kChains];
  for (std::size_t i = 0; i < kChains; ++i) sums[i] = _mm512_set1_pd(static_cast<double>(i));
  const __m512d factor = _mm512_set1_pd(0.999999);
  const __m512d addend = _mm512_set1_pd(1e-6);
  for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_pd(sums[i], factor, addend);
  }
  __m512d total = sums[0];
  for (std::size_t i = 1; i < kChains; ++i) total = _mm512_add_pd(total, sums[i]);
  *sink += _mm512_cvtsd_f64(total);
  return static_cast<double>(rounds) * kChains * 8 * 2;
}

__attribute__((target("avx2"))) double read_avx2(const void* from, std::size_t bytes) {
  const auto* at = static_cast<const __m256i*>(from);
  __m256i sums[8] = {};
  for (std::size_t i = 0; i < bytes / 32; i += 8) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < 8; ++j) sums[j] = _mm256_xor_si256(sums[j], _mm256_load_si256(at + i + j));
  }
  for (std::size_t j = 1; j < 8; ++j) sums[0] = _mm256_xor_si256(sums[0], sums[j]);
  return static_cast<double>(_mm256_extract_epi32(sums[0], 0));
}

__attribute__((target("avx2"))) void write_avx2(void* to, std::size_t bytes) {
  auto* at = static_cast<__m256i*>(to);
  const __m256i value = _mm256_set1_epi32(1);
  for (std::size_t i = 0; i < bytes / 32; ++i) _mm256_stream_si256(at + i, value);
  _mm_sfence();
}

__attribute__((target("avx2"))) void copy_avx2(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<__m256i*>(to);
  const auto* in = static_cast<const __m256i*>(from);
  for (std::size_t i = 0; i < bytes / 32; ++i) _mm256_stream_si256(out + i, _mm256_load_si256(in + i));
  _mm_sfence();
}

// The compiler may neither drop nor merge accesses across this.
inline void memory_barrier(const void* at) { __asm__ volatile("" : : "r"(at) : "memory"); }

// Written out, since reduction intrinsics trip a warning of GCC 12.
template <class V, std::size_t kCount>
double sum_of_words(const V (&vectors)[kCount]) {
  constexpr std::size_t kBytes = sizeof vectors;
  unsigned words[kBytes / sizeof(unsigned)];
  std::memcpy(words, vectors, sizeof vectors);
  double sum = 0;
  for (const unsigned word : words) sum += word;
  return sum;
}

__attribute__((target("avx2"))) double load_avx2(const void* from, std::size_t bytes, std::size_t rounds) {
  const auto* at = static_cast<const __m256i*>(from);
  __m256i sums[8] = {};
  for (std::size_t r = 0; r < rounds; ++r) {
    memory_barrier(from);
    for (std::size_t i = 0; i < bytes / 32; i += 8) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < 8; ++j) sums[j] = _mm256_xor_si256(sums[j], _mm256_load_si256(at + i + j));
    }
  }
  return sum_of_words(sums);
}

__attribute__((target("avx512f"))) double load_avx512(const void* from, std::size_t bytes,
                                                      std::size_t rounds) {
  const auto* at = static_cast<const __m512i*>(from);
  __m512i sums[8] = {};
  for (std::size_t r = 0; r < rounds; ++r) {
    memory_barrier(from);
    for (std::size_t i = 0; i < bytes / 64; i += 8) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < 8; ++j) sums[j] = _mm512_xor_si512(sums[j], _mm512_load_si512(at + i + j));
    }
  }
  return sum_of_words(sums);
}

__attribute__((target("avx2"))) void store_avx2(void* to, std::size_t bytes, std::size_t rounds) {
  auto* at = static_cast<__m256i*>(to);
  const __m256i value = _mm256_set1_epi32(1);
  for (std::size_t r = 0; r < rounds; ++r) {
    memory_barrier(to);
    for (std::size_t i = 0; i < bytes / 32; i += 8) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < 8; ++j) _mm256_store_si256(at + i + j, value);
    }
  }
}

__attribute__((target("avx512f"))) void store_avx512(void* to, std::size_t bytes, std::size_t rounds) {
  auto* at = static_cast<__m512i*>(to);
  const __m512i value = _mm512_set1_epi32(1);
  for (std::size_t r = 0; r < rounds; ++r) {
    memory_barrier(to);
    for (std::size_t i = 0; i < bytes / 64; i += 4) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < 4; ++j) _mm512_store_si512(at + i + j, value);
    }
  }
}

__attribute__((target("clflushopt"))) void flush_lines_opt(const void* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  auto* at = static_cast<char*>(const_cast<void*>(from));
  for (std::size_t i = 0; i < bytes; i += kLine) _mm_clflushopt(at + i);
  _mm_sfence();
}

bool has_clflushopt() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

}  // namespace

VectorSet best_vector_set() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") != 0) return VectorSet::kAvx512;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return VectorSet::kAvx2;
  return VectorSet::kGeneric;
}
#else
VectorSet best_vector_set() { return VectorSet::kGeneric; }
#endif

namespace {

// Left to the compiler's own vectors; the multiply and the add may be two instructions.
template <class T>
double fma_generic(std::size_t rounds, T* sink) {
  constexpr std::size_t kLanes = 4;
  T sums[kChains * kLanes];
  for (std::size_t i = 0; i < kChains * kLanes; ++i) sums[i] = static_cast<T>(i);
  for (std::size_t r = 0; r < rounds; ++r) {
    for (T& sum : sums) sum = sum * static_cast<T>(0.999999) + static_cast<T>(1e-6);
  }
  for (const T sum : sums) *sink += sum;
  return static_cast<double>(rounds) * kChains * kLanes * 2;
}

}  // namespace

double run_fma_fp32(VectorSet set, std::size_t rounds, float* sink) {
#if defined(__x86_64__)
  if (set == VectorSet::kAvx512) return fma_fp32_avx512(rounds, sink);
  if (set == VectorSet::kAvx2) return fma_fp32_avx2(rounds, sink);
#endif
  return fma_generic(rounds, sink);
}

double run_fma_fp64(VectorSet set, std::size_t rounds, double* sink) {
#if defined(__x86_64__)
  if (set == VectorSet::kAvx512) return fma_fp64_avx512(rounds, sink);
  if (set == VectorSet::kAvx2) return fma_fp64_avx2(rounds, sink);
#endif
  return fma_generic(rounds, sink);
}

bool flush_lines([[maybe_unused]] const void* from, [[maybe_unused]] std::size_t bytes) {
#if defined(__x86_64__)
  static const bool can = has_clflushopt();
  if (can) flush_lines_opt(from, bytes);
  return can;
#else
  return false;
#endif
}

double stream_read(VectorSet set, const void* from, std::size_t bytes) {
#if defined(__x86_64__)
  if (set != VectorSet::kGeneric) return read_avx2(from, bytes);
#endif
  const auto* at = static_cast<const unsigned long long*>(from);
  unsigned long long sum = 0;
  for (std::size_t i = 0; i < bytes / 8; ++i) sum ^= at[i];
  return static_cast<double>(sum);
}

void stream_write(VectorSet set, void* to, std::size_t bytes) {
#if defined(__x86_64__)
  if (set != VectorSet::kGeneric) return write_avx2(to, bytes);
#endif
  std::memset(to, 1, bytes);
}

void stream_copy(VectorSet set, void* to, const void* from, std::size_t bytes) {
#if defined(__x86_64__)
  if (set != VectorSet::kGeneric) return copy_avx2(to, from, bytes);
#endif
  std::memcpy(to, from, bytes);
}

double load_block(VectorSet set, const void* from, std::size_t bytes, std::size_t rounds) {
#if defined(__x86_64__)
  if (set == VectorSet::kAvx512) return load_avx512(from, bytes, rounds);
  if (set == VectorSet::kAvx2) return load_avx2(from, bytes, rounds);
#endif
  double sum = 0;
  for (std::size_t r = 0; r < rounds; ++r) {
    __asm__ volatile("" : : "r"(from) : "memory");
    sum += stream_read(VectorSet::kGeneric, from, bytes);
  }
  return sum;
}

void store_block(VectorSet set, void* to, std::size_t bytes, std::size_t rounds) {
#if defined(__x86_64__)
  if (set == VectorSet::kAvx512) return store_avx512(to, bytes, rounds);
  if (set == VectorSet::kAvx2) return store_avx2(to, bytes, rounds);
#endif
  for (std::size_t r = 0; r < rounds; ++r) {
    __asm__ volatile("" : : "r"(to) : "memory");
    std::memset(to, 1, bytes);
  }
}

}  // namespace solmark::arch
