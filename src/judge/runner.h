// Takes one workload through its phases: input sets, trial calls, slots, seal, timed and checked batches.
#pragma once

#include <random>

#include "build/build.h"
#include "device/device.h"
#include "judge/candidate.h"
#include "judge/case.h"
#include "judge/fault.h"
#include "judge/options.h"
#include "oracle/oracle.h"

namespace solmark::judge {

class Runner {
 public:
  Runner(const EvalOptions& options, const problem::Definition& definition, device::Device& device,
         oracle::Oracle& oracle, std::uint64_t secret);

  // Staging memory, the oracle's workload, and the first input set (which draws the scalars).
  Step stage(Case& c);
  // The same without a set: when another workload was the oracle's meanwhile.
  Step restage(Case& c);
  // The reference's own time, eager.
  Step time_reference(Case& c);
  // A few calls on a few slots: load-time faults show, and the time of a call is estimated.
  Step trial(Case& c, Worker& worker, double& call_s);
  // Decides the number of slots and binds them.
  Step bind_slots(Case& c, Worker& worker, double call_s);
  // Timed and checked batches on whoever serves: a worker (live) or a replayer (sealed).
  Step measure(Case& c, Server& server, const std::vector<std::vector<OutputPlace>>* places,
               const std::vector<const device::Region*>& regions);

  // The same batches as one graph in the worker, unchecked: what sealed calls should take.
  Step time_live_graph(Case& c, Worker& worker, double& call_s);

  // Fresh sets in the slots, poisoned outputs, cold caches, device idle.
  Step refresh(Case& c, const std::vector<std::vector<OutputPlace>>* places,
               const std::vector<const device::Region*>& regions);

 private:
  Step make_set(Case& c, std::size_t index);
  Step bind_first_set(Case& c, Worker& worker);
  // The staged sets in the slots, poisoned outputs, cold caches, device idle.
  Step prepare_slots(Case& c, const std::vector<std::vector<OutputPlace>>* places,
                     const std::vector<const device::Region*>& regions);
  Step poison_own_places(Case& c, const std::vector<std::vector<OutputPlace>>& places,
                         const std::vector<const device::Region*>& regions, std::uint32_t pattern);
  Step run_batch(Case& c, Server& server, measure::Batch& batch);
  [[nodiscard]] BindingView view(const Case& c, const Slots& slots) const;

  const EvalOptions& options_;
  const problem::Definition& definition_;
  device::Device& device_;
  oracle::Oracle& oracle_;
  std::uint64_t secret_;
  std::mt19937_64 random_;
};

}  // namespace solmark::judge
