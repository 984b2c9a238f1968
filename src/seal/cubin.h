// A bounds-checked reader of CUDA cubins (ELF64, machine 190). Images come from a worker that is not trusted,
// so every offset, length and index is checked before it is followed; a broken image is an Error that says
// where. The reader owns nothing: views point into the bytes it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace solmark::seal {

struct CubinSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t size = 0;
  std::string_view content;  // empty for sections without bytes in the file (uninitialised memory)
};

struct CubinFunction {
  std::string_view name;
  std::uint32_t section = 0;
  std::uint64_t size = 0;
  bool entry = false;  // a kernel, not a device function
};

// A variable of the module: __device__ and __managed__ (kGlobal) or __constant__ (kConstant).
struct CubinObject {
  enum class Kind { kGlobal, kConstant };
  std::string_view name;
  Kind kind = Kind::kGlobal;
  std::uint32_t section = 0;
  std::uint64_t offset = 0;  // inside its section
  std::uint64_t size = 0;
  bool initialised = false;  // the section has bytes in the file
};

class Cubin {
 public:
  static Result<Cubin> parse(std::string_view bytes);

  [[nodiscard]] const std::vector<CubinSection>& sections() const { return sections_; }
  [[nodiscard]] const std::vector<CubinFunction>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<CubinObject>& objects() const { return objects_; }
  [[nodiscard]] bool has_kernel(std::string_view name) const;
  // Starts kernels from the device: such a call cannot be rebuilt from its nodes.
  [[nodiscard]] bool launches_from_device() const { return launches_from_device_; }
  // The bytes an object starts with, and its bytes that the loader patches: [first, last) pairs inside the
  // object, in order.
  [[nodiscard]] std::string_view initial_bytes(const CubinObject& object) const;
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> patched_ranges(
      const CubinObject& object) const;
  // A digest of everything in the image that decides what a kernel does; two images in which it is equal are
  // interchangeable for that kernel. Empty when there is no such kernel.
  [[nodiscard]] std::string kernel_digest(std::string_view name) const;

 private:
  Status read_sections();
  Status read_symbols();
  Status read_relocations(std::uint32_t index);

  struct Relocation {
    std::uint64_t offset = 0;  // inside the section that it patches
    std::uint32_t type = 0;
    std::uint32_t symbol = 0;
    std::int64_t addend = 0;
  };
  struct Patch {
    std::uint32_t target = 0;  // the section that it patches
    Relocation relocation;
  };
  struct Symbol {
    std::string_view name;
    std::uint32_t section = 0;
    std::uint8_t type = 0;
  };
  [[nodiscard]] std::span<const Patch> patches_of(std::uint32_t section) const;

  std::string_view bytes_;
  std::vector<CubinSection> sections_;
  std::vector<Symbol> symbols_;
  std::vector<CubinFunction> functions_;
  std::vector<CubinObject> objects_;
  std::vector<Patch> patches_;  // by target
  bool launches_from_device_ = false;
};

}  // namespace solmark::seal
