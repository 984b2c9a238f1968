// The command line: verbs, options, exit codes. Verbs compute nothing; they call the modules and print.
// Exit codes: 0 all passed, 1 negative verdict, 2 usage, 3 bad input file, 4 the machine cannot do it, 5
// internal error, 124 time limit.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace solmark::cli {

// What a verb may know of the world outside its options.
struct World {
  std::map<std::string, std::string> environment;
  bool stdout_is_terminal = false;
  bool stderr_is_terminal = false;
};

int run(int argc, const char* const* argv, const World& world);

int exit_code(const Error& error);
// "error: where: message" and "  mend" on stderr; returns the exit code.
int report_error(const Error& error);

}  // namespace solmark::cli
