#include "judge/memory.h"

#include <algorithm>

namespace solmark::judge {
namespace {

// A region is never empty: a problem without tensors on one side still has a place to point at.
std::size_t region_bytes(const device::Layout& layout, std::size_t copies) {
  return std::max<std::size_t>(device::kTensorAlignment, layout.slot_stride * copies);
}

}  // namespace

Result<Staging> make_staging(device::Device& device, const device::Layout& inputs,
                             const device::Layout& outputs, std::size_t sets) {
  Staging out;
  out.sets = sets;
  SOLMARK_TRY(out.inputs, device.allocate("staged-inputs", region_bytes(inputs, sets)));
  SOLMARK_TRY(out.expected, device.allocate("expected", region_bytes(outputs, sets)));
  return out;
}

Result<Slots> make_slots(device::Device& device, const device::Layout& inputs, const device::Layout& outputs,
                         std::size_t count) {
  Slots out;
  out.count = count;
  SOLMARK_TRY(out.inputs, device.allocate("inputs", region_bytes(inputs, count)));
  SOLMARK_TRY(out.outputs, device.allocate("outputs", region_bytes(outputs, count)));
  return out;
}

Status deal_sets(device::Device& device, const Staging& staging, std::size_t sets,
                 const device::Layout& inputs, Slots& slots, std::mt19937_64& random) {
  slots.set_of.resize(slots.count);
  for (std::size_t i = 0; i < slots.count; ++i) slots.set_of[i] = static_cast<std::uint32_t>(i % sets);
  std::shuffle(slots.set_of.begin(), slots.set_of.end(), random);
  if (inputs.slot_stride == 0) return success();
  return device.deal(*slots.inputs, *staging.inputs, inputs.slot_stride, slots.set_of);
}

}  // namespace solmark::judge
