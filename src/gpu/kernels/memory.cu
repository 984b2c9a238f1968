// The judge's kernels on plain bytes: reading a buffer to displace what the last-level cache holds, and asking whether
// two ranges are equal.
#include <cstdint>

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

// Sets *different to 1 when any byte differs. The part that both pointers allow is read 16 bytes at a time.
extern "C" __global__ void solmark_differ(const unsigned char* a, const unsigned char* b, unsigned long long bytes,
                                          int vector_loads, unsigned* different) {
  const unsigned long long thread = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long threads = gridDim.x * static_cast<unsigned long long>(blockDim.x);
  bool found = false;
  unsigned long long done = 0;
  if (vector_loads != 0) {
    const unsigned long long vectors = bytes / 16;
    for (unsigned long long v = thread; v < vectors; v += threads) {
      const uint4 x = __ldcs(reinterpret_cast<const uint4*>(a) + v);
      const uint4 y = __ldcs(reinterpret_cast<const uint4*>(b) + v);
      found |= x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w;
    }
    done = vectors * 16;
  }
  for (unsigned long long i = done + thread; i < bytes; i += threads) found |= a[i] != b[i];
  if (found) *different = 1;
}
