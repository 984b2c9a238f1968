#include <unistd.h>

#include <cstdio>

#include "base/process.h"
#include "cli/run.h"

int main(int argc, char** argv) {
  solmark::cli::World world;
  world.environment = solmark::current_environment();
  world.stdout_is_terminal = isatty(1) == 1;
  world.stderr_is_terminal = isatty(2) == 1;
  return solmark::cli::run(argc, argv, world);
}
