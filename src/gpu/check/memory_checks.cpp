#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "gpu/check/checks.h"
#include "gpu/vmm.h"
#include "gpu/window.h"

namespace solmark::gpu::check {
namespace {

constexpr std::size_t kShared = std::size_t{4} << 20;

std::vector<std::uint32_t> ramp(std::size_t words) {
  std::vector<std::uint32_t> out(words);
  std::iota(out.begin(), out.end(), 7U);
  return out;
}

}  // namespace

Status sharing_child(int fd, std::uint64_t address, std::size_t bytes) {
  SOLMARK_TRY(const Driver* driver, gpu::driver());
  SOLMARK_CHECK_OK(reserve_window(*driver));
  SOLMARK_TRY(Context context, Context::open(*driver, 0));
  const Fd shared(fd);
  SOLMARK_TRY(VmmAllocation memory, VmmAllocation::import(*driver, 0, shared, bytes));
  SOLMARK_CHECK_OK(memory.map(address, MapAccess::kRead));
  std::vector<std::uint32_t> seen(bytes / 4);
  SOLMARK_CHECK_OK(driver->check(driver->cuMemcpyDtoH(seen.data(), address, bytes), "reading shared memory"));
  if (seen != ramp(seen.size())) return internal_error("the other process sees other data");
  // The fault ends this context; only the parent can tell afterwards that nothing was written.
  const bool refused = driver->cuMemsetD32Async(address, 0, bytes / 4, context.stream()) != CUDA_SUCCESS ||
                       driver->cuStreamSynchronize(context.stream()) != CUDA_SUCCESS;
  return refused ? success() : internal_error("a read-only mapping was written");
}

Outcome sharing(const Gpu& gpu) {
  SOLMARK_TRY(auto region, gpu.device.allocate("shared", kShared));
  const std::vector<std::uint32_t> data = ramp(kShared / 4);
  SOLMARK_CHECK_OK(gpu.device.write(*region, 0, data.data(), kShared));
  SOLMARK_CHECK_OK(gpu.device.idle());
  SOLMARK_TRY(const Fd fd, region->share(device::Access::kRead));
  const std::string fd_text = std::to_string(fd.get());
  const std::string address = std::to_string(region->address());
  const std::string bytes = std::to_string(kShared);
  const pid_t child = fork();
  if (child < 0) return errno_error("starting a second process", errno);
  if (child == 0) {
    // The child runs this program again: CUDA does not survive a fork.
    (void)fcntl(fd.get(), F_SETFD, 0);
    execl("/proc/self/exe", "solmark-gpu-check", "--child", fd_text.c_str(), address.c_str(), bytes.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return errno_error("waiting for the second process", errno);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return internal_error(fmt::format("the second process ended with status {:#x}", status));
  }
  std::vector<std::uint32_t> after(kShared / 4);
  SOLMARK_CHECK_OK(gpu.device.read(after.data(), *region, 0, kShared));
  if (after != data) return internal_error("the second process changed what it may only read");
  return fmt::format("{} MiB at {:#x} in two processes; a write to the read-only mapping was refused",
                     kShared >> 20, region->address());
}

Outcome regions(const Gpu& gpu) {
  SOLMARK_TRY(auto first, gpu.device.allocate("first", 1));
  SOLMARK_TRY(auto second, gpu.device.allocate("second", 10 << 20));
  const std::uint64_t freed = first->address();
  if (freed < kWindowBase || second->address() >= kScratchBase || second->address() <= freed) {
    return internal_error(fmt::format("regions at {:#x} and {:#x}", freed, second->address()));
  }
  first.reset();
  SOLMARK_TRY(auto third, gpu.device.allocate("third", 1));
  if (third->address() != freed) return internal_error("a freed address was not used again");
  std::uint8_t byte = 1;
  SOLMARK_CHECK_OK(gpu.device.read(&byte, *third, 0, 1));
  const auto too_much = gpu.device.allocate("too much", static_cast<std::size_t>(kJudgeBytes));
  if (too_much.ok()) return internal_error("more was allocated than the window holds");
  SOLMARK_TRY(const std::size_t available, gpu.device.available_bytes());
  return fmt::format("freed addresses are used again; {:.1f} GiB available",
                     static_cast<double>(available) / (1 << 30));
}

Outcome foreign_memory(const Gpu& gpu) {
  const Driver& driver = gpu.context.driver();
  SOLMARK_TRY(const std::size_t granularity, allocation_granularity(driver, 0));
  SOLMARK_TRY(VmmAllocation scratch, VmmAllocation::create(driver, 0, granularity));
  const auto fd = [&] { return scratch.export_fd(); };
  SOLMARK_TRY(Fd outside, fd());
  if (gpu.device.import(std::move(outside), kWindowBase, granularity).ok()) {
    return internal_error("memory was taken over in the judge's half of the window");
  }
  SOLMARK_TRY(Fd larger, fd());
  if (gpu.device.import(std::move(larger), kScratchBase, 4 * granularity).ok()) {
    return internal_error("memory was taken over with a size larger than its own");
  }
  SOLMARK_TRY(Fd good, fd());
  SOLMARK_TRY(auto region, gpu.device.import(std::move(good), kScratchBase + granularity, granularity));
  SOLMARK_CHECK_OK(gpu.device.fill(*region, 0, granularity, 0xabcdef01U));
  std::uint32_t word = 0;
  SOLMARK_CHECK_OK(gpu.device.read(&word, *region, granularity - 4, 4));
  if (word != 0xabcdef01U) return internal_error("imported memory does not hold what was written");
  region.reset();
  SOLMARK_TRY(auto placed, gpu.device.allocate_at("placed", kScratchBase + granularity, granularity));
  if (placed->address() != kScratchBase + granularity)
    return internal_error("memory lies at another address");
  return std::string("claims outside the scratch half or beyond the memory are refused");
}

Outcome fill(const Gpu& gpu) {
  constexpr std::size_t kBytes = 100'003;
  constexpr std::uint32_t kPattern = 0x04030201U;
  SOLMARK_TRY(auto region, gpu.device.allocate("fill", kBytes));
  int cases = 0;
  for (const std::size_t offset : std::initializer_list<std::size_t>{0, 1, 2, 3, 4, 17}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3},
                                    std::size_t{4}, std::size_t{7}, std::size_t{1001}, kBytes - 17}) {
      SOLMARK_CHECK_OK(gpu.device.fill(*region, 0, kBytes, 0xeeeeeeeeU));
      SOLMARK_CHECK_OK(gpu.device.fill(*region, offset, bytes, kPattern));
      std::vector<std::uint8_t> seen(kBytes);
      SOLMARK_CHECK_OK(gpu.device.read(seen.data(), *region, 0, kBytes));
      for (std::size_t i = 0; i < kBytes; ++i) {
        const bool inside = i >= offset && i < offset + bytes;
        const auto want = static_cast<std::uint8_t>(inside ? 1 + (i - offset) % 4 : 0xee);
        if (seen[i] != want) {
          return internal_error(fmt::format("offset {} length {}: byte {} is {}", offset, bytes, i, seen[i]));
        }
      }
      ++cases;
    }
  }
  return fmt::format("{} offsets and lengths", cases);
}

}  // namespace solmark::gpu::check
