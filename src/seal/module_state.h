// The variables of a loaded module: what of them differs from a fresh load, and where they lie.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/driver.h"
#include "seal/cubin.h"
#include "seal/pointers.h"
#include "seal/seal.h"

namespace solmark::seal {

struct ReadModule {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;  // null: a plain module
  std::uint32_t image = 0;
};

// Reads the variables from the device, appends what differs to `state`, tells `pointers` where they lie, and
// adds a note for each that the driver does not give access to.
Status read_module_state(const gpu::Driver& driver, const ReadModule& of, const Cubin& cubin,
                         PointerCheck& pointers, std::vector<ModuleState>& state,
                         std::vector<std::string>& notes);

// Pure part: the pieces of `now` that must be written after a load that gives `initial` (empty: zeros). The
// loader's own bytes (`patched`) are left to the loader, but for addresses in the window, which someone
// stored there later.
std::vector<ModuleState> state_pieces(std::uint32_t image, const std::string& symbol, std::string_view now,
                                      std::string_view initial,
                                      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& patched);

}  // namespace solmark::seal

#endif
