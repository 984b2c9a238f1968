// Linear layer with bias and GELU on tensor cores: 128 x 128 tiles, the next slice of k copied in while the
// present one is multiplied, bias and activation applied before the only store.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
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

struct Tiles {
  __nv_bfloat16 a[2][kTile * kRow];
  __nv_bfloat16 b[2][kTile * kRow];
};

using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Starts the copy of 128 rows from `first` on, columns [at, at + kDepth); rows past `count` become zero.
__device__ void copy_rows(__nv_bfloat16* to, const __nv_bfloat16* from, long long first, long long count,
                          int at, int k) {
  for (int i = threadIdx.x; i < kTile * kDepth / kVector; i += kThreads) {
    const int row = i / (kDepth / kVector);
    const int column = i % (kDepth / kVector) * kVector;
    const bool inside = first + row < count;
    const __nv_bfloat16* source = inside ? from + (first + row) * k + at + column : from;
    __pipeline_memcpy_async(to + row * kRow + column, source, 16, inside ? 0 : 16);
  }
}

__device__ float gelu(float v) {
  return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));  // sqrt(2 / pi)
}

__global__ void __launch_bounds__(kThreads)
    gemm(const __nv_bfloat16* x, const __nv_bfloat16* weight, const __nv_bfloat16* bias, __nv_bfloat16* out,
         int m, int n, int k) {
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
  const auto copy = [&](int buffer, int at) {
    copy_rows(tiles.a[buffer], x, first_row, m, at, k);
    copy_rows(tiles.b[buffer], weight, first_column, n, at, k);
    __pipeline_commit();
  };
  copy(0, 0);
  for (int at = 0; at < k; at += kDepth) {
    const int buffer = at / kDepth % 2;
    if (at + kDepth < k) {
      copy(buffer ^ 1, at + kDepth);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(left[i], tiles.a[buffer] + (warp_row + i * 16) * kRow + d, kRow);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> right;
        wmma::load_matrix_sync(right, tiles.b[buffer] + (warp_column + j * 16) * kRow + d, kRow);
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
        uint4 packed;
        auto* element = reinterpret_cast<__nv_bfloat16*>(&packed);
        for (int e = 0; e < kVector; ++e) {
          const float value = stage[row * kStageRow + column + e] + __bfloat162float(bias[out_column + e]);
          element[e] = __float2bfloat16(gelu(value));
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
      static_cast<const __nv_bfloat16*>(inputs[0]->data), static_cast<const __nv_bfloat16*>(inputs[1]->data),
      static_cast<const __nv_bfloat16*>(inputs[2]->data), static_cast<__nv_bfloat16*>(outputs[0]->data), m, n,
      k);
  return static_cast<int>(cudaGetLastError());
}
