// Bookkeeping of a worker's own GPU memory inside the window: blocks cut from chunks, and free lists for each
// stream, so that memory that one stream gave back is used again by that stream only until the device was
// idle. Knows addresses, not CUDA: chunks come from a function. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace solmark::worker {

class BlockAllocator {
 public:
  struct Chunk {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  // A new chunk of at least so many bytes, or nothing when there is no memory left.
  using Grow = std::function<std::optional<Chunk>(std::uint64_t bytes)>;
  using Stream = std::uint64_t;

  explicit BlockAllocator(Grow grow) : grow_(std::move(grow)) {}

  // 512-byte aligned, as cudaMalloc's; 0 when there is no memory left. Without a stream, memory that every
  // stream may use at once.
  std::uint64_t allocate(std::uint64_t bytes, std::optional<Stream> stream);
  // False when the address is no live block. The block is for `stream` again at once, for others after
  // idle().
  bool release(std::uint64_t address, Stream stream);
  // The same for memory whose last user is unknown: nobody gets it before idle().
  bool release_unordered(std::uint64_t address);
  // Nothing runs on the device: every free block is for everyone.
  void idle();

  [[nodiscard]] bool owns(std::uint64_t address) const { return live_.contains(address); }
  [[nodiscard]] std::uint64_t live_bytes() const { return live_bytes_; }

 private:
  // Which free blocks an allocation may take. kEveryone sorts apart from all streams.
  enum class Owner { kEveryone, kStream, kNobody };
  struct List {
    Owner owner = Owner::kEveryone;
    Stream stream = 0;
    auto operator<=>(const List&) const = default;
  };
  struct Free {
    std::uint64_t bytes = 0;
    List list;
  };

  std::uint64_t take_from(const List& list, std::uint64_t bytes);
  void add_free(std::uint64_t address, std::uint64_t bytes, const List& list);
  bool give(std::uint64_t address, const List& list);

  Grow grow_;
  std::map<std::uint64_t, std::uint64_t> live_;  // address -> bytes
  std::map<std::uint64_t, Free> free_;
  std::map<List, std::set<std::pair<std::uint64_t, std::uint64_t>>> by_size_;  // (bytes, address)
  std::set<std::uint64_t> chunk_starts_;  // blocks of two chunks are never joined
  std::uint64_t live_bytes_ = 0;
};

}  // namespace solmark::worker
