// Gated feed-forward block on tensor cores: one kernel multiplies by gate and up together and stores their
// gated product in bf16, a second one projects back. Both use 128-row tiles with the next slice of k copied
// in ahead.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <solmark/call.h>

namespace {

using namespace nvcuda;

constexpr int kTile = 128;        // rows of x and of weights a block multiplies
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

// Starts the copy of kRows rows from `first` on, columns [at, at + kDepth); rows past `count` become zero.
template <int kRows>
__device__ void copy_rows(__nv_bfloat16* to, const __nv_bfloat16* from, long long first, long long count,
                          int at, int k) {
  for (int i = threadIdx.x; i < kRows * kDepth / kVector; i += kThreads) {
    const int row = i / (kDepth / kVector);
    const int column = i % (kDepth / kVector) * kVector;
    const bool inside = first + row < count;
    const __nv_bfloat16* source = inside ? from + (first + row) * k + at + column : from;
    __pipeline_memcpy_async(to + row * kRow + column, source, 16, inside ? 0 : 16);
  }
}

// kGated: the tile's 128 rows of weights are 64 of gate and the same 64 of up, and out is silu(gate) * up, 64
// columns wide; otherwise they are 128 rows of `weight` and out is the plain product.
template <bool kGated>
__global__ void __launch_bounds__(kThreads)
    gemm(const __nv_bfloat16* x, const __nv_bfloat16* weight, const __nv_bfloat16* up, __nv_bfloat16* out,
         int m, int n, int k) {
  constexpr int kColumns = kGated ? kTile / 2 : kTile;
  __shared__ __align__(128) unsigned char raw[sizeof(Tiles)];
  Tiles& tiles = *reinterpret_cast<Tiles*>(raw);
  const long long first_row = static_cast<long long>(blockIdx.y) * kTile;
  const long long first_column = static_cast<long long>(blockIdx.x) * kColumns;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_row = warp / 2 * 32;
  // Rows of the weight tile that the warp's j-th column of fragments uses: for a gated pair, j and j + 2 are
  // gate and up.
  const auto weight_row = [&](int j) {
    return kGated ? j / 2 * 64 + warp % 2 * 32 + j % 2 * 16 : warp % 2 * 64 + j * 16;
  };

  Sum sum[2][4];
  for (auto& row : sum) {
    for (Sum& one : row) wmma::fill_fragment(one, 0.0f);
  }
  const auto copy = [&](int buffer, int at) {
    copy_rows<kTile>(tiles.a[buffer], x, first_row, m, at, k);
    copy_rows<kColumns>(tiles.b[buffer], weight, first_column, n, at, k);
    if constexpr (kGated) copy_rows<kColumns>(tiles.b[buffer] + kColumns * kRow, up, first_column, n, at, k);
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
        wmma::load_matrix_sync(right, tiles.b[buffer] + weight_row(j) * kRow + d, kRow);
        for (int i = 0; i < 2; ++i) wmma::mma_sync(sum[i][j], left[i], right, sum[i][j]);
      }
    }
    __syncthreads();
  }

  // The tiles are no longer needed: each warp passes its sums through a corner of them to learn their places.
  float* stage = reinterpret_cast<float*>(raw) + warp * 16 * kStageRow;
  const int row = lane / 2;
  const int column = lane % 2 * kVector;
  constexpr int kResults = kGated ? 2 : 4;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < kResults; ++j) {
      if constexpr (kGated) {
        // Fragments of one type spread their elements over the lanes in one way, so pairs meet in the same
        // lane.
        for (int e = 0; e < sum[i][j].num_elements; ++e) {
          const float gate = sum[i][j].x[e];
          sum[i][j].x[e] = gate / (1.0f + __expf(-gate)) * sum[i][j + 2].x[e];
        }
      }
      wmma::store_matrix_sync(stage, sum[i][j], kStageRow, wmma::mem_row_major);
      __syncwarp();
      const long long out_row = first_row + warp_row + i * 16 + row;
      const long long out_column = first_column + weight_row(j) + column;
      if (out_row < m && out_column < n) {  // n is a multiple of kVector
        uint4 packed;
        auto* element = reinterpret_cast<__nv_bfloat16*>(&packed);
        for (int e = 0; e < kVector; ++e) element[e] = __float2bfloat16(stage[row * kStageRow + column + e]);
        *reinterpret_cast<uint4*>(out + out_row * n + out_column) = packed;
      }
      __syncwarp();
    }
  }
}

unsigned blocks(int count, int size) { return static_cast<unsigned>((count + size - 1) / size); }

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const int tokens = static_cast<int>(inputs[0]->shape[0]);
  const int hidden = static_cast<int>(inputs[0]->shape[1]);
  const int inter = static_cast<int>(inputs[1]->shape[0]);
  if (hidden % kDepth != 0 || inter % kDepth != 0) return 1;
  const auto* x = static_cast<const __nv_bfloat16*>(inputs[0]->data);
  const auto* gate = static_cast<const __nv_bfloat16*>(inputs[1]->data);
  const auto* up = static_cast<const __nv_bfloat16*>(inputs[2]->data);
  const auto* down = static_cast<const __nv_bfloat16*>(inputs[3]->data);
  auto* out = static_cast<__nv_bfloat16*>(outputs[0]->data);
  const auto stream = static_cast<cudaStream_t>(call->stream);

  __nv_bfloat16* middle = nullptr;
  const size_t bytes = static_cast<size_t>(tokens) * static_cast<size_t>(inter) * sizeof(__nv_bfloat16);
  cudaError_t error = cudaMallocAsync(reinterpret_cast<void**>(&middle), bytes, stream);
  if (error != cudaSuccess) return static_cast<int>(error);
  const unsigned rows = blocks(tokens, kTile);
  gemm<true><<<dim3(blocks(inter, kTile / 2), rows), kThreads, 0, stream>>>(x, gate, up, middle, tokens,
                                                                            inter, hidden);
  error = cudaGetLastError();
  if (error == cudaSuccess) {
    gemm<false><<<dim3(blocks(hidden, kTile), rows), kThreads, 0, stream>>>(middle, down, nullptr, out,
                                                                            tokens, hidden, inter);
    error = cudaGetLastError();
  }
  const cudaError_t freed = cudaFreeAsync(middle, stream);
  return static_cast<int>(error != cudaSuccess ? error : freed);
}
