// The CPU's Session: regions are memfds (inputs mapped read-only), calls are plain calls on this thread,
// nothing is sealed.
#pragma once

#include <vector>

#include "worker/session.h"

namespace solmark::worker {

class CpuSession final : public Session {
 public:
  explicit CpuSession(Candidate& candidate) : candidate_(candidate) {}
  Outcome bind(Binding binding) override;
  [[nodiscard]] const Binding& binding() const override { return binding_; }
  Outcome call(std::int64_t slot) override;
  Outcome seal(std::int64_t slots, SealReply& reply) override;
  Outcome serve(protocol::Doorbell& bell, std::int64_t slots, int channel, bool as_graph) override;

 private:
  Candidate& candidate_;
  Binding binding_;
  std::vector<Mapping> mappings_;
};

}  // namespace solmark::worker
