// What the protocol loop of a worker asks of a device: map the judge's regions, make one call, seal calls,
// serve the doorbell. CpuSession (cpu_session.h) and CudaSession (cuda_session.h) implement it; the loop
// (run.cpp) decodes requests, checks their numbers, and turns every Failure into
// {"type":"error","kind","message"}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "problem/dtype.h"
#include "protocol/doorbell.h"
#include "worker/host.h"

namespace solmark::worker {

// Kinds: "load", "shape", "dtype", "device", "runtime" (the candidate's), "unsealable", and "worker" (ours: a
// request that breaks the protocol, memory that cannot be mapped).
struct Failure {
  std::string kind;
  std::string message;
};
// Nothing, or why it failed.
using Outcome = std::optional<Failure>;

struct BoundRegion {
  Fd fd;
  std::uint64_t address = 0;  // cuda: where it must be mapped; cpu: 0
  std::size_t bytes = 0;
  bool writable = false;
  std::uint64_t mapped = 0;  // filled in by Session::bind: its address in this process
};

// An input or output as the bind request describes it; already checked to lie inside its region in every
// slot.
struct BoundTensor {
  std::string name;
  problem::Dtype dtype = problem::Dtype::kFloat32;
  std::optional<std::variant<std::int64_t, double, bool>> scalar;  // set: no shape, no memory
  std::vector<std::int64_t> shape;                                 // packed shape
  std::size_t region = 0;
  std::size_t offset = 0;
  std::size_t slot_stride = 0;
  std::size_t bytes = 0;  // of one slot
};

struct Binding {
  std::vector<BoundRegion> regions;
  std::vector<BoundTensor> inputs;
  std::vector<BoundTensor> outputs;
  std::int64_t slots = 0;
  // Address of a tensor in this process, once the session has filled in `mapped`.
  [[nodiscard]] std::uint64_t address(const BoundTensor& tensor, std::int64_t slot) const {
    return regions[tensor.region].mapped + tensor.offset +
           static_cast<std::uint64_t>(slot) * tensor.slot_stride;
  }
};

// The candidate, as its host offers it.
class Candidate {
 public:
  explicit Candidate(const solmark_host_hooks& hooks) : hooks_(hooks) {}
  Outcome load(const std::string& request_json);
  Outcome bind(const std::string& request_json);
  // `stream` is a CUstream, or nullptr on the CPU; see host.h for `copy_out`.
  Outcome call(std::int64_t slot, void* stream, bool copy_out);

 private:
  solmark_host_hooks hooks_;
};

struct ScratchRegion {
  Fd fd;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};
struct SealReply {
  Fd seal;                // a memfd
  std::size_t bytes = 0;  // of the Seal
  std::vector<ScratchRegion> scratch;
  std::string summary_json = "{}";
};

class Session {
 public:
  virtual ~Session() = default;
  // Takes the place of the previous binding: unmaps its regions, maps these and fills in `mapped`. The loop
  // calls the host's bind hook afterwards.
  virtual Outcome bind(Binding binding) = 0;
  [[nodiscard]] virtual const Binding& binding() const = 0;
  // One call, results copied into the bound outputs, then device idle. `slot` is inside the binding.
  virtual Outcome call(std::int64_t slot) = 0;
  // One captured call for each of the slots 0 … slots-1. On failure the reply is not looked at.
  virtual Outcome seal(std::int64_t slots, SealReply& reply) = 0;
  // Serves rings (serve.h) until kQuit or until the judge's end of `channel` is closed. With `as_graph` a
  // batch is one launch of the captured calls (cuda only).
  virtual Outcome serve(protocol::Doorbell& bell, std::int64_t slots, int channel, bool as_graph) = 0;
  // From the C seam; the defaults are the CPU's: nothing is sealed there and there is no window.
  virtual void report_output(std::int64_t slot, std::int32_t output, std::uint64_t address);
  virtual void* allocate(std::size_t bytes, void* stream);
  virtual void deallocate(void* pointer, std::size_t bytes, void* stream);
};

// From the load request: {"device":"cpu"|"cuda:0","window":{"base","bytes"},"sealing":bool}. The session is
// opened before the host's load hook is called.
struct OpenRequest {
  int device_index = 0;
  std::uint64_t window_base = 0;
  std::uint64_t window_bytes = 0;
  // Images are collected by CUPTI, whose presence slows every kernel: not where calls are timed.
  bool sealing = true;
};

}  // namespace solmark::worker
