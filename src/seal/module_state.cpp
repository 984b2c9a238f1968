#include "seal/module_state.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "seal/window_range.h"

namespace solmark::seal {
namespace {

struct Found {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

bool find_variable(const gpu::Driver& driver, const ReadModule& of, const char* name, Found& found) {
  if (of.module != nullptr &&
      driver.cuModuleGetGlobal(&found.address, &found.bytes, of.module, name) == CUDA_SUCCESS)
    return true;
  return of.library != nullptr &&
         driver.cuLibraryGetGlobal(&found.address, &found.bytes, of.library, name) == CUDA_SUCCESS;
}

std::uint64_t word_at(std::string_view bytes, std::uint64_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

}  // namespace

std::vector<ModuleState> state_pieces(std::uint32_t image, const std::string& symbol, std::string_view now,
                                      std::string_view initial,
                                      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& patched) {
  std::vector<ModuleState> pieces;
  const auto compare = [&](std::uint64_t first, std::uint64_t last) {
    if (first >= last) return;
    const std::string_view part = now.substr(first, last - first);
    const bool same =
        initial.empty() ? std::all_of(part.begin(), part.end(), [](char c) { return c == 0; })
                        : part == initial.substr(std::min<std::size_t>(first, initial.size()), last - first);
    if (!same) pieces.push_back({image, symbol, first, std::string(part)});
  };
  std::uint64_t at = 0;
  for (auto [first, last] : patched) {
    first = std::min<std::uint64_t>(first, now.size());
    last = std::min<std::uint64_t>(last, now.size());
    if (first > at) compare(at, first);
    if (last - first == sizeof(std::uint64_t) && first >= at && in_window(word_at(now, first)))
      pieces.push_back({image, symbol, first, std::string(now.substr(first, last - first))});
    at = std::max(at, last);
  }
  compare(at, now.size());
  return pieces;
}

Status read_module_state(const gpu::Driver& driver, const ReadModule& of, const Cubin& cubin,
                         PointerCheck& pointers, std::vector<ModuleState>& state,
                         std::vector<std::string>& notes) {
  std::vector<ModuleState> found;
  for (const CubinObject& object : cubin.objects()) {
    const std::string name(object.name);
    Found place;
    if (!find_variable(driver, of, name.c_str(), place) || place.bytes != object.size) {
      // A constant that has no name for the driver has none for the program either: nobody can have changed
      // it. The compiler's own variables ($str) are never written.
      if (object.kind == CubinObject::Kind::kGlobal && !name.starts_with("$"))
        notes.push_back(fmt::format(
            "variable {} of image {} cannot be read: it starts with its initial value", name, of.image));
      continue;
    }
    pointers.add_global(place.address, place.bytes, of.image, name);
    std::string now(place.bytes, '\0');
    SOLMARK_CHECK_OK(driver.check(driver.cuMemcpyDtoH(now.data(), place.address, place.bytes),
                                  fmt::format("reading variable {}", name)));
    for (ModuleState& piece :
         state_pieces(of.image, name, now, cubin.initial_bytes(object), cubin.patched_ranges(object)))
      found.push_back(std::move(piece));
  }
  // After all variables of the module are known: an address of one of them is as bad as any other outside the
  // window.
  for (ModuleState& piece : found) {
    for (std::uint64_t at = (8 - piece.offset % 8) % 8; at + 8 <= piece.bytes.size(); at += 8) {
      const std::uint64_t word = word_at(piece.bytes, at);
      const char* what = pointers.outside(word);
      if (what == nullptr) continue;
      return machine_error(fmt::format("variable {} holds the address {:#x} of {} outside the address window",
                                       piece.symbol, word, what));
    }
    state.push_back(std::move(piece));
  }
  return success();
}

}  // namespace solmark::seal

#endif
