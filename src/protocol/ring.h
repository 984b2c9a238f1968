// The judge's side of the doorbell: rings, waits for the end and reads the judge's clock.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "protocol/doorbell.h"

namespace solmark::protocol {

// How the judge waits. Spinning sees the end soonest but takes a hardware thread that a CPU candidate may
// need.
enum class Wait { kSpin, kSleep };

struct Rung {
  double elapsed_s = 0;           // from the ring to the judge's sight of `done`
  std::int32_t failed_slot = -1;  // the child's claim
  std::string message;            // the child's claim, cut to the page
};

class Bell {
 public:
  static Result<Bell> create(Wait wait);
  [[nodiscard]] int fd() const { return fd_.get(); }
  // kTimeout when the batch did not end in time; kMachine when `alive` says that the child is gone.
  Result<Rung> ring(Ring what, std::chrono::milliseconds limit, const std::function<bool()>& alive);

 private:
  Bell(Fd fd, Mapping page, Wait wait) : fd_(std::move(fd)), page_(std::move(page)), wait_(wait) {}
  [[nodiscard]] Doorbell& bell() const { return *reinterpret_cast<Doorbell*>(page_.data()); }
  Fd fd_;
  Mapping page_;
  Wait wait_;
  std::uint32_t number_ = 0;
};

}  // namespace solmark::protocol
