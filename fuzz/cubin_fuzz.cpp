#include "seal/cubin.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_cubin(std::string_view bytes) {
  const auto cubin = seal::Cubin::parse(bytes);
  if (!cubin.ok()) {
    require(!cubin.error().message.empty() && !cubin.error().where.empty(), "an error says what and where");
    return;
  }
  for (const auto& object : cubin->objects()) {
    const auto initial = cubin->initial_bytes(object);
    require(initial.empty() || initial.size() == object.size, "a variable's bytes are all there or none");
    for (const auto& [begin, end] : cubin->patched_ranges(object)) {
      require(begin < end && end <= object.size, "patches lie inside");
    }
  }
  for (const auto& function : cubin->functions()) {
    const bool named = cubin->has_kernel(function.name);
    require(cubin->kernel_digest(function.name).empty() != named, "kernels and only kernels have digests");
  }
}

}  // namespace solmark::fuzz
