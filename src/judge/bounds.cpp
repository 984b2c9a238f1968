#include "judge/bounds.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "arch/arch_toml.h"
#include "arch/probe_cpu.h"
#include "arch/registry.h"
#include "base/files.h"
#include "base/hash.h"
#include "bound/bound.h"
#include "graph/graph_json.h"

namespace solmark::judge {
namespace {

// Marketing names as the driver prints them, and the arch file that describes them.
struct KnownGpu {
  const char* part_of_name;
  const char* arch;
};
// In order: a name that holds another one's comes first.
constexpr std::array kGpus = {
    KnownGpu{"GB200", "gb200"},
    KnownGpu{"B200", "b200"},
    KnownGpu{"B300", "b300"},
    KnownGpu{"H200", "h200-sxm"},
    KnownGpu{"H20", "h20"},
    KnownGpu{"H100 80GB HBM3", "h100-sxm"},
    KnownGpu{"H100 SXM", "h100-sxm"},
    KnownGpu{"H100 PCIe", "h100-pcie"},
    KnownGpu{"A100-SXM", "a100-sxm"},
    KnownGpu{"RTX A6000", "a6000"},
    KnownGpu{"L40S", "l40s"},
    KnownGpu{"NVIDIA L4", "l4"},
    KnownGpu{"RTX PRO 6000 Blackwell", "rtx-pro-6000"},
    KnownGpu{"RTX 4090", "rtx4090"},
    KnownGpu{"RTX 5090", "rtx5090"},
};

// A CPU's ceilings are measured once and kept; the file's name holds everything that would change them.
std::filesystem::path kept_probe(const std::filesystem::path& cache, const device::DeviceInfo& device) {
  constexpr int kProbeVersion = 2;
  std::string key = Sha256()
                        .add(device.name)
                        .add(fmt::format("{}", device.multiprocessors))
                        .add(fmt::format("{}", device.last_level_cache_bytes))
                        .add(fmt::format("{}", kProbeVersion))
                        .hex();
  return cache / "arch" / ("cpu-" + key.substr(0, 16) + ".toml");
}

void keep_probe(const std::filesystem::path& file, const arch::Arch& probed) {
  std::error_code ec;
  std::filesystem::create_directories(file.parent_path(), ec);
  // A cache that cannot be written costs the next evaluation a probe, nothing else.
  (void)write_file(file, arch::arch_to_toml(probed)).ok();
}

Result<arch::Arch> probed_cpu(const std::filesystem::path& cache, const device::DeviceInfo& device) {
  const std::filesystem::path file = kept_probe(cache, device);
  std::error_code ec;
  if (std::filesystem::exists(file, ec)) {
    auto kept = arch::read_arch(file);
    if (kept.ok()) return kept;
  }
  SOLMARK_TRY(arch::Arch probed, arch::probe_cpu());
  keep_probe(file, probed);
  return probed;
}

}  // namespace

Result<std::optional<arch::Arch>> choose_arch(const EvalOptions& options, const device::DeviceInfo& device,
                                              std::string& why) {
  if (!options.arch.empty()) {
    SOLMARK_TRY(arch::Arch named, arch::find_arch(options.arch));
    return std::optional<arch::Arch>(std::move(named));
  }
  if (device.kind == "cpu") {
    SOLMARK_TRY(arch::Arch probed, probed_cpu(options.installation.cache, device));
    return std::optional<arch::Arch>(std::move(probed));
  }
  for (const KnownGpu& gpu : kGpus) {
    if (device.name.find(gpu.part_of_name) == std::string::npos) continue;
    SOLMARK_TRY(arch::Arch found, arch::find_arch(gpu.arch));
    return std::optional<arch::Arch>(std::move(found));
  }
  why =
      fmt::format("no arch file describes \"{}\": no bound and no score; name one with --arch", device.name);
  return std::optional<arch::Arch>();
}

Result<arch::Arch> probe_again(const EvalOptions& options, const device::DeviceInfo& device,
                               const arch::Arch& arch) {
  SOLMARK_TRY(const arch::Arch probed, arch::probe_cpu());
  arch::Arch higher = arch::with_higher_ceilings(arch, probed);
  keep_probe(kept_probe(options.installation.cache, device), higher);
  return higher;
}

Result<BoundRecord> bound_of(const Json& json, const arch::Arch& arch, const EvalOptions& options,
                             std::size_t slots) {
  SOLMARK_TRY(graph::OpGraph graph, graph::graph_from_json(json, "recorded reference"));
  bound::BoundOptions bound_options;
  SOLMARK_TRY(bound_options.clock, arch::clock_from_text(options.clock));
  bound_options.cache = options.warm ? bound::CacheState::kWarm : bound::CacheState::kCold;
  bound_options.slots = static_cast<std::int64_t>(slots);
  SOLMARK_TRY(bound::Bound bound, bound::compute_bound(graph, arch, bound_options));
  BoundRecord out;
  out.arch = bound.arch;
  out.clock = options.clock;
  out.t_sol_s = bound.t_sol_s;
  for (const auto& level : bound.levels) {
    out.levels_s.emplace_back(fmt::format("L{}", level.level), level.t_s);
  }
  out.level = bound.label;
  out.limiter = bound.levels.back().limiter;
  for (const auto& note : bound.io_only) out.io_only_ops.push_back(note.op);
  for (const auto& note : bound.not_counted) out.io_only_ops.push_back(note.op);
  return out;
}

}  // namespace solmark::judge
