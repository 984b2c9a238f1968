// The wire between the judge and its children: frames of one JSON object each, over a Unix stream socket,
// with file descriptors beside them. Whatever comes in is bounded and checked; a peer that breaks the rules
// is an Error.
//
// Frame: u32 magic "SLM1" (0x314d4c53, little-endian), u32 payload length (<= kMaxFrame), then a JSON object
// in UTF-8. Descriptors (at most kMaxDescriptors) travel as SCM_RIGHTS on the frame's first byte. Every
// request {"type":…, "id":n, …} gets exactly one reply {"type":"ok"|"error", "id":n, …}.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"

namespace solmark::protocol {

inline constexpr std::uint32_t kMagic = 0x314d4c53;
inline constexpr std::uint32_t kMaxFrame = 64U << 20;
inline constexpr std::size_t kMaxDescriptors = 64;
inline constexpr int kVersion = 1;

struct Message;  // {Json body; std::vector<Fd> descriptors;}, in message.h: it needs nlohmann's full header

// Checks the 8 header bytes; the payload's length, or an Error that names the broken rule.
Result<std::uint32_t> decode_header(const unsigned char* eight_bytes);
// Checks a payload: a JSON object, not too deep, with a string "type".
Result<Json> decode_payload(std::string_view payload);

class Channel {
 public:
  explicit Channel(Fd socket) : socket_(std::move(socket)) {}
  // A connected pair: ours and the child's.
  static Result<std::pair<Channel, Fd>> pair();

  Status send(const Json& body, const std::vector<int>& descriptors = {});
  // kTimeout when no whole frame came in time; kMachine with "closed" when the peer is gone: its end is
  // closed, or `alive` (if given) says so though a descendant of the peer still holds the end open.
  Result<Message> receive(std::chrono::milliseconds limit, const std::function<bool()>& alive = {});
  // Sends a request with a fresh id and waits for its reply. An "error" reply is returned as a Message like
  // any other: whether it is the candidate's fault is for the caller to say. A reply with another id is an
  // Error.
  Result<Message> request(Json body, const std::vector<int>& descriptors, std::chrono::milliseconds limit,
                          const std::function<bool()>& alive = {});
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  Fd socket_;
  std::uint64_t next_id_ = 1;
};

}  // namespace solmark::protocol
