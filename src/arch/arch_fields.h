// The one list of an arch file's scalar figures: reader, writer and listing all walk it.
#pragma once

#include <optional>
#include <string_view>

#include "arch/arch.h"

namespace solmark::arch {

struct FigureField {
  std::string_view section;
  std::string_view key;
  std::optional<Figure> Arch::* member;
};

inline constexpr FigureField kFigureFields[] = {
    {"units", "count", &Arch::units},
    {"clock", "locked_hz", &Arch::clock_locked_hz},
    {"clock", "datasheet_hz", &Arch::clock_datasheet_hz},
    {"clock", "max_hz", &Arch::clock_max_hz},
    {"memory", "bytes", &Arch::memory_bytes},
    {"memory", "bytes_per_s", &Arch::memory_bytes_per_s},
    {"memory", "read_bytes_per_s", &Arch::memory_read_bytes_per_s},
    {"memory", "write_bytes_per_s", &Arch::memory_write_bytes_per_s},
    {"memory", "copy_bytes_per_s", &Arch::memory_copy_bytes_per_s},
    {"memory", "sector_bytes", &Arch::memory_sector_bytes},
    {"memory", "cache_bytes", &Arch::cache_bytes},
    {"memory", "cache_bytes_per_clock_unit", &Arch::cache_bytes_per_clock_unit},
    {"memory", "cache_bytes_per_s", &Arch::cache_bytes_per_s},
    {"on_chip", "shared_bytes_per_unit", &Arch::shared_bytes_per_unit},
    {"on_chip", "register_bytes_per_unit", &Arch::register_bytes_per_unit},
    {"on_chip", "tensor_memory_bytes_per_unit", &Arch::tensor_memory_bytes_per_unit},
    {"on_chip", "lanes_per_clock_unit", &Arch::lanes_per_clock_unit},
    {"on_chip", "special_results_per_clock_unit", &Arch::special_results_per_clock_unit},
    {"on_chip", "shared_bytes_per_clock_unit", &Arch::shared_bytes_per_clock_unit},
    {"on_chip", "cluster_units", &Arch::cluster_units},
    {"latency", "floor_s", &Arch::latency_floor_s},
    {"latency", "dependent_clocks", &Arch::dependent_clocks},
    {"calibrated", "empty_call_s", &Arch::calibrated_empty_call_s},
    {"calibrated", "load_store_call_s", &Arch::calibrated_load_store_call_s},
};

struct RateField {
  std::string_view section;
  std::map<Format, Figure> Arch::* member;
};

inline constexpr RateField kRateFields[] = {
    {"tensor", &Arch::tensor},
    {"vector", &Arch::vector},
    {"vector_per_unit", &Arch::vector_per_unit},
};

}  // namespace solmark::arch
