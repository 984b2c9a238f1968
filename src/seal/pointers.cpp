#include "seal/pointers.h"

#if SOLMARK_HAVE_CUDA

#include "seal/window_range.h"

namespace solmark::seal {
namespace {
// Neither small numbers nor two packed floats are addresses of today's GPUs (48 bits and a little more).
constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 24;
constexpr std::uint64_t kHighestAddress = std::uint64_t{1} << 52;
}  // namespace

void PointerCheck::add_global(std::uint64_t address, std::uint64_t bytes, std::uint32_t image,
                              const std::string& symbol) {
  globals_[address] = {bytes, image, symbol};
}

std::optional<GlobalPlace> PointerCheck::global_at(std::uint64_t address) const {
  auto after = globals_.upper_bound(address);
  if (after == globals_.begin()) return std::nullopt;
  --after;
  const std::uint64_t offset = address - after->first;
  if (offset >= after->second.bytes) return std::nullopt;
  return GlobalPlace{after->second.image, after->second.symbol, offset};
}

const char* PointerCheck::outside(std::uint64_t word) {
  if (word < kLowestAddress || word >= kHighestAddress) return nullptr;
  if (in_window(word)) return nullptr;
  if (const auto known = seen_.find(word); known != seen_.end()) return known->second;
  const char* what = nullptr;
  unsigned int type = 0;
  if (driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word) == CUDA_SUCCESS) {
    unsigned int managed = 0;
    if (driver_.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, word) == CUDA_SUCCESS &&
        managed != 0) {
      what = "managed memory";
    } else if (type == CU_MEMORYTYPE_HOST) {
      what = "host memory";
    } else if (type != 0) {
      what = "device memory";
    }
  }
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  if (what == nullptr && driver_.cuMemGetAddressRange(&base, &bytes, word) == CUDA_SUCCESS)
    what = "device memory";
  seen_.emplace(word, what);
  return what;
}

}  // namespace solmark::seal

#endif
