#include <cstring>
#include <thread>

#include "protocol/doorbell.h"
#include "worker/worker_fixture.h"

namespace solmark::worker {
namespace {

using protocol::Doorbell;
using protocol::Ring;
using testing::Test;

class NativeWorker : public Test {
 protected:
  NativeWorker() : worker({SOLMARK_WORKER_PROGRAM, "--channel", "3"}) {}
  void start(const std::string& entry) {
    ASSERT_EQ(worker.hello().kind, "ok");
    auto loaded = worker.load("shared_object", SOLMARK_TEST_CANDIDATE, entry);
    ASSERT_EQ(loaded.kind, "ok") << loaded.message;
    for (std::size_t s = 0; s < kSlots; ++s) {
      for (std::size_t i = 0; i < 32; ++i) worker.x(s)[i] = static_cast<float>(100 * s + i);
    }
  }
  void start_bound(const std::string& entry) {
    start(entry);
    auto bound = worker.bind();
    ASSERT_EQ(bound.kind, "ok") << bound.message;
  }
  WorkerProcess worker;
};

TEST_F(NativeWorker, CallsTheSlotAskedForAndNoOther) {
  start_bound("scale");
  auto called = worker.call(1);
  ASSERT_EQ(called.kind, "ok") << called.message;
  EXPECT_EQ(worker.y(1)[31], 262.0F);
  EXPECT_EQ(worker.y(0)[31], 0.0F);
  EXPECT_EQ(worker.y(2)[31], 0.0F);
}

TEST_F(NativeWorker, RebindingTakesTheNewScalar) {
  start_bound("scale");
  ASSERT_EQ(worker.bind(worker.bind_request({4, 8}, "float32", 3)).kind, "ok");
  ASSERT_EQ(worker.call(0).kind, "ok");
  EXPECT_EQ(worker.y(0)[10], 30.0F);
}

TEST_F(NativeWorker, QuitEndsWithZero) {
  start_bound("scale");
  EXPECT_EQ(worker.answer({{"type", "quit"}}).kind, "ok");
  auto ended = worker.child().wait(std::chrono::seconds(10));
  ASSERT_TRUE(ended.ok());
  EXPECT_FALSE(ended->signalled);
  EXPECT_EQ(ended->code, 0);
}

TEST_F(NativeWorker, DescribesTensors) {
  start("describe");
  // A packed fp4 input: code 17, 4 bits, 2 lanes; a float16 scalar 1.5 = 0x3e00.
  auto bound = worker.bind(worker.bind_request({4, 2, 8}, "float4_e2m1", 1.5, "float16"));
  ASSERT_EQ(bound.kind, "ok") << bound.message;
  ASSERT_EQ(worker.call(0).kind, "ok");
  std::vector<float> told(worker.y(0), worker.y(0) + 13);
  EXPECT_EQ(told, (std::vector<float>{3, 4, 2, 8, 16, 8, 1, 17, 4, 2, 1, 0x00, 0x3e}));
}

struct ScalarCase {
  const char* dtype;
  Json value;
  std::vector<float> bytes;
};

TEST_F(NativeWorker, ScalarsHaveTheirDeclaredDtype) {
  start("describe");
  const std::vector<ScalarCase> cases = {
      {"bfloat16", 1.00390625, {0x80, 0x3f}},            // a tie: to even
      {"bfloat16", 1e39, {0x80, 0x7f}},                  // infinity
      {"float16", 1e-7, {0x02, 0x00}},                   // subnormal
      {"float16", -65504.0, {0xff, 0xfb}},               // largest
      {"int32", -2, {0xfe, 0xff, 0xff, 0xff}},           //
      {"int64", 258, {2, 1, 0, 0, 0, 0, 0, 0}},          //
      {"bool", true, {1}},                               //
      {"float32", 1, {0, 0, 0x80, 0x3f}},                // an integer for a float
      {"float64", 0.5, {0, 0, 0, 0, 0, 0, 0xe0, 0x3f}},  //
      {"uint8", 200.0, {200}},                           //
  };
  for (const auto& c : cases) {
    auto bound = worker.bind(worker.bind_request({2}, "int8", c.value, c.dtype));
    ASSERT_EQ(bound.kind, "ok") << c.dtype << ": " << bound.message;
    ASSERT_EQ(worker.call(0).kind, "ok");
    std::vector<float> told(worker.y(0) + 7, worker.y(0) + 7 + c.bytes.size());
    EXPECT_EQ(told, c.bytes) << c.dtype << " " << c.value;
  }
  auto bound = worker.bind(worker.bind_request({2}, "int8", 300, "uint8"));
  EXPECT_EQ(bound.kind, "worker");
  EXPECT_NE(bound.message.find("`factor` with the value 300 is no uint8"), std::string::npos)
      << bound.message;
}

TEST_F(NativeWorker, NonZeroReturnIsARuntimeError) {
  start_bound("refuses");
  auto called = worker.call(0);
  EXPECT_EQ(called.kind, "runtime");
  EXPECT_EQ(called.message, "entry returned 7");
}

TEST_F(NativeWorker, ExceptionIsARuntimeErrorAndTheWorkerLivesOn) {
  start_bound("throws");
  auto called = worker.call(0);
  EXPECT_EQ(called.kind, "runtime");
  EXPECT_EQ(called.message, "entry threw: no luck today");
  EXPECT_EQ(worker.call(1).kind, "runtime");
}

TEST_F(NativeWorker, CrashClosesTheChannel) {
  start_bound("crashes");
  auto reply = worker.ask({{"type", "call"}, {"slot", 0}});
  ASSERT_FALSE(reply.ok());
  EXPECT_NE(reply.error().text().find("closed"), std::string::npos) << reply.error().text();
  auto ended = worker.child().wait(std::chrono::seconds(10));
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->signalled);
  EXPECT_EQ(ended->code, SIGSEGV);
}

TEST_F(NativeWorker, InputsCannotBeWritten) {
  start_bound("writes_input");
  auto reply = worker.ask({{"type", "call"}, {"slot", 0}});
  EXPECT_FALSE(reply.ok());
  EXPECT_EQ(worker.x(0)[0], 0.0F);
}

TEST_F(NativeWorker, MissingEntryIsALoadError) {
  ASSERT_EQ(worker.hello().kind, "ok");
  auto loaded = worker.load("shared_object", SOLMARK_TEST_CANDIDATE, "scale_all");
  EXPECT_EQ(loaded.kind, "load");
  EXPECT_NE(loaded.message.find("exports no function `scale_all`"), std::string::npos) << loaded.message;
  EXPECT_NE(loaded.message.find("extern \"C\""), std::string::npos);
  EXPECT_EQ(worker.bind().kind, "worker");
}

TEST_F(NativeWorker, MissingObjectAndReturnStyleAreLoadErrors) {
  ASSERT_EQ(worker.hello().kind, "ok");
  EXPECT_EQ(worker.load("shared_object", "/nonexistent/x.so", "scale").kind, "load");
  WorkerProcess other({SOLMARK_WORKER_PROGRAM, "--channel", "3"});
  ASSERT_EQ(other.hello().kind, "ok");
  EXPECT_EQ(other.load("shared_object", SOLMARK_TEST_CANDIDATE, "scale", false).kind, "load");
}

class Bell {
 public:
  Bell() : fd(make_memfd("bell", protocol::kDoorbellBytes).value()) {
    page = Mapping::map(fd, protocol::kDoorbellBytes, Mapping::Access::kReadWrite).value();
  }
  Doorbell& operator*() { return *reinterpret_cast<Doorbell*>(page.data()); }
  // Rings and waits; false when nobody answered.
  bool ring(Ring what) {
    Doorbell& bell = **this;
    bell.ring.store(static_cast<std::uint32_t>(what));
    std::uint32_t number = bell.go.load() + 1;
    bell.go.store(number, std::memory_order_release);
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (bell.done.load(std::memory_order_acquire) != number) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  Fd fd;
  Mapping page;
};

class NativeServe : public NativeWorker {
 protected:
  // Serves on the worker while `body` rings; then quits and checks the reply.
  void serve(std::size_t slots, const std::function<void(Bell&)>& body) {
    Bell bell;
    ASSERT_TRUE(
        worker.channel().send({{"type", "serve"}, {"id", 77}, {"slots", slots}}, {bell.fd.get()}).ok());
    body(bell);
    EXPECT_TRUE(bell.ring(Ring::kQuit));
    auto reply = worker.channel().receive(std::chrono::seconds(20));
    ASSERT_TRUE(reply.ok()) << reply.error().text();
    EXPECT_TRUE(reply->is_ok()) << reply->text("message");
    EXPECT_EQ(reply->integer("id"), 77);
  }
};

TEST_F(NativeServe, BatchCallsEverySlotServedAndEmptyCallsNone) {
  start_bound("scale");
  serve(2, [&](Bell& bell) {
    ASSERT_TRUE(bell.ring(Ring::kEmpty));
    EXPECT_EQ(worker.y(0)[1], 0.0F);
    ASSERT_TRUE(bell.ring(Ring::kBatch));
    EXPECT_EQ((*bell).failed_slot.load(), -1);
    EXPECT_EQ(worker.y(0)[1], 2.0F);
    EXPECT_EQ(worker.y(1)[1], 202.0F);
    EXPECT_EQ(worker.y(2)[1], 0.0F);
    // New contents in the next batch, after the worker has gone from spinning to sleeping.
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    worker.x(0)[1] = 9.0F;
    ASSERT_TRUE(bell.ring(Ring::kBatch));
    EXPECT_EQ(worker.y(0)[1], 18.0F);
  });
  EXPECT_EQ(worker.call(2).kind, "ok");  // and is asked again by messages
}

TEST_F(NativeServe, BatchStopsAtTheFirstFailure) {
  start_bound("refuses_negative");
  worker.x(1)[0] = -1.0F;
  worker.x(2)[0] = -1.0F;
  serve(3, [&](Bell& bell) {
    ASSERT_TRUE(bell.ring(Ring::kBatch));
    EXPECT_EQ((*bell).failed_slot.load(), 1);
    EXPECT_STREQ((*bell).message, "runtime: entry returned 9");
    worker.x(1)[0] = 1.0F;
    worker.x(2)[0] = 1.0F;
    ASSERT_TRUE(bell.ring(Ring::kBatch));
    EXPECT_EQ((*bell).failed_slot.load(), -1);
    EXPECT_STREQ((*bell).message, "");
  });
}

TEST_F(NativeServe, EndsWhenTheJudgeIsGone) {
  start_bound("scale");
  Bell bell;
  ASSERT_TRUE(worker.channel().send({{"type", "serve"}, {"id", 1}, {"slots", 1}}, {bell.fd.get()}).ok());
  ASSERT_TRUE(bell.ring(Ring::kBatch));
  {
    protocol::Channel closed = std::move(worker.channel());
  }
  EXPECT_TRUE(worker.child().wait(std::chrono::seconds(10)).ok());
}

TEST_F(NativeWorker, CpuCallsAreNotSealed) {
  start_bound("scale");
  EXPECT_EQ(worker.answer({{"type", "seal"}, {"slots", 1}}).kind, "unsealable");
}

TEST_F(NativeWorker, OrderOfRequestsIsStrict) {
  EXPECT_EQ(worker.load("shared_object", SOLMARK_TEST_CANDIDATE, "scale").kind, "worker");
  EXPECT_EQ(worker.answer({{"type", "hello"}, {"version", 99}}).kind, "worker");
  ASSERT_EQ(worker.hello().kind, "ok");
  EXPECT_EQ(worker.call(0).kind, "worker");
  EXPECT_EQ(worker.bind().kind, "worker");
  ASSERT_EQ(worker.load("shared_object", SOLMARK_TEST_CANDIDATE, "scale").kind, "ok");
  EXPECT_EQ(worker.load("shared_object", SOLMARK_TEST_CANDIDATE, "scale").kind, "worker");
  EXPECT_EQ(worker.call(0).kind, "worker");
  EXPECT_EQ(worker.answer({{"type", "dance"}}).kind, "worker");
  ASSERT_EQ(worker.bind().kind, "ok");
  EXPECT_EQ(worker.call(static_cast<int>(kSlots)).kind, "worker");
  EXPECT_EQ(worker.call(-1).kind, "worker");
  EXPECT_EQ(worker.answer({{"type", "serve"}, {"slots", 1}}).kind, "worker");
  EXPECT_EQ(worker.answer({{"type", "call"}, {"slot", 0}}, {worker.output_fd()}).kind, "worker");
  EXPECT_EQ(worker.call(0).kind, "ok");
}

TEST_F(NativeWorker, BindIsCheckedBeforeAnythingIsMapped) {
  start("scale");
  struct Case {
    const char* pointer;
    Json value;
    const char* words;
  };
  const std::vector<Case> cases = {
      {"/slots", 0, "no slots"},
      {"/slots", 4, "in every slot"},
      {"/outputs/0/slot_stride", 8192, "in every slot"},
      {"/inputs/0/offset", kSlots * kSlotBytes, "in every slot"},
      {"/inputs/0/offset", 4, "aligned"},
      {"/inputs/0/shape", {1 << 30, 1 << 30, 1 << 30}, "too large"},
      {"/inputs/0/shape", {-1}, "dimension"},
      {"/inputs/0/dtype", "float31", "unknown dtype"},
      {"/inputs/0/region", 2, "names no region"},
      {"/outputs/0/region", 0, "read-only"},
      {"/regions/0/fd", 1, "is taken"},
      {"/regions/0/access", "w", "access"},
      {"/regions/0/bytes", -1, "non-negative"},
      {"/regions/1/bytes", 1 << 20, "shorter descriptor"},
  };
  for (const auto& c : cases) {
    Json request = worker.bind_request({4, 8});
    request[Json::json_pointer(c.pointer)] = c.value;
    auto bound = worker.bind(request);
    EXPECT_EQ(bound.kind, "worker") << c.pointer;
    EXPECT_NE(bound.message.find(c.words), std::string::npos) << c.pointer << ": " << bound.message;
  }
  Json request = worker.bind_request({4, 8});
  request["regions"].erase(1);
  request["outputs"] = Json::array();
  auto bound = worker.bind(request);
  EXPECT_NE(bound.message.find("no region names"), std::string::npos) << bound.message;
  EXPECT_EQ(worker.bind().kind, "ok");
}

TEST(NativeWorkerProgram, RefusesWrongArguments) {
  for (std::vector<std::string> arguments : {std::vector<std::string>{}, {"--channel"}, {"--channel", "x"}}) {
    SpawnSpec spec;
    spec.argv = {SOLMARK_WORKER_PROGRAM};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child.ok());
    auto ended = child->wait(std::chrono::seconds(10));
    ASSERT_TRUE(ended.ok());
    EXPECT_EQ(ended->code, 2);
  }
}

}  // namespace
}  // namespace solmark::worker
