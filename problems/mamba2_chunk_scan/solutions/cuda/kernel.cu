// Chunked state-space scan on tensor cores. One block a (head, sequence) walks the chunks in order; the state
// stays in its accumulators in fp32, with a bf16 copy in shared memory for reading. Within a chunk of 64
// tokens the recurrence is a causal, decaying attention.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <solmark/call.h>

namespace {

using namespace nvcuda;

constexpr int kChunk = 64;
constexpr int kDim = 64;
constexpr int kState = 128;
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kVector = 8;
constexpr int kWide = kState + 8;  // row lengths; the padding keeps rows apart in the banks
constexpr int kNarrow = kDim + 8;
constexpr int kStageRow = 20;

struct Shared {
  __nv_bfloat16 write[kChunk * kWide];     // B, [token][n]
  __nv_bfloat16 read[kChunk * kWide];      // C, [token][n]
  __nv_bfloat16 state[kDim * kWide];       // [p][n]
  __nv_bfloat16 x[kChunk * kNarrow];       // [token][p]
  __nv_bfloat16 driven[kChunk * kNarrow];  // x dt, decayed to the end of the chunk
  __nv_bfloat16 weight[kChunk * kNarrow];  // [token][earlier token]
  float stage[kWarps][16 * kStageRow];
  float dt[kChunk];
  float decay[kChunk];  // log of the decay from the start of the chunk up to and including the token
};

struct Layout {
  int seqlen, heads, groups;
};

using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;
using Left = wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major>;
using LeftTurned = wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::col_major>;
using Right = wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major>;
using RightTurned = wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major>;

// kChunk rows of kColumns elements, `stride` apart in memory.
template <int kColumns, int kRowLength>
__device__ void load_rows(__nv_bfloat16* to, const __nv_bfloat16* from, long long stride) {
  for (int i = threadIdx.x * kVector; i < kChunk * kColumns; i += kThreads * kVector) {
    const int row = i / kColumns;
    const int column = i % kColumns;
    *reinterpret_cast<uint4*>(to + row * kRowLength + column) =
        *reinterpret_cast<const uint4*>(from + row * stride + column);
  }
}

// Sum over n of left[16 rows][n] right[16 rows][n], both with rows of kWide.
__device__ void multiply_wide(Sum& sum, const __nv_bfloat16* left_rows, const __nv_bfloat16* right_rows) {
  wmma::fill_fragment(sum, 0.0f);
#pragma unroll 4
  for (int n = 0; n < kState; n += 16) {
    Left left;
    RightTurned right;
    wmma::load_matrix_sync(left, left_rows + n, kWide);
    wmma::load_matrix_sync(right, right_rows + n, kWide);
    wmma::mma_sync(sum, left, right, sum);
  }
}

__global__ void __launch_bounds__(kThreads)
    chunk_scan(const __nv_bfloat16* x, const float* dt, const float* A, const __nv_bfloat16* B,
               const __nv_bfloat16* C, const float* D, __nv_bfloat16* y, Layout layout) {
  extern __shared__ __align__(128) unsigned char raw[];
  Shared& shared = *reinterpret_cast<Shared*>(raw);
  const int head = blockIdx.x;
  const int group = head / (layout.heads / layout.groups);
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int stage_row = lane / 2;
  const int stage_column = lane % 2 * kVector;
  float* stage = shared.stage[warp];
  const float* staged = stage + stage_row * kStageRow + stage_column;
  const float rate = A[head];
  const float skip = D[head];

  Sum state[kDim / 16];  // rows p = 16 i, columns n = 16 warp
  for (Sum& one : state) wmma::fill_fragment(one, 0.0f);

  for (int first = 0; first < layout.seqlen; first += kChunk) {
    const long long token = static_cast<long long>(blockIdx.y) * layout.seqlen + first;
    const long long x_at = (token * layout.heads + head) * kDim;
    const long long bc_at = (token * layout.groups + group) * kState;
    load_rows<kDim, kNarrow>(shared.x, x + x_at, static_cast<long long>(layout.heads) * kDim);
    load_rows<kState, kWide>(shared.write, B + bc_at, static_cast<long long>(layout.groups) * kState);
    load_rows<kState, kWide>(shared.read, C + bc_at, static_cast<long long>(layout.groups) * kState);
    if (warp == 0) {  // a prefix sum over 64 tokens: two a lane
      const float one = dt[(token + 2 * lane) * layout.heads + head];
      const float two = dt[(token + 2 * lane + 1) * layout.heads + head];
      float sum = (one + two) * rate;
      for (int step = 1; step < 32; step *= 2) {
        const float before = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += before;
      }
      shared.dt[2 * lane] = one;
      shared.dt[2 * lane + 1] = two;
      shared.decay[2 * lane] = sum - two * rate;
      shared.decay[2 * lane + 1] = sum;
    }
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {  // the state that this chunk starts from
      wmma::store_matrix_sync(stage, state[i], kStageRow, wmma::mem_row_major);
      __syncwarp();
      __nv_bfloat16* to = shared.state + (i * 16 + stage_row) * kWide + warp * 16 + stage_column;
      for (int e = 0; e < kVector; ++e) to[e] = __float2bfloat16(staged[e]);
      __syncwarp();
    }
    __syncthreads();

    const float whole = shared.decay[kChunk - 1];
    for (int i = threadIdx.x; i < kChunk * kDim; i += kThreads) {
      const int row = i / kDim;
      const float factor = shared.dt[row] * __expf(whole - shared.decay[row]);
      const int at = row * kNarrow + i % kDim;
      shared.driven[at] = __float2bfloat16(__bfloat162float(shared.x[at]) * factor);
    }
    // Sixteen 16 x 16 pieces of [token][token], then of [token][p]: two a warp.
    for (int piece = warp; piece < 16; piece += kWarps) {
      const int row = piece / 4 * 16;
      const int column = piece % 4 * 16;
      Sum score;
      multiply_wide(score, shared.read + row * kWide, shared.write + column * kWide);
      wmma::store_matrix_sync(stage, score, kStageRow, wmma::mem_row_major);
      __syncwarp();
      const int later = row + stage_row;
      for (int e = 0; e < kVector; ++e) {
        const int earlier = column + stage_column + e;
        float weight = 0.0f;
        if (earlier <= later) {
          weight = staged[e] * __expf(shared.decay[later] - shared.decay[earlier]) * shared.dt[earlier];
        }
        shared.weight[later * kNarrow + earlier] = __float2bfloat16(weight);
      }
      __syncwarp();
    }
    __syncthreads();

    for (int piece = warp; piece < 16; piece += kWarps) {
      const int row = piece / 4 * 16;
      const int column = piece % 4 * 16;
      const int at = row + stage_row;
      Sum sum;
      multiply_wide(sum, shared.read + row * kWide, shared.state + column * kWide);
      wmma::store_matrix_sync(stage, sum, kStageRow, wmma::mem_row_major);
      __syncwarp();
      const float carried = __expf(shared.decay[at]);
      float result[kVector];
      for (int e = 0; e < kVector; ++e) {
        result[e] =
            carried * staged[e] + skip * __bfloat162float(shared.x[at * kNarrow + column + stage_column + e]);
      }
      __syncwarp();
      wmma::fill_fragment(sum, 0.0f);
      for (int j = 0; j <= row; j += 16) {  // later tokens weigh nothing
        Left left;
        Right right;
        wmma::load_matrix_sync(left, shared.weight + row * kNarrow + j, kNarrow);
        wmma::load_matrix_sync(right, shared.x + j * kNarrow + column, kNarrow);
        wmma::mma_sync(sum, left, right, sum);
      }
      wmma::store_matrix_sync(stage, sum, kStageRow, wmma::mem_row_major);
      __syncwarp();
      uint4 packed;
      auto* element = reinterpret_cast<__nv_bfloat16*>(&packed);
      for (int e = 0; e < kVector; ++e) element[e] = __float2bfloat16(result[e] + staged[e]);
      const long long to = x_at + static_cast<long long>(at) * layout.heads * kDim + column + stage_column;
      *reinterpret_cast<uint4*>(y + to) = packed;
      __syncwarp();
    }

    const float kept = __expf(whole);
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      for (int e = 0; e < state[i].num_elements; ++e) state[i].x[e] *= kept;
      for (int j = 0; j < kChunk; j += 16) {
        LeftTurned left;  // driven^T
        Right right;
        wmma::load_matrix_sync(left, shared.driven + j * kNarrow + i * 16, kNarrow);
        wmma::load_matrix_sync(right, shared.write + j * kWide + warp * 16, kWide);
        wmma::mma_sync(state[i], left, right, state[i]);
      }
    }
    __syncthreads();
  }
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const Layout layout{static_cast<int>(inputs[0]->shape[1]), static_cast<int>(inputs[0]->shape[2]),
                      static_cast<int>(inputs[3]->shape[2])};
  if (layout.seqlen % kChunk != 0 || inputs[0]->shape[3] != kDim || inputs[3]->shape[3] != kState) return 1;
  const cudaError_t fits = cudaFuncSetAttribute(chunk_scan, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                static_cast<int>(sizeof(Shared)));
  if (fits != cudaSuccess) return static_cast<int>(fits);
  const dim3 grid(static_cast<unsigned>(layout.heads), static_cast<unsigned>(inputs[0]->shape[0]));
  chunk_scan<<<grid, kThreads, sizeof(Shared), static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const __nv_bfloat16*>(inputs[0]->data), static_cast<const float*>(inputs[1]->data),
      static_cast<const float*>(inputs[2]->data), static_cast<const __nv_bfloat16*>(inputs[3]->data),
      static_cast<const __nv_bfloat16*>(inputs[4]->data), static_cast<const float*>(inputs[5]->data),
      static_cast<__nv_bfloat16*>(outputs[0]->data), layout);
  return static_cast<int>(cudaGetLastError());
}
