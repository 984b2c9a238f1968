#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "arch/arch.h"
#include "arch/arch_toml.h"
#include "arch/probe_cpu.h"
#include "arch/registry.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/verbs.h"
#include "device/device.h"
#include "device/probe_cuda.h"

namespace solmark::cli {

Result<int> arch_list(bool json) {
  for (const arch::ArchEntry& entry : arch::list_archs()) {
    auto found = arch::find_arch(entry.name);
    std::string title = found.ok() ? found->title : "unreadable: " + found.error().text();
    if (json) {
      std::printf(
          "%s\n",
          to_json_line(Json{{"name", entry.name}, {"title", title}, {"origin", entry.origin}}).c_str());
    } else {
      std::printf("%s\n", fmt::format("{:<14} {:<44} {}", entry.name, title, entry.origin).c_str());
    }
  }
  return 0;
}

Result<int> arch_show(const std::string& name, bool json) {
  SOLMARK_TRY(arch::Arch found, arch::find_arch(name));
  std::string toml = arch::arch_to_toml(found);
  if (json) {
    std::printf("%s\n",
                to_json_line(Json{{"name", found.name}, {"title", found.title}, {"toml", toml}}).c_str());
  } else {
    std::printf("%s", toml.c_str());
  }
  return 0;
}

Result<int> arch_probe(const ArchProbeCommand& command) {
  SOLMARK_TRY(const std::optional<int> index, device::cuda_index(command.device));
  SOLMARK_TRY(arch::Arch probed, index ? device::probe_cuda(*index) : arch::probe_cpu());
  std::string toml = arch::arch_to_toml(probed);
  if (command.output.empty()) {
    std::printf("%s", toml.c_str());
  } else {
    SOLMARK_CHECK_OK(write_file(command.output, toml));
  }
  return 0;
}

}  // namespace solmark::cli
