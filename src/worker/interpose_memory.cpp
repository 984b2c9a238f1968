// The runtime's and the driver's allocation functions as candidates see them in a worker: device memory comes
// from the address window, so that a Seal can hold it. Without a CUDA session each call goes to the real
// function. Signatures are declared here, because no CUDA runtime is linked; managed and host memory are left
// alone.
#include <cstddef>
#include <cstdint>

#include "worker/interpose_real.h"
#if SOLMARK_HAVE_CUDA

#include "worker/cuda_scratch.h"

#define SOLMARK_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

using solmark::worker::active_scratch;
using solmark::worker::real_function;

constexpr int kSuccess = 0;       // cudaSuccess and CUDA_SUCCESS
constexpr int kInvalidValue = 1;  // cudaErrorInvalidValue and CUDA_ERROR_INVALID_VALUE
constexpr int kOutOfMemory = 2;   // cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY
constexpr int kNoRuntime = 35;    // cudaErrorInsufficientDriver: there is no real function to call
constexpr std::size_t kPitch = 512;
const char* const kRuntime = "libcudart.so";
const char* const kDriver = "libcuda.so";

// `stream`: none for memory that is ready for every stream.
template <class... Stream>
int give(void** pointer, std::size_t bytes, Stream... stream) {
  if (pointer == nullptr) return kInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return kSuccess;
  *pointer = active_scratch()->allocate(bytes, stream...);
  return *pointer == nullptr ? kOutOfMemory : kSuccess;
}

template <class Function, class... Arguments>
int call_real(Function& cache, const char* name, const char* library, Arguments... arguments) {
  const Function real = real_function(cache, name, library);
  return real == nullptr ? kNoRuntime : real(arguments...);
}

}  // namespace

SOLMARK_INTERPOSED int cudaMalloc(void** pointer, std::size_t bytes) {
  static int (*real)(void**, std::size_t) = nullptr;
  if (active_scratch() == nullptr) return call_real(real, "cudaMalloc", kRuntime, pointer, bytes);
  return give(pointer, bytes);
}

SOLMARK_INTERPOSED int cudaMallocAsync(void** pointer, std::size_t bytes, void* stream) {
  static int (*real)(void**, std::size_t, void*) = nullptr;
  if (active_scratch() == nullptr)
    return call_real(real, "cudaMallocAsync", kRuntime, pointer, bytes, stream);
  return give(pointer, bytes, stream);
}

SOLMARK_INTERPOSED int cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool, void* stream) {
  static int (*real)(void**, std::size_t, void*, void*) = nullptr;
  if (active_scratch() == nullptr)
    return call_real(real, "cudaMallocFromPoolAsync", kRuntime, pointer, bytes, pool, stream);
  return give(pointer, bytes, stream);
}

SOLMARK_INTERPOSED int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                                       std::size_t height) {
  static int (*real)(void**, std::size_t*, std::size_t, std::size_t) = nullptr;
  if (active_scratch() == nullptr)
    return call_real(real, "cudaMallocPitch", kRuntime, pointer, pitch, width, height);
  if (pitch == nullptr || width > SIZE_MAX - kPitch) return kInvalidValue;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  if (height != 0 && *pitch > SIZE_MAX / height) return kOutOfMemory;
  return give(pointer, *pitch * height);
}

SOLMARK_INTERPOSED int cudaFree(void* pointer) {
  static int (*real)(void*) = nullptr;
  auto* scratch = active_scratch();
  if (scratch != nullptr && pointer != nullptr && scratch->release_after_idle(pointer)) return kSuccess;
  // Also cudaFree(nullptr), which programs use to start the runtime.
  return call_real(real, "cudaFree", kRuntime, pointer);
}

SOLMARK_INTERPOSED int cudaFreeAsync(void* pointer, void* stream) {
  static int (*real)(void*, void*) = nullptr;
  auto* scratch = active_scratch();
  if (scratch != nullptr && pointer != nullptr && scratch->release(pointer, stream)) return kSuccess;
  return call_real(real, "cudaFreeAsync", kRuntime, pointer, stream);
}

// The driver's own, for candidates that are linked to it.
namespace {

template <class... Stream>
int give_driver(std::uint64_t* pointer, std::size_t bytes, Stream... stream) {
  if (pointer == nullptr || bytes == 0) return kInvalidValue;
  void* given = nullptr;
  const int result = give(&given, bytes, stream...);
  *pointer = reinterpret_cast<std::uint64_t>(given);
  return result;
}

}  // namespace

// By these names, which cuda.h's macros and prototypes must not touch: hence the assembler labels.
SOLMARK_INTERPOSED int solmark_mem_alloc(std::uint64_t* pointer, std::size_t bytes) __asm__("cuMemAlloc_v2");
SOLMARK_INTERPOSED int solmark_mem_alloc_async(std::uint64_t* pointer, std::size_t bytes,
                                               void* stream) __asm__("cuMemAllocAsync");
SOLMARK_INTERPOSED int solmark_mem_free(std::uint64_t pointer) __asm__("cuMemFree_v2");
SOLMARK_INTERPOSED int solmark_mem_free_async(std::uint64_t pointer, void* stream) __asm__("cuMemFreeAsync");

int solmark_mem_alloc(std::uint64_t* pointer, std::size_t bytes) {
  static int (*real)(std::uint64_t*, std::size_t) = nullptr;
  if (active_scratch() == nullptr) return call_real(real, "cuMemAlloc_v2", kDriver, pointer, bytes);
  return give_driver(pointer, bytes);
}

int solmark_mem_alloc_async(std::uint64_t* pointer, std::size_t bytes, void* stream) {
  static int (*real)(std::uint64_t*, std::size_t, void*) = nullptr;
  if (active_scratch() == nullptr) return call_real(real, "cuMemAllocAsync", kDriver, pointer, bytes, stream);
  return give_driver(pointer, bytes, stream);
}

int solmark_mem_free(std::uint64_t pointer) {
  static int (*real)(std::uint64_t) = nullptr;
  auto* scratch = active_scratch();
  if (scratch != nullptr && scratch->release_after_idle(reinterpret_cast<void*>(pointer))) return kSuccess;
  return call_real(real, "cuMemFree_v2", kDriver, pointer);
}

int solmark_mem_free_async(std::uint64_t pointer, void* stream) {
  static int (*real)(std::uint64_t, void*) = nullptr;
  auto* scratch = active_scratch();
  if (scratch != nullptr && scratch->release(reinterpret_cast<void*>(pointer), stream)) return kSuccess;
  return call_real(real, "cuMemFreeAsync", kDriver, pointer, stream);
}

#endif
