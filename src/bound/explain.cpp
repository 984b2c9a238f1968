#include "bound/explain.h"

#include <fmt/format.h>

#include <cmath>

namespace solmark::bound {
namespace {

// Three or four significant digits and a unit that fits.
std::string seconds(double value) {
  if (value >= 1) return fmt::format("{:.4g} s", value);
  if (value >= 1e-3) return fmt::format("{:.4g} ms", value * 1e3);
  if (value >= 1e-6) return fmt::format("{:.4g} us", value * 1e6);
  return fmt::format("{:.4g} ns", value * 1e9);
}

std::string bytes(double value) {
  if (value >= 1e9) return fmt::format("{:.4g} GB", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.4g} MB", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.4g} kB", value / 1e3);
  return fmt::format("{:.0f} B", value);
}

void note_lines(const char* title, const std::vector<OpNote>& notes, std::string& out) {
  if (notes.empty()) return;
  out += fmt::format("\n{}\n", title);
  for (const auto& note : notes) {
    out += fmt::format("  {}{}{}\n", note.op, note.times > 1 ? fmt::format(" x{}", note.times) : "",
                       note.why.empty() ? "" : ": " + note.why);
  }
}

}  // namespace

std::string bound_table(const Bound& bound) {
  static constexpr const char* kLevelNames[] = {"L0 I/O", "L1 algebra-exact", "L2 classical"};
  std::string out = fmt::format("{} on {}\n{}\n\n", bound.definition.empty() ? "graph" : bound.definition,
                                bound.arch, bound.label);
  out += fmt::format("{:<18} {:>12}  {}\n", "level", "at least", "limited by");
  for (const auto& level : bound.levels) {
    out += fmt::format("{:<18} {:>12}  {}\n", kLevelNames[level.level], seconds(level.t_s), level.limiter);
  }
  out += fmt::format("\nterms\n");
  for (const auto& term : bound.levels[2].terms) {
    out += fmt::format("  {:<12} {:>12}  {}: {}\n", term.resource, seconds(term.t_s), term.rule,
                       term.arithmetic);
  }
  if (!bound.traffic.empty()) out += "\nbytes that must move\n";
  for (const auto& item : bound.traffic) {
    std::string detail;
    if (item.sector_bytes != item.bytes)
      detail += fmt::format(" ({} in whole sectors)", bytes(static_cast<double>(item.sector_bytes)));
    if (item.bytes != item.storage_bytes)
      detail += fmt::format(" of {}", bytes(static_cast<double>(item.storage_bytes)));
    if (!item.exact) detail += ", at least";
    out += fmt::format("  {:<6} {:<20} {:>12}{}\n", item.write ? "write" : "read", item.name,
                       bytes(static_cast<double>(item.bytes)), detail);
  }
  if (!bound.work.empty()) out += "\nmultiplies that must be done\n";
  for (const auto& item : bound.work) {
    std::string ops;
    for (const std::size_t op : item.ops) ops += (ops.empty() ? "" : ",") + std::to_string(op);
    out += fmt::format("  {:>12.6g} {:<5} {} (op {}), {}: {}\n", item.multiplies, item.precision, item.op,
                       ops, item.rule, item.arithmetic);
  }
  note_lines("I/O only (arithmetic not counted)", bound.io_only, out);
  note_lines("multiplies not counted", bound.not_counted, out);
  note_lines("reads not all proved", bound.unproved, out);
  note_lines("computed before, counted once", bound.repeated, out);
  out += "\nassumptions\n";
  for (const auto& assumption : bound.assumptions) out += "  " + assumption + "\n";
  return out;
}

}  // namespace solmark::bound
