#include "bound/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace solmark::bound {

Term memory_term(std::int64_t read_bytes, std::int64_t write_bytes, const arch::Arch& arch,
                 const BoundOptions& options) {
  const auto reads = static_cast<double>(read_bytes);
  const auto writes = static_cast<double>(write_bytes);
  const double rate = arch.memory_bytes_per_s->value;
  const double cache = arch.cache_bytes->value;
  Term term;
  term.resource = "memory";
  term.operands = {{"read_bytes", reads}, {"write_bytes", writes}, {"memory_bytes_per_s", rate}};
  if (options.cache == CacheState::kCold && !options.slots) {
    term.rule = "io.memory-rotation";
    term.t_s = (reads + writes) / rate;
    term.arithmetic = fmt::format("({:.0f} B + {:.0f} B) / {:.4g} B/s", reads, writes, rate);
    return term;
  }
  const double slots = options.cache == CacheState::kWarm ? 1 : static_cast<double>(*options.slots);
  term.rule = options.cache == CacheState::kWarm ? "io.memory-warm" : "io.memory-batch";
  term.operands.push_back({"cache_bytes", cache});
  term.operands.push_back({"slots", slots});
  const double moved = std::max(0.0, slots * reads - cache) + std::max(0.0, slots * writes - cache);
  term.t_s = moved / slots / rate;
  term.arithmetic = fmt::format(
      "(max(0, {0:.0f} x {1:.0f} B - {2:.0f} B) + max(0, {0:.0f} x {3:.0f} B - {2:.0f} B)) / "
      "{0:.0f} / {4:.4g} B/s",
      slots, reads, cache, writes, rate);
  return term;
}

std::optional<Term> cache_term(std::int64_t read_bytes, std::int64_t write_bytes, const arch::Arch& arch,
                               const BoundOptions& options) {
  const auto peak = arch::cache_bytes_per_s(arch, options.clock);
  if (!peak) return std::nullopt;
  const auto reads = static_cast<double>(read_bytes);
  const auto writes = static_cast<double>(write_bytes);
  Term term;
  term.rule = "io.cache-path";
  term.resource = "cache";
  term.operands = {{"read_bytes", reads}, {"write_bytes", writes}, {"cache_bytes_per_s", peak->per_s}};
  term.t_s = (reads + writes) / peak->per_s;
  term.arithmetic =
      fmt::format("({:.0f} B + {:.0f} B) / {:.4g} B/s ({})", reads, writes, peak->per_s, peak->arithmetic);
  return term;
}

}  // namespace solmark::bound
