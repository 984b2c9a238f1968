// The programs that a build runs: where they are, which version, and the environment they see.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "build/build.h"

namespace solmark::build {

struct Tool {
  std::string
      path;  // as found, links not followed: a compiler may be a link to a wrapper that looks at its name
  std::string version;  // what it prints about itself
};

struct Toolchain {
  Tool cxx;
  Tool nvcc;                           // empty path when not needed or not there
  std::filesystem::path cuda_include;  // of the toolkit of nvcc
  std::filesystem::path cuda_lib;
  std::map<std::string, std::string> environment;
};

// Where a program is, by PATH; empty when it is nowhere.
std::string find_program(const std::string& name, const std::string& path);

// Runs a program for what it prints; an Error when it fails or takes longer than half a minute.
Result<std::string> ask_program(const std::vector<std::string>& argv,
                                const std::map<std::string, std::string>& environment);

// An Error with a mend when the compiler is missing, or when `need_nvcc` and nvcc is missing.
Result<Toolchain> find_toolchain(const BuildRequest& request, bool need_nvcc);

}  // namespace solmark::build
