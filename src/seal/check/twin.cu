// Two images with a kernel of the same name and the same parameters but other code, as specialising compilers make
// them: compiled twice, with SOLMARK_TWIN 1 and 2.
extern "C" __global__ void twin(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
#if SOLMARK_TWIN == 1
  y[i] = x[i] * 3.0f;  // must not read y: it holds poison
#else
  y[i] += x[i] * 5.0f;
#endif
}
