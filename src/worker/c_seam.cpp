#include <unistd.h>

#include <atomic>
#include <exception>

#include "worker/current_session.h"
#include "worker/host.h"
#include "worker/protocol_loop.h"

namespace solmark::worker {
namespace {
// Allocations may come from any thread of the candidate.
std::atomic<Session*> current{nullptr};
}  // namespace

void set_current_session(Session* session) { current.store(session); }

}  // namespace solmark::worker

#define SOLMARK_EXPORT extern "C" __attribute__((visibility("default")))

SOLMARK_EXPORT void solmark_worker_report_output(int64_t slot, int32_t output, uint64_t address) {
  if (auto* session = solmark::worker::current.load()) session->report_output(slot, output, address);
}

SOLMARK_EXPORT void* solmark_worker_alloc(size_t bytes, int, void* stream) {
  auto* session = solmark::worker::current.load();
  return session == nullptr ? nullptr : session->allocate(bytes, stream);
}

SOLMARK_EXPORT void solmark_worker_free(void* pointer, size_t bytes, int, void* stream) {
  if (auto* session = solmark::worker::current.load()) session->deallocate(pointer, bytes, stream);
}

SOLMARK_EXPORT int solmark_worker_run(int channel, const solmark_host_hooks* hooks) {
  if (hooks == nullptr || hooks->load == nullptr || hooks->bind == nullptr || hooks->call == nullptr)
    return 2;
  try {
    solmark::worker::ProtocolLoop loop(solmark::Fd(channel), *hooks);
    return loop.run();
  } catch (const std::exception&) {
    return 5;  // out of memory, most likely: the judge sees the channel close
  }
}
