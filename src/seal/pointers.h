// Whether eight bytes that a kernel is given are an address, and of what. Nobody says which parameters are
// pointers, so every aligned word that could be one is looked up.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "gpu/driver.h"

namespace solmark::seal {

struct GlobalPlace {
  std::uint32_t image = 0;
  std::string symbol;
  std::uint64_t offset = 0;
};

class PointerCheck {
 public:
  explicit PointerCheck(const gpu::Driver& driver) : driver_(driver) {}

  // A module's variable, so that addresses inside it are recognised.
  void add_global(std::uint64_t address, std::uint64_t bytes, std::uint32_t image, const std::string& symbol);
  // The variable that an address lies in.
  [[nodiscard]] std::optional<GlobalPlace> global_at(std::uint64_t address) const;
  // What an address outside the window belongs to ("device memory", "host memory", "managed memory"), or null
  // when it lies in the window or is no address.
  const char* outside(std::uint64_t word);

 private:
  struct Global {
    std::uint64_t bytes = 0;
    std::uint32_t image = 0;
    std::string symbol;
  };
  const gpu::Driver& driver_;
  std::map<std::uint64_t, Global> globals_;
  std::unordered_map<std::uint64_t, const char*> seen_;
};

}  // namespace solmark::seal

#endif
