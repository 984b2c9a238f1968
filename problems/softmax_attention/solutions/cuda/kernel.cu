// Causal attention in one pass over the keys (online softmax) on tensor cores. A block owns 64 queries of one
// head, each of its four warps 16 of them; logits, weights and the running output of a warp live in its own
// rows of shared memory.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math_constants.h>
#include <mma.h>
#include <solmark/call.h>

namespace {

using namespace nvcuda;

constexpr int kQueries = 64;
constexpr int kKeys = 64;
constexpr int kWarps = kQueries / 16;
constexpr int kThreads = kWarps * 32;
constexpr int kVector = 8;

template <int kDim>
struct Shared {
  static constexpr int kRow = kDim + 8;         // padding keeps rows apart in the banks
  static constexpr int kLogitRow = kKeys + 4;   // floats
  static constexpr int kWeightRow = kKeys + 8;  // bf16
  static constexpr int kOutRow = kDim + 4;      // floats
  __nv_bfloat16 q[kQueries * kRow];
  __nv_bfloat16 k[kKeys * kRow];
  __nv_bfloat16 v[kKeys * kRow];
  __nv_bfloat16 weight[kQueries * kWeightRow];
  float logit[kQueries * kLogitRow];
  float out[kQueries * kOutRow];
};

// 64 rows from `first` on; rows past the end become zero.
template <int kDim>
__device__ void load_tile(__nv_bfloat16* to, const __nv_bfloat16* from, int first, int seq) {
  for (int i = threadIdx.x * kVector; i < kKeys * kDim; i += kThreads * kVector) {
    const int row = i / kDim;
    const int column = i % kDim;
    uint4 packed = make_uint4(0, 0, 0, 0);
    if (first + row < seq) {
      packed = *reinterpret_cast<const uint4*>(from + static_cast<long long>(first + row) * kDim + column);
    }
    *reinterpret_cast<uint4*>(to + row * Shared<kDim>::kRow + column) = packed;
  }
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* out,
              int seq, float scale) {
  using S = Shared<kDim>;
  extern __shared__ __align__(128) unsigned char raw[];
  S& shared = *reinterpret_cast<S*>(raw);
  const long long plane = static_cast<long long>(blockIdx.y) * seq * kDim;
  // The longest rows start first.
  const int first_query = (gridDim.x - 1 - blockIdx.x) * kQueries;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  // Two lanes a query row: each handles half of the columns.
  const int row = warp * 16 + lane / 2;
  const int half = lane % 2;
  const int query = first_query + row;

  load_tile<kDim>(shared.q, q + plane, first_query, seq);
  float* out_row = shared.out + row * S::kOutRow;
  for (int d = half * (kDim / 2); d < (half + 1) * (kDim / 2); ++d) out_row[d] = 0.0f;
  float largest = -CUDART_INF_F;
  float total = 0.0f;

  const int last_key = min(first_query + kQueries, seq);
  for (int first_key = 0; first_key < last_key; first_key += kKeys) {
    __syncthreads();
    load_tile<kDim>(shared.k, k + plane, first_key, seq);
    load_tile<kDim>(shared.v, v + plane, first_key, seq);
    __syncthreads();

    for (int column = 0; column < kKeys; column += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> logits;
      wmma::fill_fragment(logits, 0.0f);
      for (int d = 0; d < kDim; d += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> right;
        wmma::load_matrix_sync(left, shared.q + warp * 16 * S::kRow + d, S::kRow);
        wmma::load_matrix_sync(right, shared.k + column * S::kRow + d, S::kRow);
        wmma::mma_sync(logits, left, right, logits);
      }
      wmma::store_matrix_sync(shared.logit + warp * 16 * S::kLogitRow + column, logits, S::kLogitRow,
                              wmma::mem_row_major);
    }
    __syncwarp();

    const float* logit_row = shared.logit + row * S::kLogitRow;
    __nv_bfloat16* weight_row = shared.weight + row * S::kWeightRow;
    const int begin = half * (kKeys / 2);
    // Keys at or before the query; a query past the end of the sequence still sees key 0, so `largest` is
    // finite.
    const int alive = min(query, seq - 1) - first_key;
    float now = largest;
    for (int j = begin; j < begin + kKeys / 2; ++j) {
      if (j <= alive) now = fmaxf(now, logit_row[j] * scale);
    }
    now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 1));
    const float shrink = exp2f(largest - now);
    float sum = 0.0f;
    for (int j = begin; j < begin + kKeys / 2; ++j) {
      const float weight = j <= alive ? exp2f(logit_row[j] * scale - now) : 0.0f;
      sum += weight;
      weight_row[j] = __float2bfloat16(weight);
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    total = total * shrink + sum;
    largest = now;
    for (int d = half * (kDim / 2); d < (half + 1) * (kDim / 2); ++d) out_row[d] *= shrink;
    __syncwarp();

    for (int d = 0; d < kDim; d += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
      float* place = shared.out + warp * 16 * S::kOutRow + d;
      wmma::load_matrix_sync(sums, place, S::kOutRow, wmma::mem_row_major);
      for (int j = 0; j < kKeys; j += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> right;
        wmma::load_matrix_sync(left, shared.weight + warp * 16 * S::kWeightRow + j, S::kWeightRow);
        wmma::load_matrix_sync(right, shared.v + j * S::kRow + d, S::kRow);
        wmma::mma_sync(sums, left, right, sums);
      }
      wmma::store_matrix_sync(place, sums, S::kOutRow, wmma::mem_row_major);
    }
    __syncwarp();
  }

  if (query < seq) {
    __nv_bfloat16* to = out + plane + static_cast<long long>(query) * kDim;
    for (int d = half * (kDim / 2); d < (half + 1) * (kDim / 2); ++d)
      to[d] = __float2bfloat16(out_row[d] / total);
  }
}

template <int kDim>
cudaError_t launch(const DLTensor* const* inputs, DLTensor* output, cudaStream_t stream) {
  const int seq = static_cast<int>(inputs[0]->shape[2]);
  const auto planes = static_cast<unsigned>(inputs[0]->shape[0] * inputs[0]->shape[1]);
  const float scale = 1.4426950408889634f / sqrtf(static_cast<float>(kDim));  // logits in powers of two
  const cudaError_t fits = cudaFuncSetAttribute(attention<kDim>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                static_cast<int>(sizeof(Shared<kDim>)));
  if (fits != cudaSuccess) return fits;
  const dim3 grid(static_cast<unsigned>((seq + kQueries - 1) / kQueries), planes);
  attention<kDim><<<grid, kThreads, sizeof(Shared<kDim>), stream>>>(
      static_cast<const __nv_bfloat16*>(inputs[0]->data), static_cast<const __nv_bfloat16*>(inputs[1]->data),
      static_cast<const __nv_bfloat16*>(inputs[2]->data), static_cast<__nv_bfloat16*>(output->data), seq,
      scale);
  return cudaGetLastError();
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  const auto stream = static_cast<cudaStream_t>(call->stream);
  switch (inputs[0]->shape[3]) {
    case 64:
      return static_cast<int>(launch<64>(inputs, outputs[0], stream));
    case 128:
      return static_cast<int>(launch<128>(inputs, outputs[0], stream));
    default:
      return 1;
  }
}
