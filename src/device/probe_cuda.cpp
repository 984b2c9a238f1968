#include "device/probe_cuda.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "arch/registry.h"
#include "gpu/context.h"
#include "gpu/module.h"
#include "gpu/nvml.h"

namespace solmark::device {
namespace {

using arch::Arch;
using arch::Certainty;
using arch::Figure;
using SteadyClock = std::chrono::steady_clock;

// The part whose per-clock figures are the highest among those of a compute capability: ceilings for them
// all.
struct Known {
  int capability;
  const char* arch;
};
constexpr Known kKnown[] = {{80, "a100-sxm"}, {90, "h100-sxm"}, {100, "b200"}};

struct Attributes {
  int multiprocessors = 0;
  int capability = 0;
  std::size_t cache_bytes = 0;
  std::size_t memory_bytes = 0;
  std::size_t shared_bytes = 0;  // of one multiprocessor, what blocks may use
  std::size_t register_bytes = 0;
  double sm_clock_hz = 0;
  double memory_clock_hz = 0;
  int bus_bits = 0;
  std::string name;
};

Result<Attributes> attributes_of(const gpu::Context& context) {
  const gpu::Driver& driver = context.driver();
  Attributes out;
  std::array<char, 256> name{};
  SOLMARK_CHECK_OK(
      driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), context.device()),
                   "asking for the GPU's name"));
  out.name = name.data();
  SOLMARK_CHECK_OK(driver.check(driver.cuDeviceTotalMem(&out.memory_bytes, context.device()),
                                "asking for the GPU's memory"));
  SOLMARK_TRY(const int major, context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  SOLMARK_TRY(const int minor, context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  out.capability = 10 * major + minor;
  SOLMARK_TRY(out.multiprocessors, context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  // What a driver does not tell is 0 and stays out of the file.
  const auto ask = [&](CUdevice_attribute attribute) {
    const auto value = context.attribute(attribute);
    return value.ok() ? *value : 0;
  };
  out.cache_bytes = static_cast<std::size_t>(ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  out.shared_bytes = static_cast<std::size_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  out.register_bytes =
      4 * static_cast<std::size_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
  out.bus_bits = ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  out.sm_clock_hz = 1e3 * ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  out.memory_clock_hz = 1e3 * ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  std::array<char, 32> bus{};
  if (driver.cuDeviceGetPCIBusId != nullptr &&
      driver.cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), context.device()) ==
          CUDA_SUCCESS) {
    if (auto nvml = gpu::Nvml::open(bus.data()); nvml.ok()) {
      const gpu::GpuClocks clocks = nvml->max_clocks();
      out.sm_clock_hz = std::max(out.sm_clock_hz, clocks.max_sm_hz.value_or(0));
      out.memory_clock_hz = std::max(out.memory_clock_hz, clocks.max_memory_hz.value_or(0));
    }
  }
  return out;
}

// Device memory of the probe's own.
class Memory {
 public:
  static Result<Memory> make(const gpu::Context& context, std::size_t bytes) {
    Memory out(context);
    SOLMARK_CHECK_OK(context.driver().check(context.driver().cuMemAlloc(&out.address_, bytes),
                                            "allocating memory to measure with"));
    return out;
  }
  Memory(Memory&& other) noexcept : context_(other.context_), address_(std::exchange(other.address_, 0)) {}
  Memory& operator=(Memory&&) = delete;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (address_ != 0) (void)context_->driver().cuMemFree(address_);
  }
  [[nodiscard]] CUdeviceptr address() const { return address_; }

 private:
  explicit Memory(const gpu::Context& context) : context_(&context) {}
  const gpu::Context* context_;
  CUdeviceptr address_ = 0;
};

struct Bandwidths {
  double read = 0, write = 0, copy = 0;  // bytes/s; copy: both ways together
};

// The best of several passes over `bytes`, which must be many times the cache.
Result<Bandwidths> measure(const gpu::Context& context, const Attributes& attributes) {
  const gpu::Driver& driver = context.driver();
  const std::size_t bytes =
      std::min<std::size_t>(std::size_t{4} << 30, attributes.memory_bytes / 8) & ~std::size_t{255};
  SOLMARK_TRY(const Memory from, Memory::make(context, bytes));
  SOLMARK_TRY(const Memory to, Memory::make(context, bytes));
  SOLMARK_TRY(gpu::Module kernels, gpu::Module::load(context, gpu::memory_image(), "memory"));
  const auto best = [&](double traffic, const std::function<Status()>& work) -> Result<double> {
    double fastest = 0;
    for (int run = 0; run < 8; ++run) {
      SOLMARK_CHECK_OK(context.synchronize());
      const auto start = SteadyClock::now();
      SOLMARK_CHECK_OK(work());
      SOLMARK_CHECK_OK(context.synchronize());
      const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
      fastest = std::max(fastest, traffic / std::max(seconds, 1e-9));
    }
    return fastest;
  };
  const auto size = static_cast<double>(bytes);
  Bandwidths out;
  const auto fill = [&](const Memory& memory) {
    return driver.check(driver.cuMemsetD32Async(memory.address(), 0x3c3c3c3cU, bytes / 4, context.stream()),
                        "filling memory");
  };
  SOLMARK_CHECK_OK(fill(from));
  SOLMARK_TRY(out.write, best(size, [&] { return fill(to); }));
  SOLMARK_TRY(out.read, best(size, [&] {
                CUdeviceptr data = from.address();
                CUdeviceptr sink = to.address();
                unsigned long long count = bytes / 16;
                unsigned key = 0x9e3779b9U;
                void* parameters[] = {&data, &count, &key, &sink};
                return kernels.launch("solmark_read", 16 * static_cast<unsigned>(attributes.multiprocessors),
                                      256, parameters);
              }));
  SOLMARK_TRY(out.copy, best(2 * size, [&] {
                return driver.check(
                    driver.cuMemcpyDtoDAsync(to.address(), from.address(), bytes, context.stream()),
                    "copying memory");
              }));
  return out;
}

