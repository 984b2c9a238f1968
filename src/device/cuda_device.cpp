#include "device/cuda_device.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "device/cuda_region.h"
#include "device/window.h"
#include "gpu/judge_kernels.h"
#include "gpu/nvml.h"

namespace solmark::device {
namespace {

// A region's bytes [offset, offset + bytes) as a device address, or an Error when they are not all there.
Result<std::uint64_t> part(const Region& region, std::size_t offset, std::size_t bytes) {
  if (offset > region.bytes() || bytes > region.bytes() - offset) {
    return internal_error(
        fmt::format("bytes [{}, {}+{}) are outside a region of {}", offset, offset, bytes, region.bytes()));
  }
  return region.address() + offset;
}

class CudaDevice : public Device {
 public:
  CudaDevice(std::shared_ptr<CudaMemory> memory, gpu::JudgeKernels kernels, DeviceInfo info,
             std::optional<gpu::Nvml> nvml)
      : memory_(std::move(memory)),
        kernels_(std::move(kernels)),
        info_(std::move(info)),
        nvml_(std::move(nvml)) {}
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override { (void)idle(); }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  Result<std::size_t> available_bytes() override {
    SOLMARK_CHECK_OK(use());
    std::size_t free = 0;
    std::size_t total = 0;
    SOLMARK_CHECK_OK(check(driver().cuMemGetInfo(&free, &total), "asking for the free memory"));
    // The oracle, the worker and the replayer each need a context, and the candidate scratch.
    const std::size_t kept = std::min(free / 4, std::size_t{8} << 30);
    return std::min<std::size_t>(free - kept, memory_->judge.largest_free());
  }

  Result<std::unique_ptr<Region>> allocate(const std::string& label, std::size_t bytes) override {
    SOLMARK_TRY(std::unique_ptr<CudaRegion> region, CudaRegion::allocate(memory_, label, bytes));
    return std::unique_ptr<Region>(std::move(region));
  }
  Result<std::unique_ptr<Region>> allocate_at(const std::string& label, std::uint64_t address,
                                              std::size_t bytes) override {
    SOLMARK_TRY(std::unique_ptr<CudaRegion> region, CudaRegion::allocate_at(memory_, label, address, bytes));
    return std::unique_ptr<Region>(std::move(region));
  }
  Result<std::unique_ptr<Region>> import(Fd fd, std::uint64_t address, std::size_t bytes) override {
    SOLMARK_TRY(std::unique_ptr<CudaRegion> region, CudaRegion::import(memory_, fd, address, bytes));
    return std::unique_ptr<Region>(std::move(region));
  }

  Status read(void* host, const Region& from, std::size_t offset, std::size_t bytes) override {
    SOLMARK_TRY(const std::uint64_t source, part(from, offset, bytes));
    if (bytes == 0) return success();
    SOLMARK_CHECK_OK(use());
    SOLMARK_CHECK_OK(
        check(driver().cuMemcpyDtoHAsync(host, source, bytes, stream()), "reading device memory"));
    return memory_->context.synchronize();
  }
  Status write(Region& to, std::size_t offset, const void* host, std::size_t bytes) override {
    SOLMARK_TRY(const std::uint64_t target, part(to, offset, bytes));
    return write_at(target, host, bytes);
  }

  Status fill(Region& to, std::size_t offset, std::size_t bytes, std::uint32_t pattern) override {
    SOLMARK_TRY(const std::uint64_t target, part(to, offset, bytes));
    SOLMARK_CHECK_OK(use());
    // The driver fills aligned words; the few bytes around them are written. Byte i of the range is byte i %
    // 4 of the pattern, so a shifted start rotates it.
    const std::size_t head = std::min<std::size_t>((4 - target % 4) % 4, bytes);
    const std::size_t words = (bytes - head) / 4;
    const std::size_t tail = bytes - head - 4 * words;
    const auto shift = static_cast<unsigned>(8 * head);
    const std::uint32_t rotated = shift == 0 ? pattern : (pattern >> shift) | (pattern << (32 - shift));
    SOLMARK_CHECK_OK(write_at(target, &pattern, head));
    if (words > 0) {
      SOLMARK_CHECK_OK(
          check(driver().cuMemsetD32Async(target + head, rotated, words, stream()), "filling device memory"));
    }
    return write_at(target + head + 4 * words, &rotated, tail);
  }

