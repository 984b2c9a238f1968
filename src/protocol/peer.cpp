#include "protocol/peer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "protocol/message.h"

namespace solmark::protocol {

Result<Peer> Peer::start(SpawnSpec spec, std::string name) {
  SOLMARK_TRY(auto ends, Channel::pair());
  spec.descriptors.emplace_back(ends.second.get(), kChannelNumber);
  SOLMARK_TRY(Child child, Child::spawn(spec));
  return Peer(std::move(name), std::move(child), std::move(ends.first));
}

Error Peer::explain(const Error& error) {
  if (error.code == ErrorCode::kTimeout) return error.in(name_);
  // The socket closes a moment before the process can be waited for.
  auto end = child_.wait(std::chrono::milliseconds(500));
  if (!end.ok()) return error.in(name_);
  return {error.code, fmt::format("{} {}", name_, end->text()), error.where, error.mend};
}

Result<Message> Peer::request(const Json& body, const std::vector<int>& descriptors,
                              std::chrono::milliseconds limit) {
  auto reply = channel_.request(body, descriptors, limit, [this] { return running(); });
  if (!reply.ok()) return explain(reply.error());
  return reply;
}

}  // namespace solmark::protocol
