// The bound of one workload: the recorded graph against an arch.
#pragma once

#include "arch/arch.h"
#include "base/json.h"
#include "device/device.h"
#include "judge/options.h"
#include "judge/trace.h"

namespace solmark::judge {

// The arch named by the options, or the one that fits the device: by its name for a GPU, probed (and kept in
// the cache folder) for a CPU. nullopt with `why` where no arch file fits: then there is no bound and no
// score.
Result<std::optional<arch::Arch>> choose_arch(const EvalOptions& options, const device::DeviceInfo& device,
                                              std::string& why);

// A probed CPU was beaten: something may have disturbed its probe. Measures again and keeps the higher
// ceilings.
Result<arch::Arch> probe_again(const EvalOptions& options, const device::DeviceInfo& device,
                               const arch::Arch& arch);

// `graph` as the oracle recorded it; `slots` for the batch form of the memory bound.
Result<BoundRecord> bound_of(const Json& graph, const arch::Arch& arch, const EvalOptions& options,
                             std::size_t slots);

}  // namespace solmark::judge