  Result<stats::CompareCounts> compare(const stats::CompareSpec& spec, const Region& got,
                                       std::size_t got_offset, const Region& expected,
                                       std::size_t expected_offset, std::size_t elements) override {
    const std::size_t size = problem::dtype_is_packed(spec.dtype) ? 1 : problem::dtype_bits(spec.dtype) / 8;
    if (elements > got.bytes())
      return internal_error(fmt::format("comparing {} elements of a smaller region", elements));
    SOLMARK_TRY(const std::uint64_t x, part(got, got_offset, elements * size));
    SOLMARK_TRY(const std::uint64_t y, part(expected, expected_offset, elements * size));
    // A misaligned load would end the context for good.
    if ((x | y) % size != 0) return internal_error("comparing elements at misaligned offsets");
    SOLMARK_CHECK_OK(use());
    return kernels_.compare(spec, x, y, elements);
  }

  Result<std::vector<bool>> equal(const std::vector<RangePair>& pairs) override {
    std::vector<gpu::BytePair> ranges;
    ranges.reserve(pairs.size());
    for (const RangePair& pair : pairs) {
      SOLMARK_TRY(const std::uint64_t x, part(*pair.a, pair.a_offset, pair.bytes));
      SOLMARK_TRY(const std::uint64_t y, part(*pair.b, pair.b_offset, pair.bytes));
      ranges.push_back({x, y, pair.bytes});
    }
    SOLMARK_CHECK_OK(use());
    return kernels_.equal(ranges);
  }

  Status deal(Region& to, const Region& from, std::size_t bytes,
              const std::vector<std::uint32_t>& pieces) override {
    if (pieces.empty() || bytes == 0) return success();
    if (bytes % 16 != 0) return internal_error(fmt::format("pieces of {} bytes are not aligned", bytes));
    const std::size_t last = *std::max_element(pieces.begin(), pieces.end());
    if (pieces.size() > to.bytes() / bytes || last >= from.bytes() / bytes)
      return internal_error(fmt::format("{} pieces of {} bytes, the last from place {}, are not all there",
                                        pieces.size(), bytes, last));
    SOLMARK_CHECK_OK(use());
    return kernels_.deal(to.address(), from.address(), bytes, pieces);
  }

  Status flush_caches(const std::vector<const Region*>&) override {
    // Other data take the place of everything there.
    SOLMARK_CHECK_OK(use());
    return kernels_.flush_caches();
  }
  Status idle() override {
    SOLMARK_CHECK_OK(use());
    return memory_->context.synchronize();
  }

  RunState state() override {
    RunState out;
    if (!nvml_) return out;
    const gpu::GpuState now = nvml_->state();
    out.sm_clock_hz = now.sm_clock_hz.value_or(-1);
    out.memory_clock_hz = now.memory_clock_hz.value_or(-1);
    out.temperature_c = now.temperature_c.value_or(-1);
    out.power_w = now.power_w.value_or(-1);
    if (now.throttle_reasons) out.throttle_reasons = static_cast<std::int64_t>(*now.throttle_reasons);
    if (now.compute_processes) {
      out.foreign_processes = gpu::count_foreign(*now.compute_processes, getpid(), true).value_or(-1);
    }
    return out;
  }

 private:
  [[nodiscard]] const gpu::Driver& driver() const { return memory_->context.driver(); }
  [[nodiscard]] CUstream stream() const { return memory_->context.stream(); }
  [[nodiscard]] Status use() const { return memory_->context.make_current(); }
  [[nodiscard]] Status check(CUresult result, const char* what) const { return driver().check(result, what); }

  Status write_at(std::uint64_t target, const void* host, std::size_t bytes) {
    if (bytes == 0) return success();
    SOLMARK_CHECK_OK(use());
    SOLMARK_CHECK_OK(
        check(driver().cuMemcpyHtoDAsync(target, host, bytes, stream()), "writing device memory"));
    return memory_->context.synchronize();
  }

