// Time limits of everything a child does. A limit that ends is a TIMEOUT of the candidate, or of the oracle
// an INVALID_REFERENCE; the limits are options of the command line.
#pragma once

#include <chrono>

namespace solmark::judge {

struct Limits {
  std::chrono::milliseconds compile{120'000};
  std::chrono::milliseconds load{120'000};        // start, import and load of the candidate
  std::chrono::milliseconds first_call{120'000};  // lazy compilation and tuning happen here
  std::chrono::milliseconds call{30'000};
  std::chrono::milliseconds capture{120'000};
  std::chrono::milliseconds batch{30'000};
  std::chrono::milliseconds reference{300'000};
};

}  // namespace solmark::judge
