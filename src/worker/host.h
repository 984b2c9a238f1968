/* The seam between libsolmark_worker.so and the host that owns the candidate: the native program for shared
 * objects, Python for everything else. Plain C, so that Python reaches it by ctypes. */
#ifndef SOLMARK_WORKER_HOST_H_
#define SOLMARK_WORKER_HOST_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Results of a hook. Any other value counts as SOLMARK_CALL_FAILED. */
enum {
  SOLMARK_CALL_OK = 0,
  SOLMARK_CALL_FAILED = 1,      /* error kind "runtime" (or "load" from load) */
  SOLMARK_CALL_WRONG_SHAPE = 2, /* error kind "shape" */
  SOLMARK_CALL_WRONG_DTYPE = 3, /* error kind "dtype" */
  SOLMARK_CALL_WRONG_DEVICE = 4 /* error kind "device" */
};

typedef struct solmark_host_hooks {
  void* self;
  /* The load request as JSON. */
  int (*load)(void* self, const char* request_json, char* error, size_t error_size);
  /* The bind request as JSON, with a member "mapped" in every region: its address in this process. */
  int (*bind)(void* self, const char* request_json, char* error, size_t error_size);
  /* One call on a slot. `stream` is the CUstream to use, or NULL on the CPU. With `copy_out` a return-style
   * host copies its results into the bound outputs; without, it keeps them alive and reports them by
   * report_output. */
  int (*call)(void* self, int64_t slot, void* stream, int copy_out, char* error, size_t error_size);
} solmark_host_hooks;

/* From within a `call` without copy_out: where result `output` of this slot lies. */
void solmark_worker_report_output(int64_t slot, int32_t output, uint64_t address);
/* Window memory for a host's allocator (PyTorch's pluggable allocator): NULL when there is none left. */
void* solmark_worker_alloc(size_t bytes, int device, void* stream);
void solmark_worker_free(void* pointer, size_t bytes, int device, void* stream);
/* Serves the channel until it closes or `quit` comes; returns the exit code. */
int solmark_worker_run(int channel, const solmark_host_hooks* hooks);

#ifdef __cplusplus
}
#endif
#endif
