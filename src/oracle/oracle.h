// Drives the Python oracle (python/solmark/oracle): a trusted child that makes input sets, runs the
// reference, records its operations and times it. Every request has a time limit. What is wrong with the
// problem comes back as data (OracleFault); what is wrong with this machine or with us is an Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "device/device.h"
#include "device/layout.h"
#include "problem/definition.h"
#include "problem/workload.h"
#include "protocol/peer.h"

namespace solmark::oracle {

struct OracleOptions {
  std::string python = "python3";                  // an interpreter with PyTorch
  std::filesystem::path package_root;              // folder that holds the package `solmark`
  std::map<std::string, std::string> environment;  // the child's, to which PYTHONPATH is added
  std::string device = "cpu";                      // "cpu" or "cuda:0"
  bool recorder = false;  // a second process beside a GPU's oracle, that sees no GPU and only records
  std::size_t output_limit = std::size_t{64} << 10;
  std::chrono::milliseconds start_limit{120'000};      // until it answers, and for importing PyTorch
  std::chrono::milliseconds reference_limit{300'000};  // for each request that runs the problem's code
};

// The definition's fault. Kinds: reference, inputs, shape, flags; from a recorder also values: the run needs
// the values of its inputs.
struct OracleFault {
  std::string kind;
  std::string message;
};

struct SetRequest {
  std::uint64_t seed = 0;
  // Mapped once a workload, as long as they stay the same regions.
  const device::Region* inputs = nullptr;
  const device::Region* expected = nullptr;  // null, or a layout of no outputs: only inputs are made
  const device::Layout* input_layout = nullptr;
  const device::Layout* expected_layout = nullptr;
  std::size_t set = 0;  // which stride of both regions to fill
};

struct SetReply {
  std::optional<OracleFault> fault;
  std::shared_ptr<Json> scalars;      // name -> value; the same for all sets of a workload
  std::vector<std::string> warnings;  // each once a workload
  bool finite = true;                 // no NaN or infinity in the expected outputs
};

struct RecordReply {
  std::optional<OracleFault> fault;
  std::shared_ptr<Json> graph;  // schemas/opgraph.schema.json
};

struct ReferenceTime {
  std::optional<OracleFault> fault;
  double t_s = 0;  // median of eager calls, each with the device idle before and after
  double t_low_s = 0;
  double t_high_s = 0;
  std::int64_t calls = 0;
};

class Oracle {
 public:
  // Starts the process and returns at once; greet() must be called before anything else.
  static Result<Oracle> spawn(const OracleOptions& options);
  // Waits for its answer; it goes on importing PyTorch while the judge does other things.
  Status greet();
  // Both.
  static Result<Oracle> start(const OracleOptions& options);
  Oracle(Oracle&&) noexcept;
  Oracle& operator=(Oracle&&) noexcept;
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle();

  // Imports the reference. The fault, if it cannot be used.
  Result<std::optional<OracleFault>> load(const problem::Definition& definition);
  // Chooses the workload of the following requests. `blobs`: input name -> safetensors file. `scalars` (may
  // be null): values to keep, when they were drawn before.
  Result<std::optional<OracleFault>> workload(const problem::Definition& definition,
                                              const problem::Workload& workload,
                                              const problem::AxisValues& axes, const device::Layout& inputs,
                                              const device::Layout& outputs,
                                              const std::map<std::string, std::filesystem::path>& blobs,
                                              const Json* scalars);
  Result<SetReply> make_set(const SetRequest& request);
  Result<RecordReply> record();
  // Of the last set; takes a little longer than `seconds`.
  Result<ReferenceTime> time(double seconds);

  // torch, numpy, python and, where there are, triton and cuda with their versions.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& libraries() const {
    return libraries_;
  }
  [[nodiscard]] const std::string& device_name() const { return device_name_; }
  [[nodiscard]] int pid() const { return peer_->child().pid(); }
  // The process was lost while it ran the problem's code (it hung or exited): a new one must be started.
  [[nodiscard]] bool gone() const { return gone_; }

 private:
  struct Answer;
  Oracle(OracleOptions options, TemporaryFolder folder, protocol::Peer peer);
  Result<Answer> ask(Json request, const std::vector<int>& descriptors, std::chrono::milliseconds limit);
  [[nodiscard]] Error refusal(const std::string& kind, const std::string& message) const;
  [[nodiscard]] Error lost(const Error& error, const std::string& request);

  OracleOptions options_;
  TemporaryFolder folder_;  // holds the reference's source while it is in use
  std::unique_ptr<protocol::Peer> peer_;
  std::vector<std::pair<std::string, std::string>> libraries_;
  std::string device_name_;
  bool gone_ = false;
  // The regions of the workload's last set, by Region::id(): 0 for none.
  std::uint64_t mapped_inputs_ = 0;
  std::uint64_t mapped_expected_ = 0;
};

}  // namespace solmark::oracle
