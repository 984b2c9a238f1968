#include "arch/arch.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace solmark::arch {
namespace {

constexpr std::array<std::string_view, 9> kFormatNames = {"fp64", "fp32", "tf32", "fp16", "bf16",
                                                          "fp8",  "fp6",  "fp4",  "int8"};
constexpr std::array<std::string_view, 2> kPipeNames = {"tensor", "vector"};
constexpr std::array<std::string_view, 3> kClockNames = {"locked", "datasheet", "max"};
constexpr std::array<std::string_view, 5> kCertaintyNames = {"vendor", "derived", "measured", "reported",
                                                             "assumed"};
constexpr std::array<std::string_view, 2> kKindNames = {"gpu", "cpu"};

template <class Enum, std::size_t N>
std::optional<Enum> from_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

Error arch_error(const Arch& arch, std::string message) {
  return input_error(std::move(message), "arch " + arch.name);
}

}  // namespace

std::string_view format_name(Format format) { return kFormatNames[static_cast<std::size_t>(format)]; }
std::string_view pipe_name(Pipe pipe) { return kPipeNames[static_cast<std::size_t>(pipe)]; }
std::string_view clock_policy_name(ClockPolicy policy) {
  return kClockNames[static_cast<std::size_t>(policy)];
}
std::string_view certainty_name(Certainty certainty) {
  return kCertaintyNames[static_cast<std::size_t>(certainty)];
}
std::string_view kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
std::optional<Format> format_from_name(std::string_view name) {
  return from_name<Format>(kFormatNames, name);
}
std::optional<Pipe> pipe_from_name(std::string_view name) { return from_name<Pipe>(kPipeNames, name); }
std::optional<ClockPolicy> clock_policy_from_name(std::string_view name) {
  return from_name<ClockPolicy>(kClockNames, name);
}
std::optional<Certainty> certainty_from_name(std::string_view name) {
  return from_name<Certainty>(kCertaintyNames, name);
}

namespace {

// "1500MHz", "1.5GHz", or a bare number: no part runs below 20 MHz or above 20 GHz, so up to 20 it is in GHz
// and from 100 on in MHz.
Result<double> hz_from_text(std::string_view text) {
  constexpr double kLeast = 20e6;
  constexpr double kMost = 20e9;
  const std::string_view mend = "write it as locked:1500MHz or locked:1.5GHz";
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) {
    return usage_error(fmt::format("'{}' is not a clock", text), std::string(mend));
  }
  std::string unit(end, text.data() + text.size());
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  double scale = 0;
  if (unit == "ghz" || (unit.empty() && number <= 20)) scale = 1e9;
  if (unit == "mhz" || (unit.empty() && number >= 100)) scale = 1e6;
  const double hz = number * scale;
  if (!(hz >= kLeast && hz <= kMost)) {
    return usage_error(fmt::format("'{}' is not a clock of a processor, in MHz or in GHz", text),
                       std::string(mend));
  }
  return hz;
}

}  // namespace

Result<Clock> clock_from_text(std::string_view text) {
  constexpr std::string_view kLockedPrefix = "locked:";
  if (text.substr(0, kLockedPrefix.size()) == kLockedPrefix) {
    SOLMARK_TRY(const double hz, hz_from_text(text.substr(kLockedPrefix.size())));
    return Clock{ClockPolicy::kLocked, hz};
  }
  if (const auto policy = clock_policy_from_name(text)) return Clock{*policy, std::nullopt};
  return usage_error(fmt::format("unknown clock policy '{}'", text),
                     "use max, datasheet, locked or locked:<clock>, as in locked:1500MHz or locked:1.5GHz");
}

Result<double> clock_hz(const Arch& arch, const Clock& clock) {
  if (arch.kind == Kind::kCpu) return 0.0;  // its rates were measured at the clock that it ran at
  switch (clock.policy) {
    case ClockPolicy::kLocked:
      if (clock.locked_hz) return *clock.locked_hz;
      if (arch.clock_locked_hz) return arch.clock_locked_hz->value;
      return usage_error("arch " + arch.name + " names no locked clock", "give it, as in locked:1500MHz");
    case ClockPolicy::kDatasheet:
      if (arch.clock_datasheet_hz) return arch.clock_datasheet_hz->value;
      break;
    case ClockPolicy::kMax:
      if (arch.clock_max_hz) return arch.clock_max_hz->value;
      break;
  }
  return arch_error(arch, fmt::format("no {} clock", clock_policy_name(clock.policy)));
}

