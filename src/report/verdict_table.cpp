#include "report/verdict_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace solmark::report {
namespace {

using judge::Trace;
using judge::TraceStatus;

std::string or_dash(bool known, std::string text) { return known ? std::move(text) : "-"; }

// The variable axes of a workload, short: "batch=8 seq=128".
std::string axes_text(const Trace& trace) {
  auto workload = parse_json(trace.workload_json, "workload", kPythonJson);
  std::string out;
  if (!workload.ok()) return out;
  auto axes = workload->find("axes");
  if (axes == workload->end() || !axes->is_object()) return out;
  for (const auto& [name, value] : axes->items()) {
    if (!out.empty()) out += ' ';
    out += name + "=" + value.dump();
  }
  if (out.size() > 34) out = out.substr(0, 33) + "…";
  return out;
}

// Pads to a width counted in characters, not in bytes.
std::string pad(const std::string& text, std::size_t width, bool right) {
  std::size_t shown = 0;
  for (char c : text) shown += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
  std::string space(width > shown ? width - shown : 0, ' ');
  return right ? space + text : text + space;
}

std::string line(const std::array<std::string, 9>& cells) {
  constexpr std::array<std::size_t, 9> kWidths = {8, 34, 19, 10, 7, 10, 6, 6, 9};
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += pad(cells[i], kWidths[i], i >= 3 && i != 8);
    out += i + 1 < cells.size() ? "  " : "";
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out + "\n";
}

}  // namespace

std::string duration(double seconds) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
  for (auto [scale, unit] : kUnits) {
    if (seconds < scale && scale > 1e-9) continue;
    double value = seconds / scale;
    int decimals = value >= 100 ? 1 : value >= 10 ? 2 : 3;
    return fmt::format("{:.{}f} {}", value, decimals, unit);
  }
  return "0 s";
}

std::string VerdictTable::header(const Trace& first) {
  std::string out = fmt::format("{} · {} · {}", first.definition, first.solution, first.hardware);
  if (first.bound) out += fmt::format(" · bound for {} at {} clock", first.bound->arch, first.bound->clock);
  out += "\n\n";
  return out + line({"workload", "axes", "status", "time", "±", "bound", "t/sol", "score", "limiter"});
}

std::string VerdictTable::row(const Trace& t) {
  const auto& timing = t.timing;
  double half = timing && timing->t_s > 0 ? (timing->interval.hi - timing->interval.lo) / 2 / timing->t_s : 0;
  std::string mode = t.mode == "live" && t.machine.kind != "cpu" && timing ? " (live)" : "";
  return line({t.uuid.substr(0, 8), axes_text(t), judge::status_name(t.status) + mode,
               or_dash(timing.has_value(), timing ? duration(timing->t_s) : ""),
               or_dash(timing.has_value(), fmt::format("{:.1f} %", half * 100)),
               or_dash(t.bound.has_value(), t.bound ? duration(t.bound->t_sol_s) : ""),
               or_dash(timing && t.bound && t.bound->t_sol_s > 0,
                       timing && t.bound ? fmt::format("{:.2f}", timing->t_s / t.bound->t_sol_s) : ""),
               or_dash(t.sol_score.has_value(), t.sol_score ? fmt::format("{:.3f}", *t.sol_score) : ""),
               or_dash(t.bound.has_value(), t.bound ? t.bound->limiter : "")});
}

std::string VerdictTable::details(const std::vector<Trace>& traces) {
  // The same sentence about several workloads is said once.
  std::vector<std::pair<std::string, std::vector<std::string>>> said;
  auto say = [&](const Trace& trace, const std::string& sentence) {
    std::string id = trace.uuid.substr(0, 8);
    for (auto& [known, ids] : said) {
      if (known != sentence) continue;
      ids.push_back(id);
      return;
    }
    said.emplace_back(sentence, std::vector<std::string>{id});
  };
  for (const Trace& t : traces) {
    if (t.status != TraceStatus::kPassed) say(t, judge::status_name(t.status) + ": " + t.log);
    for (const auto& f : t.findings) say(t, fmt::format("{} [{}]: {}", f.severity, f.id, f.message));
    if (!t.why_live.empty()) say(t, "ran live: " + t.why_live);
  }
  std::string out;
  for (const auto& [sentence, ids] : said) {
    std::string who =
        ids.size() == traces.size() && ids.size() > 1 ? "all" : fmt::format("{}", fmt::join(ids, " "));
    out += fmt::format("{} {}\n", who, sentence);
  }
  return out.empty() ? out : "\n" + out;
}

std::string VerdictTable::footer(const std::vector<Trace>& traces) {
  std::size_t passed = 0;
  double sum = 0;
  std::size_t scored = 0;
  std::string baseline;
  for (const Trace& t : traces) {
    if (t.status == TraceStatus::kPassed) ++passed;
    if (t.sol_score) {
      sum += *t.sol_score;
      ++scored;
      baseline = t.baseline;
    }
  }
  std::string out = fmt::format("\n{} of {} workloads passed", passed, traces.size());
  if (scored > 0) {
    out += fmt::format(", mean SOL score {:.3f} over {} scored (t_b: {})", sum / static_cast<double>(scored),
                       scored,
                       baseline == "reference" ? "the reference's own eager time" : "solution " + baseline);
  }
  return out + "\n";
}

}  // namespace solmark::report
