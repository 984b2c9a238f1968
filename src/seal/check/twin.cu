// Two images with a kernel of the same name and the same parameters but other code, as specialising compilers make
// them: compiled twice, with SOLMARK_TWIN 1 and 2.
extern "C" __global__ void twin(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = x[i] * (SOLMARK_TWIN == 1 ? 3.0f : 5.0f) + y[i] * (SOLMARK_TWIN == 1 ? 0.0f : 1.0f);
}
