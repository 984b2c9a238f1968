#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "gpu/window.h"
#include "protocol/channel.h"
#include "protocol/message.h"
#include "replayer/load_request.h"
#include "replayer/service.h"

namespace solmark::replayer {
namespace {

using testing::HasSubstr;
constexpr std::chrono::milliseconds kLimit = std::chrono::seconds(20);

std::vector<Fd> descriptors(std::size_t count) {
  std::vector<Fd> fds;
  for (std::size_t i = 0; i < count; ++i) fds.push_back(make_memfd("test", 4096).value());
  return fds;
}

Json good_load() {
  return Json{
      {"type", "load"},
      {"device", "cuda:0"},
      {"window", {{"base", gpu::kWindowBase}, {"bytes", gpu::kWindowBytes}}},
      {"regions",
       Json::array({Json{{"fd", 0}, {"address", gpu::kWindowBase}, {"bytes", 4096}, {"access", "r"}},
                    Json{{"fd", 1}, {"address", gpu::kScratchBase}, {"bytes", 8192}, {"access", "rw"}}})}};
}

std::string why(const std::function<void(Json&)>& change, std::size_t fds = 3) {
  Json body = good_load();
  change(body);
  auto came = descriptors(fds);
  const auto decoded = decode_load(body, came);
  return decoded.ok() ? "" : decoded.error().text();
}

TEST(LoadRequest, IsDecoded) {
  auto fds = descriptors(3);
  const int seal = fds[2].get();
  const auto request = decode_load(good_load(), fds);
  ASSERT_TRUE(request.ok()) << request.error().text();
  EXPECT_EQ(request->device_index, 0);
  ASSERT_EQ(request->regions.size(), 2U);
  EXPECT_FALSE(request->regions[0].writable);
  EXPECT_TRUE(request->regions[1].writable);
  EXPECT_EQ(request->regions[1].address, gpu::kScratchBase);
  EXPECT_EQ(request->seal.get(), seal);
}

TEST(LoadRequest, TakesEveryWayToNameADevice) {
  EXPECT_EQ(why([](Json& b) { b["device"] = "cuda"; }), "");
  EXPECT_EQ(why([](Json& b) { b["device"] = "cuda:7"; }), "");
  for (const char* name : {"cpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999", "cudb:1", ""})
    EXPECT_THAT(why([&](Json& b) { b["device"] = name; }), HasSubstr("no cuda device")) << name;
  EXPECT_THAT(why([](Json& b) { b.erase("device"); }), HasSubstr("names no device"));
}

TEST(LoadRequest, RefusesWhatBreaksTheRules) {
  EXPECT_THAT(why([](Json& b) { b.erase("window"); }), HasSubstr("no window"));
  EXPECT_THAT(why([](Json& b) { b["window"]["base"] = 4096; }), HasSubstr("another address window"));
  EXPECT_THAT(why([](Json& b) { b["window"]["bytes"] = "many"; }), HasSubstr("no non-negative integer"));
  EXPECT_THAT(why([](Json& b) { b["regions"] = 3; }), HasSubstr("no list of regions"));
  EXPECT_THAT(why([](Json& b) { b["trace_graphs"] = 1; }), HasSubstr("no boolean"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0] = 3; }), HasSubstr("no object"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["access"] = "w"; }), HasSubstr("neither `r` nor `rw`"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["fd"] = 9; }), HasSubstr("did not come or is taken"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["fd"] = 1; }), HasSubstr("did not come or is taken"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["fd"] = 2; }), HasSubstr("did not come"));  // the Seal's
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["fd"] = -1; }), HasSubstr("no non-negative integer"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["address"] = 4096; }),
              HasSubstr("outside the address window"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["bytes"] = gpu::kWindowBytes + 1; }), HasSubstr("outside"));
  EXPECT_THAT(why([](Json& b) { b["regions"][0]["bytes"] = 0; }), HasSubstr("outside"));
  EXPECT_THAT(why([](Json&) {}, 0), HasSubstr("without a seal"));
}

