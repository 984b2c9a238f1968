#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "gpu/check/checks.h"
#include "gpu/cupti_profile.h"
#include "gpu/module.h"

namespace solmark::gpu::check {
namespace {

using Clock = std::chrono::steady_clock;

// A captured sequence of work as an executable graph.
class Graph {
 public:
  template <class Work>
  static Result<Graph> capture(const Context& context, Work&& work) {
    const Driver& driver = context.driver();
    SOLMARK_CHECK_OK(
        driver.check(driver.cuStreamBeginCapture(context.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     "starting a capture"));
    const Status worked = work();
    Graph out(context);
    SOLMARK_CHECK_OK(
        driver.check(driver.cuStreamEndCapture(context.stream(), &out.graph_), "ending a capture"));
    if (!worked.ok()) return worked.error();
    SOLMARK_CHECK_OK(
        driver.check(driver.cuGraphInstantiate(&out.executable_, out.graph_, 0), "making a graph"));
    return out;
  }
  Graph(Graph&& other) noexcept
      : context_(other.context_),
        graph_(std::exchange(other.graph_, nullptr)),
        executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  ~Graph() {
    if (executable_ != nullptr) (void)context_->driver().cuGraphExecDestroy(executable_);
    if (graph_ != nullptr) (void)context_->driver().cuGraphDestroy(graph_);
  }
  Status run() const {
    SOLMARK_CHECK_OK(context_->driver().check(
        context_->driver().cuGraphLaunch(executable_, context_->stream()), "launching a graph"));
    return context_->synchronize();
  }

 private:
  explicit Graph(const Context& context) : context_(&context) {}
  const Context* context_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

Outcome flush(const Gpu& gpu) {
  // A kernel that reads a quarter of the cache, with it there and with it displaced.
  const std::size_t bytes = gpu.device.info().last_level_cache_bytes / 4 / 16 * 16;
  if (bytes == 0) return std::string("the GPU reports no last-level cache");
  SOLMARK_TRY(auto region, gpu.device.allocate("cached", bytes));
  SOLMARK_CHECK_OK(gpu.device.fill(*region, 0, bytes, 1));
  SOLMARK_CHECK_OK(gpu.device.idle());
  SOLMARK_TRY(Module memory, Module::load(gpu.context, memory_image(), "memory"));
  CUdeviceptr data = region->address();
  CUdeviceptr sink = region->address();
  unsigned long long count = bytes / 16;
  unsigned key = 0x9e3779b9U;
  void* parameters[] = {&data, &count, &key, &sink};
  const auto blocks = static_cast<unsigned>(std::max(1, gpu.device.info().multiprocessors * 8));
  std::vector<double> warm;
  std::vector<double> cold;
  const auto timed = [&](std::vector<double>& into) -> Status {
    const auto start = Clock::now();
    SOLMARK_CHECK_OK(memory.launch("solmark_read", blocks, 256, parameters));
    SOLMARK_CHECK_OK(gpu.context.synchronize());
    into.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    return success();
  };
  for (int i = 0; i < 51; ++i) {
    SOLMARK_CHECK_OK(gpu.device.flush_caches({}));
    SOLMARK_CHECK_OK(gpu.device.idle());
    SOLMARK_CHECK_OK(timed(cold));
    SOLMARK_CHECK_OK(timed(warm));
  }
  const std::string seen = fmt::format("reading {:.1f} MiB takes {:.1f} us flushed, {:.1f} us cached",
                                       static_cast<double>(bytes) / (1 << 20), median(cold), median(warm));
  if (median(cold) <= median(warm)) return internal_error(seen);
  return seen;
}

Outcome machine_state(const Gpu& gpu) {
  const device::RunState state = gpu.device.state();
  const std::string seen = fmt::format(
      "SM {:.0f} MHz, memory {:.0f} MHz, {:.0f} C, {:.1f} W, throttle {:#x}, {} foreign processes",
      state.sm_clock_hz * 1e-6, state.memory_clock_hz * 1e-6, state.temperature_c, state.power_w,
      state.throttle_reasons, state.foreign_processes);
  if (state.sm_clock_hz <= 0 || state.memory_clock_hz <= 0 || state.temperature_c <= 0 ||
      state.power_w <= 0 || state.throttle_reasons < 0) {
    return internal_error("NVML does not tell all: " + seen);
  }
  return seen;
}

Outcome graph_profile(const Gpu& gpu) {
  SOLMARK_TRY(Module floor, Module::load(gpu.context, floor_image(), "floor"));
  SOLMARK_TRY(auto region, gpu.device.allocate("profiled", 4096));
  SOLMARK_CHECK_OK(gpu.device.fill(*region, 0, 4096, 0));
  SOLMARK_CHECK_OK(gpu.device.idle());
  CUdeviceptr from = region->address();
  CUdeviceptr to = region->address() + 256;
  void* parameters[] = {&from, &to};
  const Driver& driver = gpu.context.driver();
  SOLMARK_TRY(const Graph graph, Graph::capture(gpu.context, [&]() -> Status {
                SOLMARK_CHECK_OK(floor.launch("solmark_empty", 2, 64, nullptr));
                SOLMARK_CHECK_OK(
                    driver.check(driver.cuMemsetD32Async(to + 256, 5, 64, gpu.context.stream()), "filling"));
                SOLMARK_CHECK_OK(floor.launch("solmark_load_store", 1, 1, parameters));
                return floor.launch("solmark_empty", 1, 32, nullptr);
              }));
  SOLMARK_TRY(const std::vector<Activity> all, profile([&] { return graph.run(); }));
  std::string seen;
  std::vector<std::string> kernels;
  std::uint64_t last_end = 0;
  for (const Activity& activity : all) {
    seen += fmt::format("{}{} {} ns", seen.empty() ? "" : ", ", activity.name,
                        activity.end_ns - activity.start_ns);
    if (activity.end_ns < activity.start_ns)
      return internal_error("an activity ends before it starts: " + seen);
    if (activity.start_ns < last_end) return internal_error("activities overlap in a chain: " + seen);
    last_end = activity.end_ns;
    if (activity.kind == Activity::Kind::kKernel) kernels.push_back(activity.name);
  }
  if (kernels != std::vector<std::string>{"solmark_empty", "solmark_load_store", "solmark_empty"}) {
    return internal_error("not the three kernels of the graph: " + seen);
  }
  if (all.size() != 4 || all[1].kind != Activity::Kind::kMemset || all[1].bytes != 256) {
    return internal_error("the fill is missing or of another size: " + seen);
  }
  if (all[0].grid[0] != 2 || all[0].block[0] != 64)
    return internal_error("the first kernel's grid is wrong: " + seen);
  float stored = 0;
  SOLMARK_CHECK_OK(gpu.device.read(&stored, *region, 256, 4));
  if (stored != 1.0F) return internal_error("the load-store kernel did not store 0 + 1");
  return seen;
}

}  // namespace solmark::gpu::check
