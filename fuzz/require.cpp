#include <cstdio>
#include <cstdlib>

#include "targets.h"

namespace solmark::fuzz {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace solmark::fuzz
