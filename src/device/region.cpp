#include <atomic>

#include "device/device.h"

namespace solmark::device {

Region::Region() {
  static std::atomic<std::uint64_t> last{0};
  id_ = ++last;
}

}  // namespace solmark::device
