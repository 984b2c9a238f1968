#include "gpu/cupti_profile.h"

#if SOLMARK_HAVE_CUDA

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <span>

#include "gpu/cupti.h"

namespace solmark::gpu {
namespace {

// CUPTI 12 writes earlier versions of these records. They only grew at their ends, so that the fields read
// here lie at the same places; these lines fail when that stops being so.
#define SOLMARK_SAME_PLACE(newer, older, field) \
  static_assert(offsetof(newer, field) == offsetof(older, field))
SOLMARK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel8, start);
SOLMARK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel8, end);
SOLMARK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel8, name);
SOLMARK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel8, gridX);
SOLMARK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel8, blockX);
SOLMARK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel8, registersPerThread);
SOLMARK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel8, dynamicSharedMemory);
SOLMARK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, start);
SOLMARK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, bytes);
SOLMARK_SAME_PLACE(CUpti_ActivityMemset4, CUpti_ActivityMemset3, start);
SOLMARK_SAME_PLACE(CUpti_ActivityMemset4, CUpti_ActivityMemset3, bytes);
SOLMARK_SAME_PLACE(CUpti_ActivityGraphTrace2, CUpti_ActivityGraphTrace, start);
SOLMARK_SAME_PLACE(CUpti_ActivityGraphTrace2, CUpti_ActivityGraphTrace, end);
#undef SOLMARK_SAME_PLACE

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
constexpr std::array kNodeKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                   CUPTI_ACTIVITY_KIND_MEMSET};
constexpr std::array kGraphKinds = {CUPTI_ACTIVITY_KIND_GRAPH_TRACE};

// CUPTI's callbacks carry no user pointer, and it keeps them for the life of the process.
struct Collector {
  std::mutex mutex;
  const Cupti* table = nullptr;
  std::vector<Activity> activities;
};
Collector& collector() {
  static Collector instance;
  return instance;
}

Activity from_kernel(const CUpti_ActivityKernel10& record) {
  Activity out;
  out.name = record.name != nullptr ? record.name : "";
  out.start_ns = record.start;
  out.end_ns = record.end;
  out.grid = {record.gridX, record.gridY, record.gridZ};
  out.block = {record.blockX, record.blockY, record.blockZ};
  out.shared_bytes = static_cast<std::uint64_t>(record.staticSharedMemory) +
                     static_cast<std::uint64_t>(record.dynamicSharedMemory);
  out.registers = record.registersPerThread;
  return out;
}

template <class Record>
Activity from_transfer(Activity::Kind kind, const char* name, const Record& record) {
  Activity out;
  out.kind = kind;
  out.name = name;
  out.start_ns = record.start;
  out.end_ns = record.end;
  out.bytes = record.bytes;
  return out;
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t valid) {
  Collector& all = collector();
  const std::lock_guard lock(all.mutex);
  CUpti_Activity* record = nullptr;
  while (all.table->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    const void* data = record;
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
      all.activities.push_back(from_kernel(*static_cast<const CUpti_ActivityKernel10*>(data)));
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      all.activities.push_back(
          from_transfer(Activity::Kind::kMemcpy, "memcpy", *static_cast<const CUpti_ActivityMemcpy6*>(data)));
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      all.activities.push_back(
          from_transfer(Activity::Kind::kMemset, "memset", *static_cast<const CUpti_ActivityMemset4*>(data)));
    } else if (record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
      const auto& graph = *static_cast<const CUpti_ActivityGraphTrace2*>(data);
      Activity& out = all.activities.emplace_back();
      out.kind = Activity::Kind::kGraph;
      out.name = "graph";
      out.start_ns = graph.start;
      out.end_ns = graph.end;
    }
  }
  std::free(buffer);
}

std::vector<Activity> take() {
  Collector& all = collector();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.activities, {});
}

Status run_recorded(const Cupti& table, const std::function<Status()>& work,
                    const std::function<Status()>& warm_up) {
  SOLMARK_CHECK_OK(warm_up ? warm_up() : work());
  SOLMARK_CHECK_OK(
      table.check(table.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "collecting activities"));
  (void)take();
  SOLMARK_CHECK_OK(work());
  return table.check(table.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "collecting activities");
}

// CUPTI's table, with our buffers registered.
Result<const Cupti*> open(const std::vector<std::string>& directories) {
  SOLMARK_TRY(const Cupti* table, cupti(directories));
  if (collector().table != nullptr) return table;
  collector().table = table;
  const Status registered =
      table->check(table->cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed),
                   "registering CUPTI's buffers");
  if (!registered.ok()) {
    collector().table = nullptr;
    return registered.error();
  }
  return table;
}

Result<std::vector<Activity>> collect(std::span<const CUpti_ActivityKind> kinds,
                                      const std::function<Status()>& work,
                                      const std::function<Status()>& warm_up,
                                      const std::vector<std::string>& directories) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  SOLMARK_TRY(const Cupti* table, open(directories));
  Status status;
  std::size_t enabled = 0;
  while (status.ok() && enabled < kinds.size()) {
    status = table->check(table->cuptiActivityEnable(kinds[enabled]), "starting the profile");
    if (status.ok()) ++enabled;
  }
  if (status.ok()) status = run_recorded(*table, work, warm_up);
  while (enabled > 0) (void)table->cuptiActivityDisable(kinds[--enabled]);
  std::vector<Activity> out = take();
  if (!status.ok()) return status.error();
  std::size_t dropped = 0;
  if (table->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0) {
    return machine_error("CUPTI dropped " + std::to_string(dropped) + " activity records",
                         "profile fewer calls at a time");
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
  return out;
}

}  // namespace

Result<std::vector<Activity>> profile(const std::function<Status()>& work,
                                      const std::function<Status()>& warm_up,
                                      const std::vector<std::string>& directories) {
  return collect(kNodeKinds, work, warm_up, directories);
}

Status start_graph_trace(const std::vector<std::string>& directories) {
  SOLMARK_TRY(const Cupti* table, open(directories));
  return table->check(table->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "starting the profile");
}

Result<std::vector<Activity>> profile_graphs(const std::function<Status()>& work,
                                             const std::function<Status()>& warm_up,
                                             const std::vector<std::string>& directories) {
  return collect(kGraphKinds, work, warm_up, directories);
}

}  // namespace solmark::gpu

#endif
