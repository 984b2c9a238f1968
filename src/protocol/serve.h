// The child's side of the doorbell: waits for a ring without a system call, does it, says that it is done.
// Workers and replayers both serve with it.
#pragma once

#include <functional>
#include <string>

#include "protocol/doorbell.h"

namespace solmark::protocol {

struct RingResult {
  std::int32_t failed_slot = -1;
  std::string message;
};

// Calls `on_ring` for kBatch and kEmpty until kQuit comes or the peer of `channel` hangs up. `on_ring`
// returns when the device is idle.
void serve_doorbell(Doorbell& bell, int channel, const std::function<RingResult(Ring)>& on_ring);

}  // namespace solmark::protocol
