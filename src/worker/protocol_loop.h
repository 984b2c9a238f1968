// The worker's side of the channel: hello, load, bind, call, seal, serve, quit, each answered once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "protocol/channel.h"
#include "worker/session.h"

namespace solmark::worker {

class ProtocolLoop {
 public:
  ProtocolLoop(Fd channel, const solmark_host_hooks& hooks);
  ~ProtocolLoop();
  ProtocolLoop(const ProtocolLoop&) = delete;
  ProtocolLoop& operator=(const ProtocolLoop&) = delete;
  // Until `quit` or the end of the channel; the exit code.
  int run();

 private:
  struct Reply;
  Outcome dispatch(const std::string& type, const Json& body, std::vector<Fd>& descriptors, Reply& reply);
  Outcome hello(const Json& body, Reply& reply);
  Outcome load(const Json& body);
  Outcome bind(const Json& body, std::vector<Fd>& descriptors);
  Outcome call(const Json& body);
  Outcome seal(const Json& body, Reply& reply);
  Outcome serve(const Json& body, std::vector<Fd>& descriptors);

  protocol::Channel channel_;
  Candidate candidate_;
  std::unique_ptr<Session> session_;
  bool greeted_ = false;
  bool loaded_ = false;
  bool bound_ = false;
};

}  // namespace solmark::worker
