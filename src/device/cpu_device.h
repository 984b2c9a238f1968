// The host as a device: regions are memfds, the work is done on the judge's own threads.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace solmark::device {

Result<std::unique_ptr<Device>> open_cpu_device();

// Hardware threads this process may use (its affinity mask), lowest number first.
std::vector<int> usable_cpus();

}  // namespace solmark::device
