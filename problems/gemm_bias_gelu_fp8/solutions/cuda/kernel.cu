// Linear layer on e4m3 inputs. Each slice of k is widened to fp16, which holds every e4m3 value, on its way
// into shared memory and multiplied there by fp16 tensor cores with fp32 sums: exact products at half the
// rate of fp8 ones, for half the memory traffic of a 16-bit layer.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <solmark/call.h>

namespace {

using namespace nvcuda;

constexpr int kTile = 128;        // rows of x and of weight a block multiplies
constexpr int kDepth = 32;        // of k at a time
constexpr int kRow = kDepth + 8;  // padding keeps rows apart in the banks
constexpr int kThreads = 256;     // eight warps, four by two; each owns 32 x 64 of the tile
constexpr int kVector = 8;
constexpr int kStageRow = 20;
constexpr int kPieces = kTile * kDepth / 16 / kThreads;  // 16-byte pieces of a slice that each thread moves

struct Tiles {
  __half a[kTile * kRow];
  __half b[kTile * kRow];
};

using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__device__ float gelu(float v) {
  return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));  // sqrt(2 / pi)
}

__device__ int piece_row(int piece) { return (threadIdx.x + piece * kThreads) / (kDepth / 16); }
__device__ int piece_column(int piece) { return (threadIdx.x + piece * kThreads) % (kDepth / 16) * 16; }

// Rows past `count` read as zero.
__device__ void fetch(uint4 (&held)[kPieces], const unsigned char* from, long long first, long long count,
                      int at, int k) {
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const long long row = first + piece_row(p);
    held[p] = make_uint4(0, 0, 0, 0);
    if (row < count) held[p] = *reinterpret_cast<const uint4*>(from + row * k + at + piece_column(p));
  }
}

__device__ void widen(__half* to, const uint4 (&held)[kPieces]) {
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const auto* code = reinterpret_cast<const __nv_fp8_storage_t*>(&held[p]);
    __half* place = to + piece_row(p) * kRow + piece_column(p);
#pragma unroll
    for (int e = 0; e < 16; ++e) place[e] = __half(__nv_cvt_fp8_to_halfraw(code[e], __NV_E4M3));
  }
}

__global__ void __launch_bounds__(kThreads)
    gemm(const unsigned char* x, const unsigned char* weight, const float* x_scale, const float* weight_scale,
         const __nv_bfloat16* bias, __nv_bfloat16* out, int m, int n, int k) {
  __shared__ __align__(128) unsigned char raw[sizeof(Tiles)];
  Tiles& tiles = *reinterpret_cast<Tiles*>(raw);
  const long long first_row = static_cast<long long>(blockIdx.y) * kTile;
  const long long first_column = static_cast<long long>(blockIdx.x) * kTile;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_row = warp / 2 * 32;
  const int warp_column = warp % 2 * 64;

  Sum sum[2][4];
  for (auto& row : sum) {
    for (Sum& one : row) wmma::fill_fragment(one, 0.0f);
  }
  uint4 held_x[kPieces];
  uint4 held_weight[kPieces];
  fetch(held_x, x, first_row, m, 0, k);
  fetch(held_weight, weight, first_column, n, 0, k);
  for (int at = 0; at < k; at += kDepth) {
    widen(tiles.a, held_x);
    widen(tiles.b, held_weight);
    __syncthreads();
    if (at + kDepth < k) {  // on its way while this slice is multiplied
      fetch(held_x, x, first_row, m, at + kDepth, k);
      fetch(held_weight, weight, first_column, n, at + kDepth, k);
    }
#pragma unroll
    for (int d = 0; d < kDepth; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left[2];
      for (int i = 0; i < 2; ++i)
        wmma::load_matrix_sync(left[i], tiles.a + (warp_row + i * 16) * kRow + d, kRow);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
        wmma::load_matrix_sync(right, tiles.b + (warp_column + j * 16) * kRow + d, kRow);
        for (int i = 0; i < 2; ++i) wmma::mma_sync(sum[i][j], left[i], right, sum[i][j]);
      }
    }
    __syncthreads();
  }

  // The tiles are no longer needed: each warp passes its sums through a corner of them to learn their places.
  float* stage = reinterpret_cast<float*>(raw) + warp * 16 * kStageRow;
  const int row = lane / 2;
  const int column = lane % 2 * kVector;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      wmma::store_matrix_sync(stage, sum[i][j], kStageRow, wmma::mem_row_major);
      __syncwarp();
      const long long out_row = first_row + warp_row + i * 16 + row;
      const long long out_column = first_column + warp_column + j * 16 + column;
      if (out_row < m && out_column < n) {  // n is a multiple of kVector
        const float scale = x_scale[out_row];
        uint4 packed;
        auto* element = reinterpret_cast<__nv_bfloat16*>(&packed);
        for (int e = 0; e < kVector; ++e) {
          const float product = stage[row * kStageRow + column + e] * scale * weight_scale[out_column + e];
          element[e] = __float2bfloat16(gelu(product + __bfloat162float(bias[out_column + e])));
        }
        *reinterpret_cast<uint4*>(out + out_row * n + out_column) = packed;
      }
      __syncwarp();
    }
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const int m = static_cast<int>(inputs[0]->shape[0]);
  const int k = static_cast<int>(inputs[0]->shape[1]);
  const int n = static_cast<int>(inputs[1]->shape[0]);
  if (k % kDepth != 0 || n % kVector != 0) return 1;
  const dim3 grid(static_cast<unsigned>((n + kTile - 1) / kTile),
                  static_cast<unsigned>((m + kTile - 1) / kTile));
  gemm<<<grid, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const unsigned char*>(inputs[0]->data), static_cast<const unsigned char*>(inputs[1]->data),
      static_cast<const float*>(inputs[2]->data), static_cast<const float*>(inputs[3]->data),
      static_cast<const __nv_bfloat16*>(inputs[4]->data), static_cast<__nv_bfloat16*>(outputs[0]->data), m, n,
      k);
  return static_cast<int>(cudaGetLastError());
}
