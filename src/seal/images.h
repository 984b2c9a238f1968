// Collects the machine code of every module that this process loads, as the driver runs it (PTX already
// compiled), by CUPTI's resource callbacks; and, by callbacks around the driver's loading and launching
// calls, which handle each image came with. Those handles tell images apart that hold kernels of the same
// name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::seal {

// One image and the handles that are known to belong to it, as the driver gave them.
struct CollectedImage {
  enum class HandleKind { kModule, kLibrary, kFunction };  // kFunction: a CUfunction or a CUkernel
  struct Handle {
    HandleKind kind = HandleKind::kModule;
    const void* value = nullptr;
    bool operator==(const Handle&) const = default;
  };
  std::shared_ptr<const std::string> bytes;
  std::uint32_t module_id = 0;  // CUPTI's
  std::vector<Handle> handles;
};

// One collector for the process, because CUPTI has one subscriber. Start it before the first context is made:
// modules loaded earlier are never seen.
class ImageCollector {
 public:
  static ImageCollector& instance();
  // Subscribes to CUPTI; `directories` as in gpu::cupti. Succeeds at once when it already collects.
  Status start(const std::vector<std::string>& directories = {});
  // Callbacks around driver calls cost time at each launch: they are for capture, not for timed calls.
  Status watch_calls(bool on);
  // The images that are loaded now.
  [[nodiscard]] std::vector<CollectedImage> images() const;

  // While one lives, loads on any thread are ignored: they are ours.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
  };

  // What the callbacks do; public for tests.
  void loaded(std::uint32_t module_id, std::string bytes);
  void unloaded(std::uint32_t module_id);
  // Around a driver call of this thread: `left` attributes the images that were loaded within it.
  void entered();
  void left(const CollectedImage::Handle& handle);

 private:
  struct State;
  ImageCollector();
  ~ImageCollector();
  std::unique_ptr<State> state_;
};

}  // namespace solmark::seal
