/* What a `dlpack` candidate is called with. The candidate exports one C function:
 *
 *   int entry(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call);
 *
 * Inputs and outputs stand in the order of the definition; all tensors are contiguous. An input whose shape is null
 * (a Python scalar) is a 0-dimensional tensor on the CPU of the declared dtype. float4_e2m1fn_x2 tensors have
 * lanes = 2 and a last dimension that counts pairs. Return 0; any other value is a run-time error of the call.
 * On a GPU all work goes to call->stream; the function does not wait for it. */
#ifndef SOLMARK_CALL_H_
#define SOLMARK_CALL_H_
#include "dlpack.h"
#ifdef __cplusplus
extern "C" {
#endif
#define SOLMARK_CALL_VERSION 1
typedef struct solmark_call {
  uint32_t size;        /* sizeof(solmark_call) of the caller: fields beyond it are absent */
  uint32_t version;     /* SOLMARK_CALL_VERSION */
  int32_t input_count;
  int32_t output_count;
  DLDevice device;
  void* stream;         /* cudaStream_t / CUstream; NULL on the CPU */
} solmark_call;
typedef int (*solmark_entry)(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call);
#ifdef __cplusplus
}
#endif
#endif
