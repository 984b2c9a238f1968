#include "arch/arch_toml.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_arch(std::string_view bytes) {
  auto loaded = arch::parse_arch(bytes, "fuzz");
  if (!loaded.ok()) {
    require(loaded.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return;
  }
  const std::string written = arch::arch_to_toml(*loaded);
  auto again = arch::parse_arch(written, "written");
  require(again.ok(), "what is written can be read");
  require(arch::arch_to_toml(*again) == written, "what is written reads back the same");
}

}  // namespace solmark::fuzz
