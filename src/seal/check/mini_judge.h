// The judge's part in solmark-seal-check, without the judge: buffers in the window, a worker that seals and
// is killed, a replayer that runs the Seal on inputs the worker never saw.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gpu/context.h"
#include "gpu/vmm.h"
#include "protocol/doorbell.h"
#include "protocol/message.h"
#include "protocol/peer.h"

namespace solmark::seal::check {

inline constexpr std::size_t kElements = std::size_t{1} << 16;
inline constexpr std::size_t kSlots = 5;

// Input of element i in slot s for the inputs numbered `set`.
float input_value(int set, std::size_t slot, std::size_t i);

// x and y of every slot, owned here.
class Buffers {
 public:
  static Result<Buffers> make(const gpu::Context& context);
  Status fill(int set);  // x of that number, y poisoned
  Result<std::vector<float>> output(std::size_t slot) const;
  Result<std::vector<float>> read(std::uint64_t address) const;  // n floats from anywhere
  [[nodiscard]] Json regions_json() const;
  [[nodiscard]] Result<std::vector<Fd>> share() const;
  [[nodiscard]] std::uint64_t address(std::size_t region) const {
    return region == 0 ? x_.address() : y_.address();
  }

 private:
  explicit Buffers(const gpu::Context& context) : context_(&context) {}
  const gpu::Context* context_;
  gpu::VmmAllocation x_, y_;
};

struct Sealed {
  Fd seal;
  std::size_t bytes = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> scratch;  // address, bytes
  std::vector<Fd> scratch_fds;
};

// A worker's answer to a request: the message, or an Error when the worker is gone. `kind` of an error reply
// is text("kind").
class Worker {
 public:
  static Result<Worker> start(const std::filesystem::path& candidate, const std::string& entry,
                              const Buffers& buffers);
  Result<protocol::Message> call(std::size_t slot);
  Result<protocol::Message> seal();
  void kill() { peer_->kill(); }
  [[nodiscard]] std::string output() const { return peer_->output(); }

 private:
  std::unique_ptr<protocol::Peer> peer_;
};
Result<Sealed> take_sealed(protocol::Message reply);

class Replayer {
 public:
  static Result<Replayer> start(const Sealed& sealed, const Buffers& buffers);
  // Nanoseconds by this process's clock, from the ring to the answer.
  Result<std::int64_t> ring(protocol::Ring ring);
  Status stop_serving();
  Result<protocol::Message> profile();
  // Where output 0 of a slot lies.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::uint64_t>> output_place(std::size_t slot) const;

 private:
  std::unique_ptr<protocol::Peer> peer_;
  Mapping page_;
  std::uint32_t rings_ = 0;
  std::vector<std::pair<std::size_t, std::uint64_t>> places_;
};

}  // namespace solmark::seal::check
