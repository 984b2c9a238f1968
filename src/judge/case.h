// One workload on its way from file to Trace.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "device/layout.h"
#include "judge/candidate.h"
#include "judge/memory.h"
#include "judge/trace.h"
#include "problem/definition.h"
#include "problem/workload.h"

namespace solmark::judge {

struct Case {
  problem::Workload workload;
  problem::AxisValues axes;
  std::map<std::string, std::filesystem::path> blobs;  // input name -> safetensors file
  device::Layout inputs;
  device::Layout outputs;
  std::shared_ptr<Json> scalars;  // name -> value; drawn by the first input set, then fixed
  std::shared_ptr<Json> graph;    // the recorded reference
  Staging staging;
  Slots slots;
  bool slots_exceed_cache = false;
  std::optional<SealedCalls> sealed;
  bool zero_outputs = false;  // outputs start as zeros, not as the judge's poison
  std::uint64_t sets_made = 0;
  bool done = false;
  Trace trace;

  [[nodiscard]] std::size_t slot_bytes() const { return inputs.slot_stride + outputs.slot_stride; }
  // Frees the memory of a finished case.
  void release() {
    staging = {};
    slots = {};
    sealed.reset();
  }
};

}  // namespace solmark::judge
