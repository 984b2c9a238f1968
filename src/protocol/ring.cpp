#include "protocol/ring.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>

namespace solmark::protocol {
namespace {

double now_s() {
  struct timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void sleep_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  struct timespec limit{0, 20'000'000};
  // Another process writes the word, so the futex is not a private one. A wake that never comes costs 20 ms.
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

}  // namespace

Result<Bell> Bell::create(Wait wait) {
  SOLMARK_TRY(Fd fd, make_memfd("solmark-doorbell", kDoorbellBytes));
  SOLMARK_TRY(Mapping page, Mapping::map(fd, kDoorbellBytes, Mapping::Access::kReadWrite));
  new (page.data()) Doorbell{};
  return Bell(std::move(fd), std::move(page), wait);
}

Result<Rung> Bell::ring(Ring what, std::chrono::milliseconds limit, const std::function<bool()>& alive) {
  Doorbell& page = bell();
  page.failed_slot.store(-1, std::memory_order_relaxed);
  page.ring.store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
  const std::uint32_t number = ++number_;
  const double limit_s = std::chrono::duration<double>(limit).count();
  const double start = now_s();
  page.go.store(number, std::memory_order_release);
  double next_look = start + 0.02;
  for (unsigned looks = 1;; ++looks) {
    const std::uint32_t done = page.done.load(std::memory_order_acquire);
    if (done == number) break;
    if (wait_ == Wait::kSleep && looks > 64) {
      sleep_until_changed(page.done, done);
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      if (looks % 256 != 0) continue;
    }
    const double now = now_s();
    if (now < next_look) continue;
    next_look = now + 0.02;
    if (now - start > limit_s)
      return timeout_error(fmt::format("the batch did not end within {} ms", limit.count()));
    if (!alive()) return machine_error("the child ended during a batch");
  }
  Rung out;
  out.elapsed_s = now_s() - start;
  out.failed_slot = page.failed_slot.load(std::memory_order_relaxed);
  if (out.failed_slot >= 0) {
    // A copy first: the child may go on writing, and nothing says that there is an end.
    char text[sizeof page.message];
    std::memcpy(text, page.message, sizeof text);
    text[sizeof text - 1] = '\0';
    out.message = text;
  }
  return out;
}

}  // namespace solmark::protocol
