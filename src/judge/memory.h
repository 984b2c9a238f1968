// The judge's memory for one workload: staged input sets with their expected outputs (seen by the oracle
// only), and the slots that a candidate works on.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "device/device.h"
#include "device/layout.h"

namespace solmark::judge {

// Sets of inputs and expectations; set k lies k strides into each region.
struct Staging {
  std::unique_ptr<device::Region> inputs;
  std::unique_ptr<device::Region> expected;
  std::size_t sets = 0;
};
Result<Staging> make_staging(device::Device& device, const device::Layout& inputs,
                             const device::Layout& outputs, std::size_t sets);

struct Slots {
  std::unique_ptr<device::Region> inputs;
  std::unique_ptr<device::Region> outputs;
  std::size_t count = 0;
  std::vector<std::uint32_t> set_of;  // which staged set a slot holds
};
Result<Slots> make_slots(device::Device& device, const device::Layout& inputs, const device::Layout& outputs,
                         std::size_t count);

// Deals the first `sets` staged sets out to the slots in a random order, every set to as many slots as any
// other (give or take one).
Status deal_sets(device::Device& device, const Staging& staging, std::size_t sets,
                 const device::Layout& inputs, Slots& slots, std::mt19937_64& random);

// NaN in every float type, an unlikely value in every integer type: what was never written shows.
inline constexpr std::uint32_t kPoison = 0xffc0ffc0U;

}  // namespace solmark::judge
