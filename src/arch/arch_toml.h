// Arch files (TOML). Reading is strict: unknown keys, missing sources and non-positive figures are errors
// with file:line:column. Writing is for probed machines; what is written reads back the same.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "arch/arch.h"
#include "base/result.h"

namespace solmark::arch {

Result<Arch> parse_arch(std::string_view text, const std::string& source);
Result<Arch> read_arch(const std::filesystem::path& file);
std::string arch_to_toml(const Arch& arch);

}  // namespace solmark::arch
