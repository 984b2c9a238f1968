// Candidates with the dlpack binding for the worker's tests: one honest one, and one for each way to fail.
#include <solmark/call.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace {
std::int64_t count(const DLTensor& tensor) {
  std::int64_t out = 1;
  for (std::int32_t i = 0; i < tensor.ndim; ++i) out *= tensor.shape[i];
  return out;
}
}  // namespace

// y = x * factor, factor a float32 scalar.
extern "C" int scale(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call* call) {
  if (call->size < sizeof(solmark_call) || call->version != SOLMARK_CALL_VERSION) return 100;
  if (call->input_count != 2 || call->output_count != 1 || call->stream != nullptr) return 101;
  if (inputs[1]->ndim != 0 || inputs[1]->dtype.code != kDLFloat || inputs[1]->dtype.bits != 32) return 102;
  const auto* x = static_cast<const float*>(inputs[0]->data);
  auto* y = static_cast<float*>(outputs[0]->data);
  float factor = 0;
  std::memcpy(&factor, inputs[1]->data, sizeof factor);
  for (std::int64_t i = 0; i < count(*inputs[0]); ++i) y[i] = x[i] * factor;
  return 0;
}

// Writes what it was told about its tensors into y: ndim, shape, strides, code, bits, lanes of input 0, then
// the bytes of the scalar input 1.
extern "C" int describe(const DLTensor* const* inputs, DLTensor* const* outputs, const solmark_call*) {
  auto* y = static_cast<float*>(outputs[0]->data);
  const DLTensor& x = *inputs[0];
  *y++ = static_cast<float>(x.ndim);
  for (std::int32_t i = 0; i < x.ndim; ++i) *y++ = static_cast<float>(x.shape[i]);
  for (std::int32_t i = 0; i < x.ndim; ++i) *y++ = static_cast<float>(x.strides[i]);
  *y++ = static_cast<float>(x.dtype.code);
  *y++ = static_cast<float>(x.dtype.bits);
  *y++ = static_cast<float>(x.dtype.lanes);
  *y++ = static_cast<float>(x.device.device_type);
  const auto* scalar = static_cast<const unsigned char*>(inputs[1]->data);
  for (std::int32_t i = 0; i < inputs[1]->dtype.bits / 8; ++i) *y++ = static_cast<float>(scalar[i]);
  return 0;
}

extern "C" int refuses(const DLTensor* const*, DLTensor* const*, const solmark_call*) { return 7; }

// Fails on the calls whose first element is negative.
extern "C" int refuses_negative(const DLTensor* const* inputs, DLTensor* const*, const solmark_call*) {
  return *static_cast<const float*>(inputs[0]->data) < 0 ? 9 : 0;
}

extern "C" int throws(const DLTensor* const*, DLTensor* const*, const solmark_call*) {
  throw std::runtime_error("no luck today");
}

extern "C" int crashes(const DLTensor* const*, DLTensor* const*, const solmark_call*) {
  volatile std::uintptr_t nowhere = 16;
  *reinterpret_cast<volatile int*>(nowhere) = 1;  // meant to crash
  return 0;
}

// Cheats: changes its input.
extern "C" int writes_input(const DLTensor* const* inputs, DLTensor* const*, const solmark_call*) {
  *static_cast<volatile float*>(inputs[0]->data) = 1.0F;
  return 0;
}
