// The shared page by which the judge starts a batch and learns that it is over. One writer for each word;
// both sides spin on it, so that the clock sees no system call. The child's words are claims: `done` early
// only means that the judge looks at outputs that are not there yet.
#pragma once

#include <atomic>
#include <cstdint>

namespace solmark::protocol {

// What the judge asks for with a ring.
enum class Ring : std::uint32_t {
  kBatch = 0,  // every slot once, then device idle
  kEmpty = 1,  // the same path with nothing in it (cuda: a graph of one empty kernel): its cost is subtracted
  kQuit = 2,   // leave the serving loop
};

struct Doorbell {
  alignas(64) std::atomic<std::uint32_t> go;    // judge: the number of this ring; a new value starts it
  std::atomic<std::uint32_t> ring;              // judge: a Ring
  alignas(64) std::atomic<std::uint32_t> done;  // child: equals `go` when the batch is over
  std::atomic<std::int32_t> failed_slot;        // child: slot of the first call that failed, or -1
  char message[1024];                           // child: why, NUL-terminated (the judge does not trust that)
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
inline constexpr std::size_t kDoorbellBytes = 4096;
static_assert(sizeof(Doorbell) <= kDoorbellBytes);

}  // namespace solmark::protocol
