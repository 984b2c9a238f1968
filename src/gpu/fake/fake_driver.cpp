#include "gpu/fake/fake_driver.h"

#if SOLMARK_HAVE_CUDA

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "gpu/fake/fake_kernels.h"

namespace solmark::gpu {
namespace {

struct Handle {
  int fd;
  std::size_t bytes;
};

struct World {
  FakeGpu gpu;
  std::map<CUdeviceptr, std::size_t> reserved, mapped;
  std::map<CUmemGenericAllocationHandle, Handle> handles;
  CUmemGenericAllocationHandle next_handle = 1;
  std::set<std::string> functions;
  int last_module = 0;
};
World& world() {
  static World instance;
  return instance;
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// A handle that only its address tells apart.
template <class T>
T token(int& place) {
  return reinterpret_cast<T>(&place);
}

bool inside_reservation(CUdeviceptr address, std::size_t bytes) {
  for (const auto& [base, size] : world().reserved) {
    if (address >= base && bytes <= size && address - base <= size - bytes) return true;
  }
  return false;
}

bool overlaps_mapping(CUdeviceptr address, std::size_t bytes) {
  for (const auto& [base, size] : world().mapped) {
    if (address < base + size && base < address + bytes) return true;
  }
  return false;
}

CUresult reserve(CUdeviceptr* out, std::size_t bytes, std::size_t, CUdeviceptr hint, unsigned long long) {
  if (world().gpu.moves_window) {
    *out = hint + (std::uint64_t{1} << 40);
    return CUDA_SUCCESS;
  }
  if (!world().reserved.contains(hint)) {
    void* got = mmap(pointer(hint), bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != pointer(hint)) return CUDA_ERROR_OUT_OF_MEMORY;
    world().reserved[hint] = bytes;
  }
  *out = hint;
  return CUDA_SUCCESS;
}

CUresult add_handle(CUmemGenericAllocationHandle* out, int fd, std::size_t bytes) {
  *out = world().next_handle++;
  world().handles[*out] = {fd, bytes};
  ++world().gpu.live_handles;
  world().gpu.used_bytes += bytes;
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* out, std::size_t bytes, const CUmemAllocationProp* properties,
                unsigned long long) {
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      bytes % FakeGpu::kGranularity != 0 || bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (world().gpu.used_bytes + bytes > world().gpu.memory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const int fd = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  return add_handle(out, fd, bytes);
}

CUresult import(CUmemGenericAllocationHandle* out, void* shared, CUmemAllocationHandleType) {
  const int fd = fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(shared)), F_DUPFD_CLOEXEC, 0);
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  return add_handle(out, fd, static_cast<std::size_t>(status.st_size));
}

CUresult export_handle(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType,
                       unsigned long long) {
  const int fd = fcntl(world().handles.at(handle).fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(out) = fd;
  return CUDA_SUCCESS;
}

CUresult release(CUmemGenericAllocationHandle handle) {
  auto it = world().handles.find(handle);
  if (it == world().handles.end()) return CUDA_ERROR_INVALID_VALUE;
  close(it->second.fd);
  world().gpu.used_bytes -= it->second.bytes;
  --world().gpu.live_handles;
  world().handles.erase(it);
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle handle,
             unsigned long long) {
  const Handle& memory = world().handles.at(handle);
  if (bytes != memory.bytes || address % FakeGpu::kGranularity != 0 || !inside_reservation(address, bytes) ||
      overlaps_mapping(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  void* got = mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory.fd, 0);
  if (got == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  world().mapped[address] = bytes;
  ++world().gpu.live_mappings;
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr address, std::size_t bytes) {
  auto it = world().mapped.find(address);
  if (it == world().mapped.end() || it->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  void* const reserved = mmap(pointer(address), bytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (reserved == MAP_FAILED) return CUDA_ERROR_UNKNOWN;
  world().mapped.erase(it);
  --world().gpu.live_mappings;
  return CUDA_SUCCESS;
}

CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                    std::size_t count) {
  if (world().gpu.refuses_access || count != 1) return CUDA_ERROR_INVALID_DEVICE;
  const int rights = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : PROT_READ | PROT_WRITE;
  return mprotect(pointer(address), bytes, rights) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult attribute(int* out, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      *out = world().gpu.has_vmm ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      *out = 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *out = 9;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *out = 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *out = world().gpu.bus_bits;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *out = world().gpu.memory_khz;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *out = 1'980'000;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *out = 4;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *out = 1 << 20;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult load_module(CUmodule* out, const void* image) {
  if (image == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  ++world().gpu.live_modules;
  *out = token<CUmodule>(world().last_module);
  return CUDA_SUCCESS;
}

CUresult get_function(CUfunction* out, CUmodule, const char* name) {
  // The set's strings stay where they are, and a function is its name's address.
  const std::string& kept = *world().functions.insert(name).first;
  *out = reinterpret_cast<CUfunction>(const_cast<std::string*>(&kept));
  return CUDA_SUCCESS;
}

CUresult launch(CUfunction function, unsigned grid, unsigned rows, unsigned, unsigned block, unsigned,
                unsigned, unsigned, CUstream, void** parameters, void**) {
  if (grid == 0 || rows == 0 || block == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::string& name = *reinterpret_cast<const std::string*>(function);
  world().gpu.launches.push_back(name);
  run_fake_kernel(name, rows, parameters);
  return CUDA_SUCCESS;
}

void fill_memory_functions(Driver& d) {
  d.cuMemAddressReserve = reserve;
  d.cuMemAddressFree = [](CUdeviceptr, std::size_t) { return CUDA_SUCCESS; };
  d.cuMemCreate = create;
  d.cuMemRelease = release;
  d.cuMemMap = map;
  d.cuMemUnmap = unmap;
  d.cuMemSetAccess = set_access;
  d.cuMemExportToShareableHandle = export_handle;
  d.cuMemImportFromShareableHandle = import;
  d.cuMemGetAllocationGranularity = [](std::size_t* out, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
    *out = FakeGpu::kGranularity;
    return CUDA_SUCCESS;
  };
  d.cuMemGetInfo = [](std::size_t* free, std::size_t* total) {
    *free = world().gpu.memory_bytes - world().gpu.used_bytes;
    *total = world().gpu.memory_bytes;
    return CUDA_SUCCESS;
  };
  d.cuMemAlloc = [](CUdeviceptr* out, std::size_t bytes) {
    *out = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
    ++world().gpu.live_buffers;
    return CUDA_SUCCESS;
  };
  d.cuMemFree = [](CUdeviceptr address) {
    std::free(pointer(address));
    --world().gpu.live_buffers;
    return CUDA_SUCCESS;
  };
  d.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    std::memcpy(pointer(to), from, bytes);
    return CUDA_SUCCESS;
  };
  d.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    std::memcpy(to, pointer(from), bytes);
    return CUDA_SUCCESS;
  };
  d.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
    std::memcpy(pointer(to), pointer(from), bytes);
    return CUDA_SUCCESS;
  };
  d.cuMemsetD8Async = [](CUdeviceptr to, unsigned char value, std::size_t count, CUstream) {
    std::memset(pointer(to), value, count);
    return CUDA_SUCCESS;
  };
  d.cuMemsetD32Async = [](CUdeviceptr to, unsigned int value, std::size_t count, CUstream) {
    // As the driver does: words must be aligned.
    if (to % 4 != 0) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(pointer(to + 4 * i), &value, 4);
    return CUDA_SUCCESS;
  };
}

void fill_device_functions(Driver& d) {
  d.cuInit = [](unsigned) { return CUDA_SUCCESS; };
  d.cuDeviceGetCount = [](int* out) {
    *out = world().gpu.devices;
    return CUDA_SUCCESS;
  };
  d.cuDeviceGet = [](CUdevice* out, int index) {
    *out = index;
    return CUDA_SUCCESS;
  };
  d.cuDeviceGetName = [](char* out, int size, CUdevice) {
    std::strncpy(out, "Fake GPU", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
  };
  d.cuDeviceTotalMem = [](std::size_t* out, CUdevice) {
    *out = world().gpu.memory_bytes;
    return CUDA_SUCCESS;
  };
  d.cuDeviceGetAttribute = attribute;
  d.cuDevicePrimaryCtxRetain = [](CUcontext* out, CUdevice) {
    *out = token<CUcontext>(++world().gpu.live_contexts);
    return CUDA_SUCCESS;
  };
  d.cuDevicePrimaryCtxRelease = [](CUdevice) {
    --world().gpu.live_contexts;
    return CUDA_SUCCESS;
  };
  d.cuCtxSetCurrent = [](CUcontext context) { return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; };
  d.cuStreamCreate = [](CUstream* out, unsigned) {
    *out = token<CUstream>(++world().gpu.live_streams);
    return CUDA_SUCCESS;
  };
  d.cuStreamDestroy = [](CUstream) {
    --world().gpu.live_streams;
    return CUDA_SUCCESS;
  };
  d.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  d.cuModuleLoadData = load_module;
  d.cuModuleUnload = [](CUmodule) {
    --world().gpu.live_modules;
    return CUDA_SUCCESS;
  };
  d.cuModuleGetFunction = get_function;
  d.cuLaunchKernel = launch;
  d.cuGetErrorName = [](CUresult error, const char** out) {
    *out = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_FAKE";
    return CUDA_SUCCESS;
  };
  d.cuGetErrorString = [](CUresult error, const char** out) {
    *out = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "the fake says no";
    return CUDA_SUCCESS;
  };
}

}  // namespace

FakeGpu& fake_gpu() { return world().gpu; }

FakeGpu& reset_fake_gpu() {
  world().gpu = FakeGpu();
  return world().gpu;
}

Driver fake_driver() {
  Driver out;
  out.version = 13000;
  fill_memory_functions(out);
  fill_device_functions(out);
  return out;
}

}  // namespace solmark::gpu

#endif
