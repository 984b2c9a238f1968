#include "gpu/address_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace solmark::gpu {

AddressSpace::AddressSpace(std::uint64_t base, std::uint64_t bytes, std::uint64_t granularity)
    : base_(base), end_(base + bytes), granularity_(granularity), free_{{base, base + bytes}} {}

std::uint64_t AddressSpace::rounded(std::uint64_t bytes) const {
  // Saturates: a size near 2^64 must not wrap to a small one.
  if (bytes > end_ - base_) return end_ - base_ + granularity_;
  return std::max(granularity_, (bytes + granularity_ - 1) / granularity_ * granularity_);
}

void AddressSpace::cut(std::map<std::uint64_t, std::uint64_t>::iterator from, std::uint64_t begin,
                       std::uint64_t end) {
  const std::uint64_t free_begin = from->first;
  const std::uint64_t free_end = from->second;
  free_.erase(from);
  if (free_begin < begin) free_[free_begin] = begin;
  if (end < free_end) free_[end] = free_end;
}

Result<std::uint64_t> AddressSpace::take(std::uint64_t bytes) {
  const std::uint64_t size = rounded(bytes);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second - it->first < size) continue;
    const std::uint64_t address = it->first;
    cut(it, address, address + size);
    return address;
  }
  return machine_error(
      fmt::format("the address window has no room for {} bytes: the largest free range is {}", bytes,
                  largest_free()),
      "use fewer slots or a smaller workload");
}

Status AddressSpace::take_at(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t size = rounded(bytes);
  if (address < base_ || address >= end_ || size > end_ - address) {
    return internal_error(
        fmt::format("[{:#x}, +{}) is not inside [{:#x}, {:#x})", address, bytes, base_, end_));
  }
  if ((address - base_) % granularity_ != 0) {
    return internal_error(fmt::format("{:#x} is not a multiple of {}", address, granularity_));
  }
  auto it = free_.upper_bound(address);
  const bool first = it == free_.begin();
  if (!first) --it;
  if (first || it->second < address + size) {
    return internal_error(fmt::format("[{:#x}, +{}) is already taken", address, bytes));
  }
  cut(it, address, address + size);
  return success();
}

void AddressSpace::give_back(std::uint64_t address, std::uint64_t bytes) {
  std::uint64_t begin = address;
  std::uint64_t end = address + rounded(bytes);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->second == begin) {
    begin = std::prev(next)->first;
  }
  free_[begin] = end;
}

std::uint64_t AddressSpace::largest_free() const {
  std::uint64_t best = 0;
  for (const auto& [begin, end] : free_) best = std::max(best, end - begin);
  return best;
}

}  // namespace solmark::gpu
