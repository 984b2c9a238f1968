// Where arch files come from: a path to a .toml file, the user's data folders ($XDG_DATA_HOME/solmark/arch
// and $XDG_DATA_DIRS/solmark/arch), and the files built into the program. A user's file goes before a
// built-in one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arch/arch.h"
#include "base/result.h"

namespace solmark::arch {

struct ArchEntry {
  std::string name;
  std::string origin;  // "built in" or the file's path
};

// By name, or by path when it ends in .toml or holds a '/'.
Result<Arch> find_arch(const std::string& name_or_path);
// All names that find_arch knows, sorted; a name that several places have is listed once, with the one that
// counts.
std::vector<ArchEntry> list_archs();

}  // namespace solmark::arch
