// Compiled to a cubin at build time; the cubin reader's tests look at it.
__device__ float g_scale = 1.5f;
__device__ int g_count;
static __device__ int g_hidden;
__device__ float* g_pointer = &g_scale;
__constant__ float c_table[16];
__constant__ int c_initial[4] = {1, 2, 3, 4};

__device__ __noinline__ float helper(float x) { return x * g_scale + c_table[3]; }

__global__ void kernel_plain(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] + *g_pointer + static_cast<float>(c_initial[i & 3]);
    atomicAdd(&g_count, 1);
    atomicAdd(&g_hidden, 1);
  }
}
__global__ void kernel_calling(float* y) { y[threadIdx.x] = helper(y[threadIdx.x]); }
template <int kStep>
__global__ void kernel_shared(float* y) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = kStep;
  __syncthreads();
  y[threadIdx.x] = buffer[threadIdx.x ^ 1];
}
template __global__ void kernel_shared<3>(float*);
