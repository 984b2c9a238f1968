// Linear layer with bias and GELU as one cublasLt matmul: cuBLAS thinks in columns, so it computes
// out^T = weight x^T, whose rows are the output features that the bias epilogue runs along.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <solmark/call.h>

#include <map>
#include <mutex>
#include <tuple>

namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;

// What one size needs; made at its first call and kept, as heuristics are slow.
struct Plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weight = nullptr;
  cublasLtMatrixLayout_t x = nullptr;
  cublasLtMatrixLayout_t out = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};

struct Library {
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  std::map<std::tuple<long long, long long, long long>, Plan> plans;
  std::mutex mutex;
};

#define RETURN_IF_FAILED(call)                                                                     \
  do {                                                                                             \
    if (const auto status = (call); status != decltype(status){}) return static_cast<int>(status); \
  } while (false)

int make_plan(Library& library, long long m, long long n, long long k, const void* bias, Plan& plan) {
  RETURN_IF_FAILED(cublasLtMatmulDescCreate(&plan.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t turned = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
  const cudaDataType_t bias_type = CUDA_R_16BF;
  const auto set = [&](cublasLtMatmulDescAttributes_t name, const void* value, size_t bytes) {
    return cublasLtMatmulDescSetAttribute(plan.operation, name, value, bytes);
  };
  RETURN_IF_FAILED(set(CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof(turned)));
  RETURN_IF_FAILED(set(CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
  RETURN_IF_FAILED(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type, sizeof(bias_type)));
  RETURN_IF_FAILED(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
  RETURN_IF_FAILED(cublasLtMatrixLayoutCreate(&plan.weight, CUDA_R_16BF, k, n, k));
  RETURN_IF_FAILED(cublasLtMatrixLayoutCreate(&plan.x, CUDA_R_16BF, k, m, k));
  RETURN_IF_FAILED(cublasLtMatrixLayoutCreate(&plan.out, CUDA_R_16BF, n, m, n));

  cublasLtMatmulPreference_t preference = nullptr;
  RETURN_IF_FAILED(cublasLtMatmulPreferenceCreate(&preference));
  RETURN_IF_FAILED(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                        &kWorkspaceBytes, sizeof(kWorkspaceBytes)));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  RETURN_IF_FAILED(cublasLtMatmulAlgoGetHeuristic(library.handle, plan.operation, plan.weight, plan.x,
                                                  plan.out, plan.out, preference, 1, &found, &count));
  RETURN_IF_FAILED(cublasLtMatmulPreferenceDestroy(preference));
  if (count == 0) return static_cast<int>(CUBLAS_STATUS_NOT_SUPPORTED);
  plan.algorithm = found.algo;
  return 0;
}

}  // namespace

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  static Library library;
  const std::lock_guard lock(library.mutex);
  if (library.handle == nullptr) {
    RETURN_IF_FAILED(cudaMalloc(&library.workspace, kWorkspaceBytes));
    RETURN_IF_FAILED(cublasLtCreate(&library.handle));
  }
  const long long m = inputs[0]->shape[0];
  const long long k = inputs[0]->shape[1];
  const long long n = inputs[1]->shape[0];
  const void* bias = inputs[2]->data;
  auto place = library.plans.find({m, n, k});
  if (place == library.plans.end()) {
    Plan plan;
    RETURN_IF_FAILED(make_plan(library, m, n, k, bias, plan));
    place = library.plans.emplace(std::tuple{m, n, k}, plan).first;
  }
  Plan& plan = place->second;
  RETURN_IF_FAILED(
      cublasLtMatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
  const float one = 1.0f;
  const float zero = 0.0f;
  RETURN_IF_FAILED(cublasLtMatmul(library.handle, plan.operation, &one, inputs[1]->data, plan.weight,
                                  inputs[0]->data, plan.x, &zero, outputs[0]->data, plan.out,
                                  outputs[0]->data, plan.out, &plan.algorithm, library.workspace,
                                  kWorkspaceBytes, static_cast<cudaStream_t>(call->stream)));
  return 0;
}
