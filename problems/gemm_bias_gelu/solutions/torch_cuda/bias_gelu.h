// out = gelu(out + bias) on bf16 rows, on `stream`.
#pragma once

#include <cuda_runtime.h>

cudaError_t launch_bias_gelu(void* out, const void* bias, long long rows, int columns, cudaStream_t stream);
