#include <charconv>

#include "device/cpu_device.h"
#include "device/cuda_device.h"
#include "device/device.h"

namespace solmark::device {

Result<std::optional<int>> cuda_index(const std::string& name) {
  if (name == "cpu") return std::optional<int>();
  int index = 0;
  bool known = name == "cuda";
  if (name.rfind("cuda:", 0) == 0) {
    const char* end = name.data() + name.size();
    auto [at, code] = std::from_chars(name.data() + 5, end, index);
    known = code == std::errc() && at == end && index >= 0;
  }
  if (!known) return usage_error("unknown device \"" + name + "\"", "use cpu, cuda or cuda:N");
  return std::optional<int>(index);
}

Result<std::unique_ptr<Device>> open_device(const std::string& name) {
  SOLMARK_TRY(const std::optional<int> index, cuda_index(name));
  if (!index) return open_cpu_device();
  return open_cuda_device(*index);
}

}  // namespace solmark::device
