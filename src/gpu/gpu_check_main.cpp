// solmark-gpu-check: checks on a real GPU what no test without one can. One line a check, "ok|FAIL name
// detail", and a last line "N passed, N failed"; exits 1 when any check failed. Without a GPU it says why and
// exits 0.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "device/cuda_device.h"
#include "gpu/check/checks.h"

namespace solmark::gpu::check {
namespace {

struct Check {
  const char* name;
  Outcome (*run)(const Gpu&);
};

constexpr std::array kChecks = {
    Check{"regions", regions},
    Check{"sharing", sharing},
    Check{"import", foreign_memory},
    Check{"fill", fill},
    Check{"equal", equal},
    Check{"compare", compare},
    Check{"compare-speed", compare_speed},
    Check{"flush", flush},
    Check{"state", machine_state},
    Check{"profile", graph_profile},
};

int run_all() {
  Result<const Driver*> driver = gpu::driver();
  if (!driver.ok()) {
    fmt::print("skipped: {}\n0 passed, 0 failed\n", driver.error().text());
    return 0;
  }
  auto device = device::open_cuda_device(0);
  if (!device.ok()) {
    fmt::print("FAIL open {}\n0 passed, 1 failed\n", device.error().text());
    return 1;
  }
  auto context = Context::open(**driver, 0);
  if (!context.ok()) {
    fmt::print("FAIL context {}\n0 passed, 1 failed\n", context.error().text());
    return 1;
  }
  const device::DeviceInfo& info = (*device)->info();
  fmt::print("ok open {} (sm_{}, {} SMs, {} MiB L2, {:.1f} GiB, driver {})\n", info.name,
             info.compute_capability, info.multiprocessors, info.last_level_cache_bytes >> 20,
             static_cast<double>(info.memory_bytes) / (1 << 30), info.driver);
  int passed = 1;
  int failed = 0;
  for (const Check& check : kChecks) {
    const Outcome outcome = check.run(Gpu{**device, *context});
    fmt::print("{} {} {}\n", outcome.ok() ? "ok" : "FAIL", check.name,
               outcome.ok() ? outcome.value() : outcome.error().text());
    (void)std::fflush(stdout);
    ++(outcome.ok() ? passed : failed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

int run_child(char** arguments) {
  const Status status = sharing_child(std::atoi(arguments[0]), std::strtoull(arguments[1], nullptr, 10),
                                      static_cast<std::size_t>(std::strtoull(arguments[2], nullptr, 10)));
  if (!status.ok()) fmt::print(stderr, "second process: {}\n", status.error().text());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace solmark::gpu::check

int main(int count, char** arguments) {
  if (count == 5 && std::strcmp(arguments[1], "--child") == 0)
    return solmark::gpu::check::run_child(arguments + 2);
  return solmark::gpu::check::run_all();
}