  std::shared_ptr<CudaMemory> memory_;
  gpu::JudgeKernels kernels_;  // before memory_ ends
  DeviceInfo info_;
  std::optional<gpu::Nvml> nvml_;
};

Status require(const gpu::Context& context, CUdevice_attribute attribute, const char* what) {
  SOLMARK_TRY(const int value, context.attribute(attribute));
  if (value != 0) return success();
  return machine_error(fmt::format("cuda:{} cannot {}", context.index(), what),
                       "use a GPU and driver with virtual memory management");
}

Result<DeviceInfo> describe(const gpu::Context& context) {
  const gpu::Driver& driver = context.driver();
  DeviceInfo info;
  info.kind = "cuda";
  info.index = context.index();
  std::array<char, 256> name{};
  SOLMARK_CHECK_OK(
      driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), context.device()),
                   "asking for the GPU's name"));
  info.name = name.data();
  info.driver = fmt::format("CUDA {}.{}", driver.version / 1000, driver.version % 1000 / 10);
  SOLMARK_TRY(const int major, context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  SOLMARK_TRY(const int minor, context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  info.compute_capability = 10 * major + minor;
  SOLMARK_TRY(info.multiprocessors, context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  SOLMARK_TRY(const int cache, context.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  info.last_level_cache_bytes = static_cast<std::size_t>(cache);
  SOLMARK_CHECK_OK(driver.check(driver.cuDeviceTotalMem(&info.memory_bytes, context.device()),
                                "asking for the GPU's memory"));
  return info;
}

Result<std::unique_ptr<Device>> open(const gpu::Driver& driver, int index, bool with_nvml) {
  // First of all: what a context maps might otherwise lie in the window.
  SOLMARK_CHECK_OK(gpu::reserve_window(driver));
  SOLMARK_TRY(gpu::Context context, gpu::Context::open(driver, index));
  SOLMARK_CHECK_OK(require(context, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                           "map memory at chosen addresses"));
  SOLMARK_CHECK_OK(require(context, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                           "share memory by file descriptor"));
  SOLMARK_TRY(DeviceInfo info, describe(context));
  std::optional<gpu::Nvml> nvml;
  std::array<char, 32> bus{};
  if (with_nvml && driver.cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), context.device()) ==
                       CUDA_SUCCESS) {
    // Without NVML everything works; the state around a batch is unknown then.
    if (Result<gpu::Nvml> opened = gpu::Nvml::open(bus.data()); opened.ok()) {
      if (Result<std::string> version = opened->driver_version(); version.ok()) info.driver = *version;
      nvml = std::move(*opened);
    }
  }
  SOLMARK_TRY(const std::size_t granularity, gpu::allocation_granularity(driver, index));
  auto memory = std::make_shared<CudaMemory>(
      CudaMemory{std::move(context), granularity, gpu::AddressSpace(kWindowBase, kJudgeBytes, granularity),
                 gpu::AddressSpace(kScratchBase, kScratchBytes, granularity)});
  SOLMARK_TRY(gpu::JudgeKernels kernels, gpu::JudgeKernels::load(memory->context));
  return std::unique_ptr<Device>(
      std::make_unique<CudaDevice>(std::move(memory), std::move(kernels), std::move(info), std::move(nvml)));
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device_with(const gpu::Driver& driver, int index) {
  return open(driver, index, false);
}

Result<std::unique_ptr<Device>> open_cuda_device(int index) {
  SOLMARK_TRY(const gpu::Driver* driver, gpu::driver());
  return open(*driver, index, true);
}

}  // namespace solmark::device

#else

#include "gpu/driver.h"

namespace solmark::device {

Result<std::unique_ptr<Device>> open_cuda_device(int) {
  SOLMARK_TRY([[maybe_unused]] const gpu::Driver* driver, gpu::driver());
  return internal_error("a driver was found by a build that has none");
}

}  // namespace solmark::device

#endif