std::optional<Arch> known_part(int capability) {
  for (const Known& known : kKnown) {
    if (known.capability != capability) continue;
    if (auto found = arch::find_arch(known.arch); found.ok()) return std::move(*found);
  }
  return std::nullopt;
}

// Per-clock and per-multiprocessor figures, for which a driver has no question.
void take_from_part(Arch& out, const Arch& part, int capability) {
  const auto taken = [&](const Figure& figure) {
    return Figure{figure.value,
                  fmt::format("as {}, of the same compute capability {}.{}", part.name, capability / 10,
                              capability % 10),
                  figure.certainty == Certainty::kVendor ? Certainty::kDerived : figure.certainty};
  };
  for (const auto& [format, figure] : part.tensor) out.tensor[format] = taken(figure);
  for (const auto& [format, figure] : part.vector) out.vector[format] = taken(figure);
  for (const auto member : {&Arch::memory_sector_bytes, &Arch::cache_bytes_per_clock_unit,
                            &Arch::tensor_memory_bytes_per_unit, &Arch::lanes_per_clock_unit,
                            &Arch::special_results_per_clock_unit, &Arch::shared_bytes_per_clock_unit,
                            &Arch::cluster_units, &Arch::latency_floor_s, &Arch::dependent_clocks}) {
    if (part.*member) out.*member = taken(*(part.*member));
  }
}

Arch describe(const Attributes& a, const Bandwidths& measured) {
  Arch out;
  out.name = "gpu";
  out.title = a.name;
  out.kind = arch::Kind::kGpu;
  if (const auto part = known_part(a.capability)) take_from_part(out, *part, a.capability);
  const auto told = [](double value, const char* by) { return Figure{value, by, Certainty::kVendor}; };
  out.units = told(a.multiprocessors, "the driver's count of multiprocessors");
  if (a.sm_clock_hz > 0)
    out.clock_max_hz = told(a.sm_clock_hz, "the highest SM clock that driver or NVML tell");
  out.memory_bytes = told(static_cast<double>(a.memory_bytes), "the driver's total memory");
  if (a.cache_bytes > 0) out.cache_bytes = told(static_cast<double>(a.cache_bytes), "the driver's L2 size");
  if (a.shared_bytes > 0)
    out.shared_bytes_per_unit =
        told(static_cast<double>(a.shared_bytes), "the driver's shared memory of a multiprocessor");
  if (a.register_bytes > 0)
    out.register_bytes_per_unit =
        told(static_cast<double>(a.register_bytes), "the driver's registers of a multiprocessor");
  const std::string seen =
      fmt::format("measured here, best of 8 passes: reads {:.4g}, writes {:.4g}, copies {:.4g} TB/s",
                  measured.read * 1e-12, measured.write * 1e-12, measured.copy * 1e-12);
  const double highest = std::max({measured.read, measured.write, measured.copy});
  const double pins =
      a.memory_clock_hz * 2 * a.bus_bits / 8;  // two transfers a clock, as the driver counts clocks
  if (pins > highest) {
    out.memory_bytes_per_s = Figure{pins,
                                    fmt::format("{} bit x {:.6g} MHz x 2 / 8, by the driver; {}", a.bus_bits,
                                                a.memory_clock_hz * 1e-6, seen),
                                    Certainty::kDerived};
  } else {
    constexpr double kMargin = 1.15;  // a good kernel may do better than these three
    out.memory_bytes_per_s =
        Figure{highest * kMargin, seen + ", the highest raised by 15 %", Certainty::kMeasured};
  }
  return out;
}

}  // namespace

Result<Arch> probe_cuda_with(const gpu::Driver& driver, int index) {
  SOLMARK_TRY(const gpu::Context context, gpu::Context::open(driver, index));
  SOLMARK_TRY(const Attributes attributes, attributes_of(context));
  SOLMARK_TRY(const Bandwidths measured, measure(context, attributes));
  Arch out = describe(attributes, measured);
  SOLMARK_CHECK_OK(arch::check_arch(out));
  return out;
}

Result<Arch> probe_cuda(int index) {
  SOLMARK_TRY(const gpu::Driver* driver, gpu::driver());
  return probe_cuda_with(*driver, index);
}

}  // namespace solmark::device

#else

namespace solmark::device {

Result<arch::Arch> probe_cuda(int) {
  return machine_error("this build has no cuda device", "build with the CUDA toolkit and -DSOLMARK_CUDA=ON");
}

}  // namespace solmark::device

#endif
