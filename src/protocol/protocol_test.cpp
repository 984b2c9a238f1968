#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "protocol/channel.h"
#include "protocol/message.h"

namespace solmark::protocol {
namespace {
using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Channel, CarriesObjectsAndDescriptors) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends.ok());
  Channel other(std::move(ends->second));
  auto memory = make_memfd("t", 64);
  ASSERT_TRUE(ends->first.send(Json{{"type", "x"}, {"n", 5}}, {memory->get()}).ok());
  auto got = other.receive(milliseconds(1000));
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->integer("n"), 5);
  EXPECT_EQ(got->text("n", "not a string"), "not a string");
  ASSERT_EQ(got->descriptors.size(), 1U);
}

TEST(Channel, RequestMatchesIds) {
  auto ends = Channel::pair();
  Channel other(std::move(ends->second));
  std::thread peer([&] {
    auto got = other.receive(milliseconds(2000));
    ASSERT_TRUE(got.ok());
    ASSERT_TRUE(other.send(Json{{"type", "ok"}, {"id", got->integer("id")}}).ok());
    got = other.receive(milliseconds(2000));
    ASSERT_TRUE(other.send(Json{{"type", "ok"}, {"id", got->integer("id") + 1}}).ok());
  });
  EXPECT_TRUE(ends->first.request(Json{{"type", "a"}}, {}, milliseconds(2000)).ok());
  EXPECT_THAT(ends->first.request(Json{{"type", "a"}}, {}, milliseconds(2000)).error().text(),
              HasSubstr("another"));
  peer.join();
}

TEST(Channel, LargeFramesAndTimeouts) {
  auto ends = Channel::pair();
  Channel other(std::move(ends->second));
  EXPECT_EQ(other.receive(milliseconds(20)).error().code, ErrorCode::kTimeout);
  std::thread sender(
      [&] { EXPECT_TRUE(ends->first.send(Json{{"type", "x"}, {"s", std::string(5000000, 'q')}}).ok()); });
  auto got = other.receive(milliseconds(5000));
  sender.join();
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->text("s").size(), 5000000U);
}

TEST(Channel, RejectsRubbish) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Channel channel{Fd(ends[0])};
  Fd peer(ends[1]);
  ASSERT_EQ(write(peer.get(), "GET / HTTP/1.1\r\n", 16), 16);
  EXPECT_THAT(channel.receive(milliseconds(1000)).error().text(), HasSubstr("not a frame"));
}

TEST(Channel, RejectsLongAndShapelessFrames) {
  unsigned char header[8];
  std::uint32_t length = kMaxFrame + 1;
  std::memcpy(header, &kMagic, 4);
  std::memcpy(header + 4, &length, 4);
  EXPECT_FALSE(decode_header(header).ok());
  EXPECT_FALSE(decode_payload("[1]").ok());
  EXPECT_FALSE(decode_payload("{\"type\":3}").ok());
  EXPECT_FALSE(decode_payload("{\"type\":\"a\",\"type\":\"b\"}").ok());
  EXPECT_TRUE(decode_payload("{\"type\":\"a\"}").ok());
}

TEST(Channel, NoticesAClosedPeer) {
  auto ends = Channel::pair();
  ends->second.reset();
  EXPECT_THAT(ends->first.receive(milliseconds(1000)).error().text(), HasSubstr("closed"));
  EXPECT_FALSE(ends->first.send(Json{{"type", "x"}}).ok());
}

}  // namespace
}  // namespace solmark::protocol
