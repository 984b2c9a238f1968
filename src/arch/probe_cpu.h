// Measures the ceilings of the processor that this process runs on and describes it as an Arch of kind cpu,
// so that bounds hold there: the best of many runs, with a margin on top, since a ceiling must not be beaten
// later.
#pragma once

#include "arch/arch.h"
#include "base/result.h"

namespace solmark::arch {

struct ProbeOptions {
  double seconds = 4;    // for all measurements together, about
  double margin = 0.10;  // rates are raised by this part
  // Each of the two areas that all threads together stream over; at least four times the caches where these
  // cannot be flushed.
  std::size_t bytes = std::size_t{128} << 20;
};

Result<Arch> probe_cpu(const ProbeOptions& options = {});
// Two probes of one processor: of each rate the higher. What disturbs a probe can only lower it.
[[nodiscard]] Arch with_higher_ceilings(Arch arch, const Arch& other);

}  // namespace solmark::arch
