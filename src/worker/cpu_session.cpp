#include "worker/cpu_session.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "protocol/serve.h"

namespace solmark::worker {

Outcome CpuSession::bind(Binding binding) {
  std::vector<Mapping> mappings;
  for (BoundRegion& region : binding.regions) {
    struct stat file{};
    if (fstat(region.fd.get(), &file) != 0 || static_cast<std::uint64_t>(file.st_size) < region.bytes) {
      return Failure{"worker",
                     fmt::format("a region of {} bytes came with a shorter descriptor", region.bytes)};
    }
    auto mapping = Mapping::map(region.fd, region.bytes,
                                region.writable ? Mapping::Access::kReadWrite : Mapping::Access::kRead);
    if (!mapping) return Failure{"worker", mapping.error().text()};
    region.mapped = reinterpret_cast<std::uint64_t>(mapping->data());
    region.fd.reset();
    // Page faults belong here, not into the first batch. Best effort: an older kernel does not know the
    // advice.
    if (region.bytes > 0) {
      (void)madvise(mapping->data(), region.bytes,
                    region.writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    }
    mappings.push_back(std::move(*mapping));
  }
  binding_ = std::move(binding);
  mappings_ = std::move(mappings);
  return {};
}

Outcome CpuSession::call(std::int64_t slot) { return candidate_.call(slot, nullptr, true); }

Outcome CpuSession::seal(std::int64_t, SealReply&) {
  return Failure{"unsealable", "calls on the cpu are not sealed"};
}

Outcome CpuSession::serve(protocol::Doorbell& bell, std::int64_t slots, int channel, bool as_graph) {
  if (as_graph) return Failure{"worker", "a CPU has no graphs"};
  protocol::serve_doorbell(bell, channel, [&](protocol::Ring ring) {
    protocol::RingResult result;
    if (ring != protocol::Ring::kBatch) return result;
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      Outcome failed = candidate_.call(slot, nullptr, true);
      if (!failed) continue;
      result.failed_slot = static_cast<std::int32_t>(slot);
      result.message = failed->kind + ": " + failed->message;
      break;
    }
    return result;
  });
  return {};
}

}  // namespace solmark::worker
