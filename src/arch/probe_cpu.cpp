#include "arch/probe_cpu.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <ctime>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "arch/arch_fields.h"
#include "arch/cpu_kernels.h"
#include "arch/cpu_topology.h"

namespace solmark::arch {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Time that this thread itself ran: other programs on the machine do not count.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Pinned threads that start each job together.
double run_together(const std::vector<int>& threads, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    workers.emplace_back([&, i] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<std::size_t>(threads[i]), &set);
      ::sched_setaffinity(0, sizeof set, &set);
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      job(i);
    });
  }
  while (ready.load() < workers.size()) std::this_thread::yield();
  const auto start = SteadyClock::now();
  go.store(true, std::memory_order_release);
  for (auto& worker : workers) worker.join();
  return seconds_since(start);
}

class Buffer {
 public:
  static Result<Buffer> make(std::size_t bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return errno_error("cannot get memory to measure with", errno);
    ::madvise(data, bytes, MADV_HUGEPAGE);
    return Buffer(data, bytes);
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Buffer& operator=(Buffer&&) = delete;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Buffer(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  std::size_t bytes_;
};

// The best rate of repeated runs within a time; at least three runs.
double best_rate(double seconds, const std::function<double()>& rate_of_run) {
  const auto start = SteadyClock::now();
  double best = 0;
  for (int run = 0; run < 3 || seconds_since(start) < seconds; ++run) best = std::max(best, rate_of_run());
  return best;
}

struct Rates {
  double one = 0;  // of one thread alone
  double all = 0;  // of all threads at once
};

// Work that stays inside a core: each thread takes the time that it ran itself, and a ceiling is the sum of
// what each can do. `kernel` does some rounds and returns their work.
Rates core_rates(const std::vector<int>& threads, double seconds,
                 const std::function<double(std::size_t)>& kernel) {
  // Rounds for about 4 ms a run: short runs find the moments when nothing disturbs.
  std::size_t rounds = 10000;
  const double start = thread_seconds();
  kernel(rounds);
  const double spent = std::max(1e-7, thread_seconds() - start);
  rounds = std::clamp<std::size_t>(static_cast<std::size_t>(static_cast<double>(rounds) * 0.004 / spent),
                                   1000, std::size_t{1} << 30);
  const auto run = [&](const std::vector<int>& on) {
    std::vector<double> rates(on.size(), 0);
    run_together(on, [&](std::size_t i) {
      const double begin = thread_seconds();
      const double work = kernel(rounds);
      rates[i] = work / (thread_seconds() - begin);
    });
    double total = 0;
    for (const double rate : rates) total += rate;
    return total;
  };
  Rates rates;
  rates.one = best_rate(seconds / 3, [&] { return run({threads.front()}); });
  rates.all = best_rate(seconds * 2 / 3, [&] { return run(threads); });
  // All threads together cannot be slower than one of them, but a busy machine can make it seem so.
  rates.all = std::max(rates.all, rates.one);
  return rates;
}

// Results go here, so that the work is done.
std::atomic<double> sink{0};

Rates fma_rates_fp32(const std::vector<int>& threads, double seconds, VectorSet set) {
  return core_rates(threads, seconds, [set](std::size_t rounds) {
    float sum = 0;
    const double flop = run_fma_fp32(set, rounds, &sum);
    sink.store(sum, std::memory_order_relaxed);
    return flop;
  });
}

Rates fma_rates_fp64(const std::vector<int>& threads, double seconds, VectorSet set) {
  return core_rates(threads, seconds, [set](std::size_t rounds) {
    double sum = 0;
    const double flop = run_fma_fp64(set, rounds, &sum);
    sink.store(sum, std::memory_order_relaxed);
    return flop;
  });
}

// Loads and stores of a block in the nearest cache. A core may do both at once: the ceiling is their sum.
double block_rate(const std::vector<int>& threads, double seconds, VectorSet set) {
  constexpr std::size_t kBytes = 8 << 10;
  struct alignas(64) Block {
    std::array<std::byte, kBytes> bytes{};
  };
  const Rates loads = core_rates(threads, seconds / 2, [set](std::size_t rounds) {
    const Block block;
    sink.store(load_block(set, block.bytes.data(), kBytes, rounds), std::memory_order_relaxed);
    return static_cast<double>(kBytes * rounds);
  });
  const Rates stores = core_rates(threads, seconds / 2, [set](std::size_t rounds) {
    Block block;
    store_block(set, block.bytes.data(), kBytes, rounds);
    return static_cast<double>(kBytes * rounds);
  });
  return loads.all + stores.all;
}

}  // namespace

Result<Arch> probe_cpu(const ProbeOptions& options) {
  const std::vector<int> threads = usable_threads();
  const double processors = allowed_processors(cgroup_cpu_max(), threads.size());
  SOLMARK_TRY(const CpuCaches caches, cpu_caches(threads));
  const CpuFeatures features = cpu_features();
  const VectorSet set = best_vector_set();
  const char* vectors = set == VectorSet::kAvx512 ? "AVX-512"
                        : set == VectorSet::kAvx2 ? "AVX2"
                                                  : "generic vectors";

  const Rates fp32 = fma_rates_fp32(threads, options.seconds * 0.15, set);
  const Rates fp64 = fma_rates_fp64(threads, options.seconds * 0.15, set);
  const double block = block_rate(threads, options.seconds * 0.1, set);

  // Each thread streams over memory of its own, which the caches have forgotten; where they cannot be told
  // to, over at least four times what they hold.
  const std::size_t count = threads.size();
  std::byte line{};
  const bool forgets = flush_lines(&line, 1);
  const auto wanted =
      forgets ? std::max(options.bytes / count, std::size_t{1} << 20)
              : std::max(options.bytes, 4 * static_cast<std::size_t>(caches.total_bytes)) / count + 1;
  const std::size_t bytes = (wanted + 4095) / 4096 * 4096;
  SOLMARK_TRY(const Buffer from, Buffer::make(bytes * count));
  SOLMARK_TRY(const Buffer to, Buffer::make(bytes * count));
  run_together(threads, [&](std::size_t i) {
    stream_write(set, from.data() + i * bytes, bytes);
    stream_write(set, to.data() + i * bytes, bytes);
  });
  const auto traffic = static_cast<double>(bytes * count);
  const auto forget = [&](const Buffer& buffer) {
    if (forgets) (void)flush_lines(buffer.data(), bytes * count);
  };
  const double read = best_rate(options.seconds * 0.2, [&] {
    forget(from);
    return traffic / run_together(threads, [&](std::size_t i) {
             sink.store(stream_read(set, from.data() + i * bytes, bytes), std::memory_order_relaxed);
           });
  });
  const double write = best_rate(options.seconds * 0.2, [&] {
    return traffic /
           run_together(threads, [&](std::size_t i) { stream_write(set, to.data() + i * bytes, bytes); });
  });
  const double copy = best_rate(options.seconds * 0.2, [&] {
    forget(from);
    return 2 * traffic / run_together(threads, [&](std::size_t i) {
             stream_copy(set, to.data() + i * bytes, from.data() + i * bytes, bytes);
           });
  });

  const double raised = 1 + options.margin;
  const auto measured = [&](double value, const std::string& how) {
    // Four digits are more than the margin is worth.
    const double scale = std::pow(10.0, std::floor(std::log10(value)) - 3);
    return Figure{std::ceil(value * raised / scale) * scale,
                  fmt::format("{}, best of repeated runs, raised by {:g} %", how, options.margin * 100),
                  Certainty::kMeasured};
  };
  Arch arch;
  arch.kind = Kind::kCpu;
  arch.name = "cpu";
  arch.title = cpu_model();
  arch.units = Figure{
      static_cast<double>(count),
      processors < static_cast<double>(count)
          ? fmt::format("affinity mask; the control group allows {:g} processors on average", processors)
          : "affinity mask",
      Certainty::kMeasured};
  const std::string chains =
      fmt::format("independent multiply-adds in registers ({}), all threads, sum of their rates", vectors);
  const std::string chain = fmt::format("independent multiply-adds in registers ({}), one thread", vectors);
  arch.vector[Format::kFp32] = measured(fp32.all, chains);
  arch.vector[Format::kFp64] = measured(fp64.all, chains);
  arch.vector_per_unit[Format::kFp32] = measured(fp32.one, chain);
  arch.vector_per_unit[Format::kFp64] = measured(fp64.one, chain);
  // Narrow formats are not measured: ceilings from what the instructions can do beside a float32
  // multiply-add.
  const double narrow = features.amx ? 32 : features.narrow_dot ? 4 : 1;
  const auto assumed = [&](double factor, const char* why) {
    return Figure{arch.vector[Format::kFp32].value * factor, why, Certainty::kAssumed};
  };
  const char* why16 = features.amx          ? "at most 32 times float32: AMX tiles"
                      : features.narrow_dot ? "at most 4 times float32: 16-bit vector instructions"
                                            : "as float32: no 16-bit arithmetic instructions";
  arch.vector[Format::kFp16] = assumed(narrow, why16);
  arch.vector[Format::kBf16] = assumed(narrow, why16);
  arch.vector[Format::kInt8] = features.amx ? assumed(64, "at most 64 times float32: AMX tiles")
                               : features.narrow_dot
                                   ? assumed(8, "at most 8 times float32: int8 dot product instructions")
                                   : assumed(4, "at most 4 times float32: pairs of int8 products");

  arch.memory_read_bytes_per_s = measured(read, "streaming reads by all threads");
  arch.memory_write_bytes_per_s = measured(write, "streaming stores past the caches by all threads");
  arch.memory_copy_bytes_per_s = measured(copy, "streaming copies by all threads, bytes both ways");
  const auto highest = std::max({read, write, copy});
  arch.memory_bytes_per_s = measured(highest, "the highest of read, write and copy");
  arch.memory_sector_bytes = Figure{64, "cache line", Certainty::kVendor};
  arch.cache_bytes = Figure{
      static_cast<double>(caches.total_bytes),
      fmt::format("all data caches of the usable threads, of them {} B last level", caches.last_level_bytes),
      Certainty::kVendor};
  arch.cache_bytes_per_s =
      measured(block, "loads and stores of a block of 8 KiB by all threads, sum of their rates");
  SOLMARK_CHECK_OK(check_arch(arch));
  return arch;
}

Arch with_higher_ceilings(Arch arch, const Arch& other) {
  const auto raise = [](Figure& figure, const Figure& by) {
    if (by.value > figure.value) figure = by;
  };
  for (const FigureField& field : kFigureFields) {
    auto& figure = arch.*field.member;
    const auto& by = other.*field.member;
    if (figure && by) raise(*figure, *by);
  }
  for (const RateField& field : kRateFields) {
    for (auto& [format, figure] : arch.*field.member) {
      const auto& rates = other.*field.member;
      if (const auto by = rates.find(format); by != rates.end()) raise(figure, by->second);
    }
  }
  return arch;
}

}  // namespace solmark::arch
