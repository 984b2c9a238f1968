#include "gpu/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>

namespace solmark::gpu {

namespace {

// NVML's C interface, as far as it is used here.
constexpr int kOk = 0;
constexpr int kInsufficientSize = 7;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;

struct ProcessInfo {  // nvmlProcessInfo_t of the _v3 function
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance_id;
  unsigned int compute_instance_id;
};

template <class Function>
void resolve(void* library, const char* name, Function& slot) {
  slot = reinterpret_cast<Function>(dlsym(library, name));
}

// The parent's process number, 0 when the process is gone.
int parent_of(int process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(in, text);
  // The command name may hold anything, so count from its closing bracket: "pid (name) state ppid".
  const auto bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 4 >= text.size()) return 0;
  return std::atoi(text.c_str() + bracket + 4);
}

bool descends_from(int process, int ancestor) {
  for (int depth = 0; process > 0 && depth < 64; ++depth) {
    if (process == ancestor) return true;
    process = parent_of(process);
  }
  return false;
}

}  // namespace

struct NvmlTable {
  int (*init)() = nullptr;
  int (*device_by_pci)(const char*, void**) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned int) = nullptr;
  int (*clock)(void*, int, unsigned int*) = nullptr;
  int (*max_clock)(void*, int, unsigned int*) = nullptr;
  int (*temperature)(void*, int, unsigned int*) = nullptr;
  int (*power)(void*, unsigned int*) = nullptr;
  int (*throttle)(void*, unsigned long long*) = nullptr;
  int (*processes)(void*, unsigned int*, ProcessInfo*) = nullptr;

  [[nodiscard]] Error error(int code, const std::string& what) const {
    const char* text = error_string != nullptr ? error_string(code) : nullptr;
    return machine_error(what + ": " + (text != nullptr ? text : "NVML error " + std::to_string(code)));
  }
};

namespace {

std::optional<double> megahertz(int (*ask)(void*, int, unsigned int*), void* device, int which) {
  unsigned int value = 0;
  if (ask == nullptr || ask(device, which, &value) != kOk) return std::nullopt;
  return value * 1e6;
}

std::optional<std::vector<int>> processes_on(const NvmlTable& table, void* device) {
  if (table.processes == nullptr) return std::nullopt;
  std::vector<ProcessInfo> infos(16);
  // The list may grow between two calls.
  for (int attempt = 0; attempt < 4; ++attempt) {
    auto count = static_cast<unsigned int>(infos.size());
    const int code = table.processes(device, &count, infos.data());
    if (code == kOk) {
      std::vector<int> out;
      for (unsigned int i = 0; i < count; ++i) out.push_back(static_cast<int>(infos[i].pid));
      return out;
    }
    if (code != kInsufficientSize) return std::nullopt;
    infos.resize(count + 16);
  }
  return std::nullopt;
}

}  // namespace

Result<Nvml> Nvml::open(const std::string& pci_bus_id) {
  return open_library("libnvidia-ml.so.1", pci_bus_id);
}

Result<Nvml> Nvml::open_library(const std::string& file, const std::string& pci_bus_id) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return machine_error("cannot open NVML: " + std::string(reason ? reason : file),
                         "install the NVIDIA driver");
  }
  auto table = std::make_shared<NvmlTable>();
  resolve(library, "nvmlInit_v2", table->init);
  resolve(library, "nvmlDeviceGetHandleByPciBusId_v2", table->device_by_pci);
  resolve(library, "nvmlErrorString", table->error_string);
  resolve(library, "nvmlSystemGetDriverVersion", table->driver_version);
  resolve(library, "nvmlDeviceGetClockInfo", table->clock);
  resolve(library, "nvmlDeviceGetMaxClockInfo", table->max_clock);
  resolve(library, "nvmlDeviceGetTemperature", table->temperature);
  resolve(library, "nvmlDeviceGetPowerUsage", table->power);
  resolve(library, "nvmlDeviceGetCurrentClocksEventReasons", table->throttle);
  if (table->throttle == nullptr)
    resolve(library, "nvmlDeviceGetCurrentClocksThrottleReasons", table->throttle);
  resolve(library, "nvmlDeviceGetComputeRunningProcesses_v3", table->processes);
  if (table->init == nullptr || table->device_by_pci == nullptr) {
    return machine_error(file + " is not an NVML of driver 510 or later", "update the NVIDIA driver");
  }
  if (const int code = table->init(); code != kOk) return table->error(code, "starting NVML");
  void* device = nullptr;
  if (const int code = table->device_by_pci(pci_bus_id.c_str(), &device); code != kOk) {
    return table->error(code, "finding the GPU at " + pci_bus_id + " in NVML");
  }
  return Nvml(std::move(table), device);
}

GpuState Nvml::state() const {
  GpuState out;
  out.sm_clock_hz = megahertz(table_->clock, device_, kClockSm);
  out.memory_clock_hz = megahertz(table_->clock, device_, kClockMemory);
  unsigned int value = 0;
  if (table_->temperature != nullptr && table_->temperature(device_, kTemperatureGpu, &value) == kOk) {
    out.temperature_c = value;
  }
  if (table_->power != nullptr && table_->power(device_, &value) == kOk) out.power_w = value * 1e-3;
  unsigned long long reasons = 0;
  if (table_->throttle != nullptr && table_->throttle(device_, &reasons) == kOk)
    out.throttle_reasons = reasons;
  out.compute_processes = processes_on(*table_, device_);
  return out;
}

GpuClocks Nvml::max_clocks() const {
  return {megahertz(table_->max_clock, device_, kClockSm),
          megahertz(table_->max_clock, device_, kClockMemory)};
}

Result<std::string> Nvml::driver_version() const {
  char text[96] = {};
  if (table_->driver_version == nullptr) return machine_error("this NVML does not tell the driver's version");
  const int code = table_->driver_version(text, sizeof text);
  if (code != kOk) return table_->error(code, "asking NVML for the driver's version");
  return std::string(text);
}

std::optional<int> count_foreign(const std::vector<int>& processes, int self, bool self_must_be_listed) {
  const bool listed = std::find(processes.begin(), processes.end(), self) != processes.end();
  if (self_must_be_listed && !listed) return std::nullopt;
  return static_cast<int>(std::count_if(processes.begin(), processes.end(),
                                        [self](int process) { return !descends_from(process, self); }));
}

}  // namespace solmark::gpu
