// The judge's side of a worker or a replayer: requests in, claims out. Every way in which the child can fail
// becomes a Fault with the right status.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "build/build.h"
#include "device/device.h"
#include "device/layout.h"
#include "judge/fault.h"
#include "judge/installation.h"
#include "judge/limits.h"
#include "protocol/message.h"
#include "protocol/peer.h"
#include "protocol/ring.h"

namespace solmark::judge {

// Memory and tensors of a binding: regions in the order of their numbers, layouts with their region.
struct BindingView {
  const device::Region* inputs = nullptr;
  const device::Region* outputs = nullptr;
  const device::Layout* input_layout = nullptr;
  const device::Layout* output_layout = nullptr;
  std::size_t slots = 0;
  const Json* scalars = nullptr;  // name -> value
  const problem::AxisValues* axes = nullptr;
};

struct ScratchRegion {
  Fd fd;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

// A Seal in memory: its bytes (a memfd) and the scratch it relies on.
struct SealedCalls {
  Fd seal;
  std::size_t bytes = 0;
  std::vector<ScratchRegion> scratch;
  std::string summary;
};

// A child that serves a doorbell: a worker in live mode or a replayer.
class Server {
 public:
  explicit Server(std::string name) : name_(std::move(name)) {}
  virtual ~Server() = default;
  // Rings and waits. A Fault when the child failed, died or took too long.
  std::variant<double, Fault> ring(protocol::Ring what, const Limits& limits);
  // Enters and leaves the serving loop.
  Step start_serving(std::size_t slots, protocol::Wait wait, bool as_graph = false);
  Step stop_serving(const Limits& limits);

 protected:
  // The Fault for a request that got no answer.
  Fault lost(const Error& error, const std::string& doing);
  Step ask(const Json& body, const std::vector<int>& descriptors, std::chrono::milliseconds limit,
           const std::string& doing, protocol::Message* reply = nullptr);
  std::unique_ptr<protocol::Peer> peer_;

 private:
  std::string name_;
  std::unique_ptr<protocol::Bell> bell_;
};

class Worker : public Server {
 public:
  Worker() : Server("worker") {}
  // A worker that is to seal calls runs its kernels more slowly than one that is not.
  Step start(const Installation& installation, const std::string& device_name,
             const build::Artefact& artefact, bool destination_passing, bool sealing, const Limits& limits);
  Step bind(const BindingView& view, const Limits& limits);
  Step call(std::size_t slot, std::chrono::milliseconds limit);
  // Sealed calls, or why they cannot be sealed (unsealable), or a Fault.
  struct Unsealable {
    std::string reason;
  };
  std::variant<SealedCalls, Unsealable, Fault> seal(std::size_t slots, const Limits& limits);
  [[nodiscard]] bool started() const { return peer_ != nullptr; }
  // Ends the process. What it printed is kept.
  void end();
  [[nodiscard]] std::string output() const;
};

// Where an output of a slot lies, in judge or scratch memory.
struct OutputPlace {
  int region = 0;  // index into the regions given to load: 0 inputs, 1 outputs, 2… scratch
  std::size_t offset = 0;
};

class Replayer : public Server {
 public:
  Replayer() : Server("replayer") {}
  // Starts the process unless it runs already, and loads sealed calls into it in place of those it had.
  Step load(const Installation& installation, const std::string& device_name, const BindingView& view,
            const SealedCalls& sealed, const Limits& limits, bool trace_graphs = false);
  void end();
  // [slot][output]; empty when all outputs lie where the binding says.
  [[nodiscard]] const std::vector<std::vector<OutputPlace>>& output_places() const { return places_; }
  // The kernels of a batch, or with `graph` (of one loaded with `trace_graphs`) only its length: what tells
  // nodes apart also slows them.
  Result<Json> profile(const Limits& limits, bool graph);

 private:
  std::vector<std::vector<OutputPlace>> places_;
};

}  // namespace solmark::judge
