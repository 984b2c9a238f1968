// The arch files that were built into the program (arch/*.toml of the source tree); the definitions are
// generated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace solmark::arch {

struct BuiltinArch {
  std::string name;
  std::string_view text;
};

std::vector<BuiltinArch> builtin_archs();

}  // namespace solmark::arch
