// Bookkeeping of addresses: which parts of a range are taken. Lowest fit first, so that addresses rise from
// the base and a freed range is used again. Knows nothing of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/result.h"

namespace solmark::gpu {

class AddressSpace {
 public:
  // Everything taken is rounded up to `granularity`, which divides `base` and `bytes`.
  AddressSpace(std::uint64_t base, std::uint64_t bytes, std::uint64_t granularity);

  // The lowest free address with room for `bytes`; an error when there is none.
  Result<std::uint64_t> take(std::uint64_t bytes);
  // Exactly [address, address + bytes); an error unless it is aligned, inside and free.
  Status take_at(std::uint64_t address, std::uint64_t bytes);
  // Gives back what take or take_at gave, with the same size.
  void give_back(std::uint64_t address, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t largest_free() const;

 private:
  [[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) const;
  void cut(std::map<std::uint64_t, std::uint64_t>::iterator from, std::uint64_t begin, std::uint64_t end);

  std::uint64_t base_, end_, granularity_;
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> end, neither empty nor touching
};

}  // namespace solmark::gpu
