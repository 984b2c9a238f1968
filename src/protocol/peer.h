// A child process with a channel to it on its descriptor 3: oracle, worker, replayer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/process.h"
#include "protocol/channel.h"

namespace solmark::protocol {

inline constexpr int kChannelNumber = 3;

class Peer {
 public:
  // `spec.descriptors` must leave number 3 free. `name` is for error messages.
  static Result<Peer> start(SpawnSpec spec, std::string name);
  Channel& channel() { return channel_; }
  Child& child() { return child_; }
  // As Channel::request. When the peer is gone the error says how it ended: "worker was killed by signal 11
  // …".
  Result<Message> request(const Json& body, const std::vector<int>& descriptors,
                          std::chrono::milliseconds limit);
  // The error of a peer that did not answer, made more exact: how it ended, if it ended.
  Error explain(const Error& error);
  bool running() { return child_.running(); }
  void kill() { child_.kill(); }
  [[nodiscard]] std::string output() const { return child_.output(); }

 private:
  Peer(std::string name, Child child, Channel channel)
      : name_(std::move(name)), child_(std::move(child)), channel_(std::move(channel)) {}
  std::string name_;
  Child child_;
  Channel channel_;
};

}  // namespace solmark::protocol