TEST(FindRegion, GivesPlaceAndOffset) {
  std::vector<LoadRequest::Region> regions(2);
  regions[0].address = gpu::kWindowBase;
  regions[0].bytes = 4096;
  regions[1].address = gpu::kScratchBase;
  regions[1].bytes = 4096;
  const auto place = find_region(regions, gpu::kScratchBase + 100);
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->region, 1U);
  EXPECT_EQ(place->offset, 100U);
  EXPECT_FALSE(find_region(regions, gpu::kWindowBase + 4096).ok());
  EXPECT_FALSE(find_region(regions, 0).ok());
}

// A service on a thread, and the judge's end of its channel.
class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    auto pair = protocol::Channel::pair();
    judge_.emplace(std::move(pair->first));
    service_ = std::thread([this, fd = pair->second.release()] { code_ = Service(Fd(fd)).run(); });
  }
  ~ServiceTest() override {
    judge_.reset();
    if (service_.joinable()) service_.join();
  }
  protocol::Message ask(const Json& body, const std::vector<int>& fds = {}) {
    auto reply = judge_->request(body, fds, kLimit);
    EXPECT_TRUE(reply.ok()) << (reply.ok() ? "" : reply.error().text());
    return reply.ok() ? std::move(*reply) : protocol::Message{};
  }
  void expect_error(const Json& body, const std::string& kind, const std::string& words,
                    const std::vector<int>& fds = {}) {
    const protocol::Message reply = ask(body, fds);
    EXPECT_FALSE(reply.is_ok());
    EXPECT_EQ(reply.text("kind"), kind);
    EXPECT_THAT(reply.text("message"), HasSubstr(words));
  }

  std::optional<protocol::Channel> judge_;
  std::thread service_;
  int code_ = -1;
};

TEST_F(ServiceTest, GreetsAndQuits) {
  const auto hello = ask(Json{{"type", "hello"}, {"version", protocol::kVersion}});
  EXPECT_TRUE(hello.is_ok());
  EXPECT_EQ(hello.integer("version"), protocol::kVersion);
  EXPECT_TRUE(ask(Json{{"type", "quit"}}).is_ok());
  service_.join();
  EXPECT_EQ(code_, 0);
}

TEST_F(ServiceTest, EndsWhenTheJudgeIsGone) {
  judge_.reset();
  service_.join();
  EXPECT_EQ(code_, 0);
}

TEST_F(ServiceTest, KeepsTheOrderOfRequests) {
  expect_error(Json{{"type", "load"}}, "replayer", "before `hello`");
  expect_error(Json{{"type", "hello"}, {"version", 99}}, "replayer", "another version");
  ask(Json{{"type", "hello"}, {"version", protocol::kVersion}});
  expect_error(Json{{"type", "serve"}, {"slots", 1}}, "replayer", "before `load`");
  expect_error(Json{{"type", "profile"}}, "replayer", "before `load`");
  expect_error(Json{{"type", "dance"}}, "replayer", "unknown");
}

TEST_F(ServiceTest, SaysWhyASealCannotBeLoaded) {
  ask(Json{{"type", "hello"}, {"version", protocol::kVersion}});
  expect_error(Json{{"type", "load"}, {"device", "cpu"}}, "replay", "no cuda device");
  const auto fds = descriptors(3);
  const std::vector<int> numbers{fds[0].get(), fds[1].get(), fds[2].get()};
#if SOLMARK_HAVE_CUDA
  // Four KiB of zeros: found to be no seal before any GPU is asked for.
  expect_error(good_load(), "replay", "this is no seal", numbers);
#else
  expect_error(good_load(), "replay", "this build has no cuda device", numbers);
#endif
  // It goes on after an error.
  EXPECT_TRUE(ask(Json{{"type", "quit"}}).is_ok());
}

}  // namespace
}  // namespace solmark::replayer
