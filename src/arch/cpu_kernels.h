// Kernels that run at a processor's ceilings: independent chains of multiply-adds in registers, and streaming
// reads, writes and copies. Each is compiled for AVX2+FMA and AVX-512 and picked at run time.
#pragma once

#include <cstddef>

namespace solmark::arch {

enum class VectorSet { kGeneric, kAvx2, kAvx512 };
VectorSet best_vector_set();

// `rounds` times 16 independent vector multiply-adds; returns the FLOP done. `sink` keeps the work alive.
double run_fma_fp32(VectorSet set, std::size_t rounds, float* sink);
double run_fma_fp64(VectorSet set, std::size_t rounds, double* sink);

// Writes the lines back and drops them from all caches; false where this processor has no instruction that
// does so fast (nothing was done).
[[nodiscard]] bool flush_lines(const void* from, std::size_t bytes);

// Over `bytes` (a multiple of 256) of 64-byte aligned memory.
double stream_read(VectorSet set, const void* from, std::size_t bytes);  // a sum, to keep the reads alive
void stream_write(VectorSet set, void* to, std::size_t bytes);           // past the caches
// Over and over, `rounds` times, a block that the nearest cache holds.
double load_block(VectorSet set, const void* from, std::size_t bytes, std::size_t rounds);
void store_block(VectorSet set, void* to, std::size_t bytes, std::size_t rounds);
void stream_copy(VectorSet set, void* to, const void* from, std::size_t bytes);

}  // namespace solmark::arch