std::optional<Peak> peak_flop_per_s(const Arch& arch, Pipe pipe, Format format, const Clock& clock) {
  const auto& table = pipe == Pipe::kTensor ? arch.tensor : arch.vector;
  const auto found = table.find(format);
  if (found == table.end()) return std::nullopt;
  const double rate = found->second.value;
  if (arch.kind == Kind::kCpu) return Peak{rate, fmt::format("{:.4g} FLOP/s, all threads", rate)};
  const auto hz = clock_hz(arch, clock);
  if (!hz.ok() || !arch.units) return std::nullopt;
  return Peak{rate * arch.units->value * *hz,
              fmt::format("{:g} FLOP/clk/SM x {:g} SM x {:g} GHz", rate, arch.units->value, *hz / 1e9)};
}

std::optional<Peak> cache_bytes_per_s(const Arch& arch, const Clock& clock) {
  if (arch.kind == Kind::kCpu) {
    if (!arch.cache_bytes_per_s) return std::nullopt;
    const double rate = arch.cache_bytes_per_s->value;
    return Peak{rate, fmt::format("{:.4g} B/s loaded and stored by all threads", rate)};
  }
  if (!arch.cache_bytes_per_clock_unit || !arch.units) return std::nullopt;
  const auto hz = clock_hz(arch, clock);
  if (!hz.ok()) return std::nullopt;
  const double rate = arch.cache_bytes_per_clock_unit->value;
  return Peak{rate * arch.units->value * *hz,
              fmt::format("{:g} B/clk/SM x {:g} SM x {:g} GHz", rate, arch.units->value, *hz / 1e9)};
}

double on_chip_bytes(const Arch& arch) {
  const double units = arch.units ? arch.units->value : 0;
  double total = arch.cache_bytes ? arch.cache_bytes->value : 0;
  for (const auto* part :
       {&arch.shared_bytes_per_unit, &arch.register_bytes_per_unit, &arch.tensor_memory_bytes_per_unit}) {
    if (*part) total += units * (*part)->value;
  }
  return total;
}

Status check_arch(const Arch& arch) {
  if (arch.name.empty()) return arch_error(arch, "the name is empty");
  if (!arch.units || arch.units->value < 1) return arch_error(arch, "units must be at least 1");
  if (!arch.memory_bytes_per_s) return arch_error(arch, "memory.bytes_per_s is missing");
  if (!arch.cache_bytes) return arch_error(arch, "memory.cache_bytes is missing");
  if (arch.vector.empty()) return arch_error(arch, "no vector rate is given");
  if (arch.kind == Kind::kGpu) {
    if (!arch.clock_max_hz) return arch_error(arch, "clock.max_hz is missing");
    for (const auto* lower : {&arch.clock_locked_hz, &arch.clock_datasheet_hz}) {
      if (*lower && (*lower)->value > arch.clock_max_hz->value) {
        return arch_error(arch, "clock.max_hz is below another clock");
      }
    }
  }
  for (const auto* part :
       {&arch.memory_read_bytes_per_s, &arch.memory_write_bytes_per_s, &arch.memory_copy_bytes_per_s}) {
    if (*part && (*part)->value > arch.memory_bytes_per_s->value) {
      return arch_error(arch, "memory.bytes_per_s is below one of its kinds of traffic, so it is no ceiling");
    }
  }
  for (const auto& printed : arch.printed_peaks) {
    const auto peak = peak_flop_per_s(arch, printed.pipe, printed.format, {printed.clock, std::nullopt});
    const std::string what = fmt::format("{}.{}", pipe_name(printed.pipe), format_name(printed.format));
    if (!peak)
      return arch_error(arch, "a peak is printed for " + what + ", but there is no such rate or clock");
    if (std::abs(peak->per_s / printed.flop_per_s.value - 1) > 0.01) {
      return arch_error(arch, fmt::format("{} gives {:.4g} FLOP/s ({}), but the printed peak is {:.4g}", what,
                                          peak->per_s, peak->arithmetic, printed.flop_per_s.value));
    }
  }
  return success();
}

}  // namespace solmark::arch
