/* The part of the DLPack 1.x ABI that candidates need (https://dmlc.github.io/dlpack/latest/c_api.html).
 * Include your own <dlpack/dlpack.h> before this header and it steps aside. */
#ifndef SOLMARK_DLPACK_H_
#define SOLMARK_DLPACK_H_
#include <stdint.h>
#ifndef DLPACK_DLPACK_H_
#ifdef __cplusplus
extern "C" {
#endif
typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef enum {
  kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6,
  kDLFloat8_e4m3fn = 10, kDLFloat8_e5m2 = 12, kDLFloat4_e2m1fn = 17
} DLDataTypeCode;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; never NULL here */
  uint64_t byte_offset;
} DLTensor;
#ifdef __cplusplus
}
#endif
#endif
#endif
