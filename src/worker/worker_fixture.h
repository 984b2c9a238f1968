// For tests: a worker process on a channel, with one read-only input region and one output region that the
// test (as the judge) has mapped read-write. Input x and output y are float32 of `shape`, one page-aligned
// piece a slot.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "protocol/channel.h"
#include "protocol/message.h"

namespace solmark::worker {

constexpr std::size_t kSlotBytes = 4096;
constexpr std::size_t kSlots = 3;

class WorkerProcess {
 public:
  explicit WorkerProcess(std::vector<std::string> argv) {
    auto pair = protocol::Channel::pair();
    EXPECT_TRUE(pair.ok());
    channel_.emplace(std::move(pair->first));
    SpawnSpec spec;
    spec.argv = std::move(argv);
    spec.environment = current_environment();
    spec.environment["PYTHONPATH"] = std::string(SOLMARK_SOURCE_DIR) + "/python";
    spec.environment["PYTHONDONTWRITEBYTECODE"] = "1";
    spec.descriptors = {{pair->second.get(), 3}};
    auto child = Child::spawn(spec);
    EXPECT_TRUE(child.ok());
    child_.emplace(std::move(*child));
    inputs_ = make_memfd("inputs", kSlots * kSlotBytes).value();
    outputs_ = make_memfd("outputs", kSlots * kSlotBytes).value();
    x_ = Mapping::map(inputs_, kSlots * kSlotBytes, Mapping::Access::kReadWrite).value();
    y_ = Mapping::map(outputs_, kSlots * kSlotBytes, Mapping::Access::kReadWrite).value();
  }

  Result<protocol::Message> ask(Json request, const std::vector<int>& descriptors = {}) {
    return channel_->request(std::move(request), descriptors,
                             std::chrono::minutes(5));  // torch is slow to import on a busy machine
  }
  // The reply to a request that must be answered; its kind is "ok" or the error's kind.
  struct Answer {
    std::string kind;
    std::string message;
    Json body;
  };
  Answer answer(Json request, const std::vector<int>& descriptors = {}) {
    auto reply = ask(std::move(request), descriptors);
    if (!reply) return {"no answer", reply.error().text() + "\n" + child_->output(), {}};
    return {reply->is_ok() ? "ok" : reply->text("kind"), reply->text("message"), reply->body};
  }
  Answer hello() { return answer({{"type", "hello"}, {"version", protocol::kVersion}}); }
  Answer load(const std::string& kind, const std::string& path, const std::string& entry, bool dps = true) {
    return answer(
        {{"type", "load"},
         {"device", "cpu"},
         {"artefact", {{"kind", kind}, {"path", path}, {"entry", entry}, {"destination_passing", dps}}},
         {"window", {{"base", 0}, {"bytes", 0}}}});
  }
  Json bind_request(const Json& shape, const std::string& input_dtype = "float32", const Json& scalar = 2.0,
                    const std::string& scalar_dtype = "float32") {
    auto tensor = [&](const char* name, const std::string& dtype, int region) {
      return Json{{"name", name},     {"dtype", dtype}, {"shape", shape},
                  {"region", region}, {"offset", 0},    {"slot_stride", kSlotBytes}};
    };
    Json x = tensor("x", input_dtype, 0);
    Json factor = {{"name", "factor"}, {"dtype", scalar_dtype}, {"scalar", scalar}};
    return {{"type", "bind"},
            {"axes", {{"n", 4}}},
            {"regions",
             {{{"fd", 0}, {"address", 0}, {"bytes", kSlots * kSlotBytes}, {"access", "r"}},
              {{"fd", 1}, {"address", 0}, {"bytes", kSlots * kSlotBytes}, {"access", "rw"}}}},
            {"inputs", Json::array({x, factor})},
            {"outputs", Json::array({tensor("y", "float32", 1)})},
            {"slots", kSlots}};
  }
  Answer bind(Json request) {
    auto read_only = inputs_.reopen_read_only();
    EXPECT_TRUE(read_only.ok());
    return answer(std::move(request), {read_only->get(), outputs_.get()});
  }
  Answer bind() { return bind(bind_request({4, 8})); }
  Answer call(int slot) { return answer({{"type", "call"}, {"slot", slot}}); }

  float* x(std::size_t slot) { return reinterpret_cast<float*>(x_.data() + slot * kSlotBytes); }
  float* y(std::size_t slot) { return reinterpret_cast<float*>(y_.data() + slot * kSlotBytes); }
  protocol::Channel& channel() { return *channel_; }
  Child& child() { return *child_; }
  int output_fd() const { return outputs_.get(); }

 private:
  std::optional<protocol::Channel> channel_;
  std::optional<Child> child_;
  Fd inputs_;
  Fd outputs_;
  Mapping x_;
  Mapping y_;
};

}  // namespace solmark::worker
