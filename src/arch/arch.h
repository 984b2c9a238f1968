// A machine as the bounds see it: rates, capacities, clocks, links. Every figure carries its source and how
// sure it is. Rates are ceilings: a bound made from them must hold on the fastest machine of this name, so
// where sources disagree the larger figure stands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace solmark::arch {

enum class Certainty {
  kVendor,    // printed by the vendor
  kDerived,   // arithmetic on vendor figures, given in the source
  kMeasured,  // measured on a machine, by the method given in the source
  kReported,  // printed by third parties only
  kAssumed,   // no source; chosen so that bounds stay lower bounds
};

struct Figure {
  double value = 0;
  std::string source;
  Certainty certainty = Certainty::kAssumed;
};

enum class Kind { kGpu, kCpu };

// Number formats that an arithmetic pipe takes.
enum class Format { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kFp6, kFp4, kInt8 };
inline constexpr Format kFormats[] = {Format::kFp64, Format::kFp32, Format::kTf32,
                                      Format::kFp16, Format::kBf16, Format::kFp8,
                                      Format::kFp6,  Format::kFp4,  Format::kInt8};

enum class Pipe {
  kTensor,  // tensor cores, matrix cores
  kVector,
};

enum class ClockPolicy {
  kLocked,     // the clock the machine is locked to
  kDatasheet,  // the clock behind the vendor's printed peaks
  kMax,        // the highest clock the part may reach: bounds hold whatever the governor does
};

struct Clock {
  ClockPolicy policy = ClockPolicy::kMax;
  std::optional<double> locked_hz;  // for kLocked; overrides the file's locked clock
};

struct Link {
  std::string name;
  Figure bytes_per_s;              // one direction, one device
  bool reduces_in_fabric = false;  // the switch can add (NVLink SHARP)
};

// A peak that the vendor prints, kept to check the per-clock figures against.
struct PrintedPeak {
  Pipe pipe = Pipe::kTensor;
  Format format = Format::kFp16;
  ClockPolicy clock = ClockPolicy::kDatasheet;
  Figure flop_per_s;
};

struct Arch {
  std::string name;
  std::string title;
  Kind kind = Kind::kGpu;

  std::optional<Figure> units;  // SMs or compute units of a gpu, usable hardware threads of a cpu
  std::optional<Figure> clock_locked_hz, clock_datasheet_hz, clock_max_hz;

  // gpu: dense FLOP per clock and SM (a multiply-add is 2). cpu: FLOP/s of all units together.
  std::map<Format, Figure> tensor, vector;
  std::map<Format, Figure> vector_per_unit;  // cpu: FLOP/s of one thread alone

  std::optional<Figure> memory_bytes;
  std::optional<Figure> memory_bytes_per_s;  // the ceiling of all kinds of traffic
  std::optional<Figure> memory_read_bytes_per_s, memory_write_bytes_per_s,
      memory_copy_bytes_per_s;                // parts of it
  std::optional<Figure> memory_sector_bytes;  // least transfer between memory and the last-level cache
  std::optional<Figure>
      cache_bytes;  // what may stay between calls: all caches behind the SMs of a gpu, all caches of a cpu
  std::optional<Figure> cache_bytes_per_clock_unit;  // gpu: between last-level cache and one SM
  std::optional<Figure>
      cache_bytes_per_s;  // cpu: loads and stores of all threads together, from the nearest cache
  std::optional<Figure> shared_bytes_per_unit, register_bytes_per_unit, tensor_memory_bytes_per_unit;

  // gpu, per SM and clock: lanes that all instructions together may issue to, results of the special-function
  // unit, bytes between shared memory and registers.
  std::optional<Figure> lanes_per_clock_unit, special_results_per_clock_unit, shared_bytes_per_clock_unit;
  std::optional<Figure> cluster_units;  // SMs whose shared memories may serve one another

  // Physical: no call that reads something and writes something can be shorter.
  std::optional<Figure> latency_floor_s;
  std::optional<Figure> dependent_clocks;  // from an arithmetic instruction to one that uses its result
  // Measured the way candidates are timed; shown beside results, never part of a bound.
  std::optional<Figure> calibrated_empty_call_s, calibrated_load_store_call_s;

  std::vector<Link> links;
  std::vector<PrintedPeak> printed_peaks;
};

// A rate and how it came about: "4096 FLOP/clk/SM x 132 SM x 1.98 GHz".
struct Peak {
  double per_s = 0;
  std::string arithmetic;
};

[[nodiscard]] Result<double> clock_hz(const Arch& arch, const Clock& clock);
// Nothing when the arch has no such pipe for the format. The clock must be one that clock_hz accepts.
[[nodiscard]] std::optional<Peak> peak_flop_per_s(const Arch& arch, Pipe pipe, Format format,
                                                  const Clock& clock);
// Last-level cache (of a cpu: nearest cache) to all units together; nothing when unknown.
[[nodiscard]] std::optional<Peak> cache_bytes_per_s(const Arch& arch, const Clock& clock);
// Everything that can hold data on the chip: cache, shared memory, registers, tensor memory.
[[nodiscard]] double on_chip_bytes(const Arch& arch);
// Internal consistency: needed figures are there, ceilings are positive, printed peaks agree within 1 %.
[[nodiscard]] Status check_arch(const Arch& arch);

[[nodiscard]] std::string_view format_name(Format format);
[[nodiscard]] std::string_view pipe_name(Pipe pipe);
[[nodiscard]] std::string_view clock_policy_name(ClockPolicy policy);
[[nodiscard]] std::string_view certainty_name(Certainty certainty);
[[nodiscard]] std::string_view kind_name(Kind kind);
[[nodiscard]] std::optional<Format> format_from_name(std::string_view name);
[[nodiscard]] std::optional<Pipe> pipe_from_name(std::string_view name);
[[nodiscard]] std::optional<ClockPolicy> clock_policy_from_name(std::string_view name);
[[nodiscard]] std::optional<Certainty> certainty_from_name(std::string_view name);
// "max", "datasheet", "locked", "locked:1500MHz", "locked:1.5GHz", or without a unit (MHz from 100 on, GHz up
// to 20), as on the command line.
[[nodiscard]] Result<Clock> clock_from_text(std::string_view text);

}  // namespace solmark::arch
