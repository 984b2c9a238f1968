// Memory terms of a batch: what must cross between memory and the last-level cache, and between cache and
// cores.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/arch.h"
#include "bound/bound.h"

namespace solmark::bound {

// Over N slots that together exceed the cache C, inputs N R come from memory save at most C bytes resident at
// the start, outputs N W go back save at most C bytes still dirty at the end: T >= (max(0, N R - C) + max(0,
// N W - C)) / (N BW) a call. Warm: N = 1, every call.
[[nodiscard]] Term memory_term(std::int64_t read_bytes, std::int64_t write_bytes, const arch::Arch& arch,
                               const BoundOptions& options);
// Every needed byte passes between the cache and a core once.
[[nodiscard]] std::optional<Term> cache_term(std::int64_t read_bytes, std::int64_t write_bytes,
                                             const arch::Arch& arch, const BoundOptions& options);

}  // namespace solmark::bound
