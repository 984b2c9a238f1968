// Whether memory lies in the address window as a whole.
#pragma once

#include <cstdint>

#include "gpu/window.h"

namespace solmark::seal {

[[nodiscard]] constexpr bool in_window(std::uint64_t address, std::uint64_t bytes = 1) {
  if (address < gpu::kWindowBase) return false;
  const std::uint64_t offset = address - gpu::kWindowBase;
  return offset <= gpu::kWindowBytes && bytes <= gpu::kWindowBytes - offset;
}

}  // namespace solmark::seal
