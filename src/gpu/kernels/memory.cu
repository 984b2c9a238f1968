// The judge's kernels on plain bytes: reading a buffer to displace what the last-level cache holds, asking whether
// ranges are equal, and dealing pieces of one buffer out to another.
#include <cstdint>

#include "gpu/kernels/memory_args.h"

namespace {

// Whether any byte differs among those that `thread` of `threads` looks at. The part that both pointers allow is read
// 16 bytes at a time.
__device__ bool differs(const unsigned char* a, const unsigned char* b, unsigned long long bytes, bool vector_loads,
                        unsigned long long thread, unsigned long long threads) {
  bool found = false;
  unsigned long long done = 0;
  if (vector_loads) {
    const unsigned long long vectors = bytes / 16;
    for (unsigned long long v = thread; v < vectors; v += threads) {
      const uint4 x = __ldcs(reinterpret_cast<const uint4*>(a) + v);
      const uint4 y = __ldcs(reinterpret_cast<const uint4*>(b) + v);
      found |= x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w;
    }
    done = vectors * 16;
  }
  for (unsigned long long i = done + thread; i < bytes; i += threads) found |= a[i] != b[i];
  return found;
}

}  // namespace

// Every 16 bytes of [data, data + 16*count) once. `key` is a value the sum cannot have been made for: the store keeps
// the loads alive and practically never happens.
extern "C" __global__ void solmark_read(const uint4* data, unsigned long long count, unsigned key, unsigned* sink) {
  unsigned sum = 0;
  const unsigned long long threads = gridDim.x * static_cast<unsigned long long>(blockDim.x);
  for (unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x; i < count;
       i += threads) {
    const uint4 v = __ldcg(data + i);
    sum = sum * 31 + (v.x ^ v.y ^ v.z ^ v.w);
  }
  if (sum == key) *sink = sum;
}

// Pair p is looked at by the blocks with blockIdx.y == p; different[p] becomes 1 when any of its bytes differs.
extern "C" __global__ void solmark_differ(const solmark::gpu::BytePair* pairs, unsigned* different) {
  const solmark::gpu::BytePair pair = pairs[blockIdx.y];
  const unsigned long long thread = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long threads = gridDim.x * static_cast<unsigned long long>(blockDim.x);
  const bool vector_loads = (pair.a | pair.b) % 16 == 0;
  if (differs(reinterpret_cast<const unsigned char*>(pair.a), reinterpret_cast<const unsigned char*>(pair.b), pair.bytes,
              vector_loads, thread, threads))
    different[blockIdx.y] = 1;
}

// Piece p of `to` becomes piece pieces[p] of `from`; a piece is `vectors` times 16 bytes.
extern "C" __global__ void solmark_deal(uint4* to, const uint4* from, const unsigned* pieces,
                                        unsigned long long vectors) {
  uint4* const target = to + blockIdx.y * vectors;
  const uint4* const source = from + pieces[blockIdx.y] * vectors;
  const unsigned long long threads = gridDim.x * static_cast<unsigned long long>(blockDim.x);
  for (unsigned long long v = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x; v < vectors;
       v += threads)
    __stcs(target + v, source[v]);
}
