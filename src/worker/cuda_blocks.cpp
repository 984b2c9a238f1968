#include "worker/cuda_blocks.h"

#include <vector>

namespace solmark::worker {
namespace {
constexpr std::uint64_t kBlockAlignment = 512;
}

std::uint64_t BlockAllocator::allocate(std::uint64_t bytes, std::optional<Stream> stream) {
  if (bytes > UINT64_MAX - kBlockAlignment) return 0;
  bytes = bytes == 0 ? kBlockAlignment : (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  std::uint64_t address = stream ? take_from({Owner::kStream, *stream}, bytes) : 0;
  if (address == 0) address = take_from({Owner::kEveryone, 0}, bytes);
  if (address == 0) {
    const auto chunk = grow_(bytes);
    if (!chunk || chunk->bytes < bytes) return 0;
    chunk_starts_.insert(chunk->address);
    add_free(chunk->address, chunk->bytes, {Owner::kEveryone, 0});
    address = take_from({Owner::kEveryone, 0}, bytes);
  }
  if (address == 0) return 0;
  live_.emplace(address, bytes);
  live_bytes_ += bytes;
  return address;
}

// The smallest block that is large enough; the rest of it stays free.
std::uint64_t BlockAllocator::take_from(const List& list, std::uint64_t bytes) {
  const auto sizes = by_size_.find(list);
  if (sizes == by_size_.end()) return 0;
  const auto found = sizes->second.lower_bound({bytes, 0});
  if (found == sizes->second.end()) return 0;
  const auto [size, address] = *found;
  sizes->second.erase(found);
  free_.erase(address);
  if (size > bytes) add_free(address + bytes, size - bytes, list);
  return address;
}

// Joins with neighbours of the same list.
void BlockAllocator::add_free(std::uint64_t address, std::uint64_t bytes, const List& list) {
  auto after = free_.lower_bound(address);
  if (after != free_.end() && after->first == address + bytes && after->second.list == list &&
      !chunk_starts_.contains(after->first)) {
    bytes += after->second.bytes;
    by_size_[list].erase({after->second.bytes, after->first});
    after = free_.erase(after);
  }
  if (after != free_.begin() && !chunk_starts_.contains(address)) {
    const auto before = std::prev(after);
    if (before->first + before->second.bytes == address && before->second.list == list) {
      by_size_[list].erase({before->second.bytes, before->first});
      address = before->first;
      bytes += before->second.bytes;
      free_.erase(before);
    }
  }
  free_[address] = {bytes, list};
  by_size_[list].insert({bytes, address});
}

bool BlockAllocator::give(std::uint64_t address, const List& list) {
  const auto block = live_.find(address);
  if (block == live_.end()) return false;
  const std::uint64_t bytes = block->second;
  live_.erase(block);
  live_bytes_ -= bytes;
  add_free(address, bytes, list);
  return true;
}

bool BlockAllocator::release(std::uint64_t address, Stream stream) {
  return give(address, {Owner::kStream, stream});
}
bool BlockAllocator::release_unordered(std::uint64_t address) { return give(address, {Owner::kNobody, 0}); }

void BlockAllocator::idle() {
  const auto blocks = std::move(free_);
  free_.clear();
  by_size_.clear();
  for (const auto& [address, block] : blocks) add_free(address, block.bytes, {Owner::kEveryone, 0});
}

}  // namespace solmark::worker
