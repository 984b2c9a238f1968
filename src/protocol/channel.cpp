#include "protocol/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "protocol/message.h"

namespace solmark::protocol {
namespace {

using Clock = std::chrono::steady_clock;

Status wait_for(int fd, short events, Clock::time_point end, const std::function<bool()>& alive = {}) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left < 0) return timeout_error("no answer in time");
    struct pollfd p{fd, events, 0};
    int got = poll(&p, 1, static_cast<int>(std::min<long>(left + 1, 200)));
    if (got > 0) return success();
    if (got == 0 && alive && !alive()) return machine_error("channel closed");
    if (got < 0 && errno != EINTR) return errno_error("cannot wait on a channel", errno);
  }
}

Status send_all(int fd, const char* data, std::size_t size, Clock::time_point end) {
  while (size > 0) {
    ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        SOLMARK_CHECK_OK(wait_for(fd, POLLOUT, end));
        continue;
      }
      return errno_error("channel closed", errno);
    }
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return success();
}

}  // namespace

Result<std::uint32_t> decode_header(const unsigned char* bytes) {
  std::uint32_t magic = 0;
  std::uint32_t length = 0;
  std::memcpy(&magic, bytes, 4);
  std::memcpy(&length, bytes + 4, 4);
  if (magic != kMagic) return machine_error("peer sent bytes that are not a frame");
  if (length > kMaxFrame) return machine_error(fmt::format("peer announced a frame of {} bytes", length));
  return length;
}

Result<Json> decode_payload(std::string_view payload) {
  SOLMARK_TRY(Json body, parse_json(payload, "frame", {kMaxFrame, 64, true}));
  if (!body.is_object() || !body.contains("type") || !body["type"].is_string()) {
    return machine_error("peer sent a frame without a type");
  }
  return body;
}

Result<std::pair<Channel, Fd>> Channel::pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("cannot make a channel", errno);
  return std::pair<Channel, Fd>(Channel(Fd(ends[0])), Fd(ends[1]));
}

Status Channel::send(const Json& body, const std::vector<int>& descriptors) {
  if (descriptors.size() > kMaxDescriptors) return internal_error("too many descriptors in a frame");
  std::string payload = to_python_json_line(body);
  if (payload.size() > kMaxFrame)
    return internal_error(fmt::format("frame of {} bytes is too long", payload.size()));
  std::array<char, 8> header{};
  auto length = static_cast<std::uint32_t>(payload.size());
  std::memcpy(header.data(), &kMagic, 4);
  std::memcpy(header.data() + 4, &length, 4);
  auto end = Clock::now() + std::chrono::seconds(30);

  struct iovec io{header.data(), header.size()};
  alignas(struct cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control{};
  struct msghdr m{};
  m.msg_iov = &io;
  m.msg_iovlen = 1;
  if (!descriptors.empty()) {
    m.msg_control = control.data();
    m.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    struct cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(c), descriptors.data(), sizeof(int) * descriptors.size());
  }
  ssize_t sent = -1;
  while (sent < 0) {
    sent = sendmsg(socket_.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) {
      SOLMARK_CHECK_OK(wait_for(socket_.get(), POLLOUT, end));
    } else if (sent < 0 && errno != EINTR) {
      return errno_error("channel closed", errno);
    }
  }
  auto done = static_cast<std::size_t>(sent);
  SOLMARK_CHECK_OK(send_all(socket_.get(), header.data() + done, header.size() - done, end));
  return send_all(socket_.get(), payload.data(), payload.size(), end);
}

Result<Message> Channel::receive(std::chrono::milliseconds limit, const std::function<bool()>& alive) {
  auto end = Clock::now() + limit;
  Message out;
  std::array<unsigned char, 8> header{};
  std::string payload;
  std::size_t have = 0;
  bool in_payload = false;
  for (;;) {
    SOLMARK_CHECK_OK(wait_for(socket_.get(), POLLIN, end, alive));
    char* target = in_payload ? payload.data() : reinterpret_cast<char*>(header.data());
    std::size_t want = (in_payload ? payload.size() : header.size()) - have;
    struct iovec io{target + have, want};
    alignas(struct cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control{};
    struct msghdr m{};
    m.msg_iov = &io;
    m.msg_iovlen = 1;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    ssize_t got = recvmsg(socket_.get(), &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return errno_error("channel closed", errno);
    for (struct cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        out.descriptors.emplace_back(fd);
      }
      if (out.descriptors.size() > kMaxDescriptors) return machine_error("peer sent too many descriptors");
    }
    if (got == 0) return machine_error("channel closed");
    have += static_cast<std::size_t>(got);
    if (!in_payload && have == header.size()) {
      SOLMARK_TRY(std::uint32_t length, decode_header(header.data()));
      payload.resize(length);
      in_payload = true;
      have = 0;
    }
    if (in_payload && have == payload.size()) {
      SOLMARK_TRY(out.body, decode_payload(payload));
      return out;
    }
  }
}

Result<Message> Channel::request(Json body, const std::vector<int>& descriptors,
                                 std::chrono::milliseconds limit, const std::function<bool()>& alive) {
  std::uint64_t id = next_id_++;
  body["id"] = id;
  SOLMARK_CHECK_OK(send(body, descriptors));
  SOLMARK_TRY(Message reply, receive(limit, alive));
  if (reply.integer("id", -1) != static_cast<std::int64_t>(id))
    return machine_error("peer answered another question");
  std::string type = reply.text("type");
  if (type != "ok" && type != "error") return machine_error("peer answered with type " + type);
  return reply;
}

}  // namespace solmark::protocol
