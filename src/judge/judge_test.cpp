#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "device/cpu_device.h"
#include "judge/check.h"
#include "judge/inputs.h"
#include "judge/installation.h"
#include "judge/memory.h"
#include "judge/score.h"
#include "judge/seal_file.h"
#include "judge/trace.h"

namespace solmark::judge {
namespace {
using testing::HasSubstr;

TEST(Score, KnownPointsAndEdges) {
  EXPECT_DOUBLE_EQ(*sol_score(2, 1, 2), 0.5);  // at the baseline
  EXPECT_DOUBLE_EQ(*sol_score(1, 1, 2), 1.0);  // at the bound
  EXPECT_DOUBLE_EQ(*sol_score(3, 1, 2), 1.0 / 3);
  EXPECT_FALSE(sol_score(0.999, 1, 2).has_value());  // below the bound: no score
  EXPECT_EQ(*sol_score(1, 1, 1), 1.0);
  EXPECT_EQ(*sol_score(1.1, 1, 1), 0.0);
  EXPECT_EQ(*sol_score(1.1, 1, 0.5), 0.0);
}

TEST(Status, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(TraceStatus::kInfraError); ++i) {
    auto status = static_cast<TraceStatus>(i);
    EXPECT_EQ(status_from_name(status_name(status)), status);
  }
  EXPECT_FALSE(status_from_name("passed").has_value());
}

Trace passed_trace() {
  Trace t;
  t.definition = "d";
  t.workload_json = R"({"uuid":"u","axes":{"n":4}})";
  t.uuid = "u";
  t.solution = "s";
  t.status = TraceStatus::kPassed;
  OutputRecord output;
  output.name = "y";
  output.counts.elements = 4;
  output.counts.matched = 4;
  t.outputs.push_back(output);
  measure::Timing timing;
  timing.batches = {{1e-3, 1e-5, 1e-6, {}}, {1e-3, 1e-5, 2e-6, {}}};
  timing.slots = 100;
  measure::summarise(timing);
  t.timing = timing;
  t.reference_s = 4e-6;
  t.mode = "live";
  return t;
}

TEST(TraceJson, FollowsSolExecbenchOnWhatIsPresent) {
  Trace t = passed_trace();
  Json json = trace_json(t);
  EXPECT_EQ(json["workload"]["axes"]["n"], 4);
  EXPECT_TRUE(json["evaluation"]["correctness"].is_object());
  EXPECT_NEAR(json["evaluation"]["performance"]["latency_ms"].get<double>(), 1.5e-3, 1e-12);
  EXPECT_NEAR(json["evaluation"]["performance"]["speedup_factor"].get<double>(), 4 / 1.5, 1e-9);
  t.status = TraceStatus::kIncorrectNumerical;
  json = trace_json(t);
  EXPECT_TRUE(json["evaluation"]["correctness"].is_object());
  EXPECT_TRUE(json["evaluation"]["performance"].is_null());
  t.status = TraceStatus::kTimeout;
  json = trace_json(t);
  EXPECT_TRUE(json["evaluation"]["correctness"].is_null());
  EXPECT_TRUE(json["evaluation"]["performance"].is_null());
}

TEST(TraceJson, HasNoInfinities) {
  Trace t = passed_trace();
  t.outputs[0].counts.worst_got = std::numeric_limits<double>::infinity();
  t.outputs[0].counts.worst_expected = std::nan("");
  std::string line = to_json_line(trace_json(t));
  EXPECT_THAT(line, testing::Not(HasSubstr("inf,")));
  EXPECT_TRUE(parse_json(line, "trace").ok());
}

device::Layout layout_of(const std::vector<std::int64_t>& shape) {
  problem::TensorSpec spec;
  spec.name = "x";
  spec.shape = std::vector<std::string>();
  for (auto d : shape) spec.shape->push_back(std::to_string(d));
  auto layout = device::lay_out({spec}, {});
  EXPECT_TRUE(layout.ok());
  return *layout;
}

struct Dealt {
  std::unique_ptr<device::Device> device;
  device::Layout layout;
  Staging staging;
  Slots slots;
};

const std::vector<std::uint32_t> kAllSlots = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

// 3 sets whose inputs (and expectations) are k+1, dealt to 10 slots.
Dealt deal() {
  Dealt d;
  d.device = device::open_cpu_device().value();
  d.layout = layout_of({100});
  d.staging = make_staging(*d.device, d.layout, d.layout, 3).value();
  d.slots = make_slots(*d.device, d.layout, d.layout, 10).value();
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<float> values(100, static_cast<float>(k + 1));
    EXPECT_TRUE(d.device->write(*d.staging.inputs, k * d.layout.slot_stride, values.data(), 400).ok());
    EXPECT_TRUE(d.device->write(*d.staging.expected, k * d.layout.slot_stride, values.data(), 400).ok());
  }
  std::mt19937_64 random(1);
  EXPECT_TRUE(deal_sets(*d.device, d.staging, 3, d.layout, d.slots, random).ok());
  return d;
}

TEST(Memory, EverySetIsDealtAboutEquallyOften) {
  Dealt d = deal();
  std::multiset<std::size_t> sets(d.slots.set_of.begin(), d.slots.set_of.end());
  for (std::size_t k = 0; k < 3; ++k) EXPECT_GE(sets.count(k), 3U);
  for (std::size_t i = 0; i < 10; ++i) {
    float value = 0;
    ASSERT_TRUE(d.device->read(&value, *d.slots.inputs, i * d.layout.slot_stride + 396, 4).ok());
    EXPECT_EQ(value, static_cast<float>(d.slots.set_of[i] + 1));
  }
}

CheckResult check(Dealt& d, std::vector<OutputRecord>& records) {
  CheckInput in;
  in.device = d.device.get();
  in.outputs = &d.layout;
  in.staging = &d.staging;
  in.slots = &d.slots;
  records.assign(1, OutputRecord{});
  return check_batch(in, records);
}

TEST(Check, EverySlotIsLookedAt) {
  for (std::size_t wrong = 0; wrong < 10; ++wrong) {
    Dealt d = deal();
    // An honest candidate: the output is the input.
    ASSERT_TRUE(d.device->deal(*d.slots.outputs, *d.slots.inputs, d.layout.slot_stride, kAllSlots).ok());
    std::vector<OutputRecord> records;
    EXPECT_FALSE(check(d, records).fault.has_value());
    EXPECT_EQ(records[0].matched_ratio_min, 1.0);
    std::vector<float> rubbish(100, -7.0F);
    ASSERT_TRUE(d.device->write(*d.slots.outputs, wrong * d.layout.slot_stride, rubbish.data(), 400).ok());
    CheckResult result = check(d, records);
    ASSERT_TRUE(result.fault.has_value()) << "slot " << wrong;
    EXPECT_EQ(result.fault->status, TraceStatus::kIncorrectNumerical);
    EXPECT_THAT(result.fault->words, HasSubstr("call " + std::to_string(wrong) + " "));
    EXPECT_THAT(result.fault->words, HasSubstr("is -7, expected "));
    EXPECT_FALSE(result.unwritten);
  }
}

TEST(Check, AnotherSetsAnswerIsWrong) {
  Dealt d = deal();
  std::vector<float> first(100, 1.0F);  // right for the slots of set 0 only
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(d.device->write(*d.slots.outputs, i * d.layout.slot_stride, first.data(), 400).ok());
  }
  std::vector<OutputRecord> records;
  EXPECT_TRUE(check(d, records).fault.has_value());
}

TEST(Check, PoisonIsRecognised) {
  Dealt d = deal();
  ASSERT_TRUE(d.device->fill(*d.slots.outputs, 0, d.slots.outputs->bytes(), kPoison).ok());
  std::vector<OutputRecord> records;
  CheckResult result = check(d, records);
  ASSERT_TRUE(result.fault.has_value());
  EXPECT_TRUE(result.unwritten);
  EXPECT_THAT(result.fault->words, HasSubstr("never written"));
}

TEST(Baseline, ReadsPassedTracesOnly) {
  auto folder = TemporaryFolder::create("judge-test");
  Trace t = passed_trace();
  Trace failed = passed_trace();
  failed.status = TraceStatus::kTimeout;
  std::string text = to_json_line(trace_json(failed)) + "\n\n" + to_json_line(trace_json(t)) + "\n";
  ASSERT_TRUE(write_file(folder->path() / "t.jsonl", text).ok());
  auto baseline = read_baseline(folder->path() / "t.jsonl");
  ASSERT_TRUE(baseline.ok()) << baseline.error().text();
  EXPECT_EQ(baseline->name, "s");
  EXPECT_NEAR(baseline->t_s.at("u"), 1.5e-6, 1e-15);
  ASSERT_TRUE(write_file(folder->path() / "bad.jsonl", "{\"evaluation\":{}}\n").ok());
  EXPECT_THAT(read_baseline(folder->path() / "bad.jsonl").error().text(), HasSubstr("bad.jsonl:1"));
}

TEST(Baseline, IsOfOneSolutionAndItsTimesAreTimes) {
  Trace t = passed_trace();
  const std::string good = to_json_line(trace_json(t)) + "\n";
  t.solution = "other";
  EXPECT_THAT(decode_baseline(good + to_json_line(trace_json(t)), "t").error().text(),
              HasSubstr("t:2: a trace of solution \"other\" after those of \"s\""));
  EXPECT_TRUE(decode_baseline(good + good, "t").ok());
  for (const char* latency : {"0", "-1", "Infinity", "NaN"}) {
    std::string line = good;
    const std::string key = "\"latency_ms\":";
    const std::size_t at = line.find(key) + key.size();
    line.replace(at, line.find_first_of(",}", at) - at, latency);
    EXPECT_THAT(decode_baseline(line, "t").error().text(), HasSubstr("t:1: latency_ms")) << line;
  }
}

TEST(SealFile, RefusesRubbishAndOtherDefinitions) {
  auto folder = TemporaryFolder::create("judge-test");
  auto file = folder->path() / "s.seal";
  EXPECT_THAT(read_seal_file(file).error().text(), HasSubstr("no such file"));
  ASSERT_TRUE(write_file(file, "hello, I am not a seal").ok());
  EXPECT_THAT(read_seal_file(file).error().text(), HasSubstr("not a Seal file"));
  device::DeviceInfo gpu;
  gpu.name = "G";
  gpu.compute_capability = 90;
  SealFileWriter writer;
  ASSERT_TRUE(writer.write(file, "rms_norm", "s", gpu).ok());
  auto seal = read_seal_file(file);
  ASSERT_TRUE(seal.ok()) << seal.error().text();
  problem::Definition other;
  other.name = "rope";
  EXPECT_EQ(check_seal_file(*seal, other, gpu).error().code, ErrorCode::kBadInput);
  other.name = "rms_norm";
  EXPECT_TRUE(check_seal_file(*seal, other, gpu).ok());
  gpu.compute_capability = 100;
  EXPECT_EQ(check_seal_file(*seal, other, gpu).error().code, ErrorCode::kMachine);
  // Every cut of the file is refused, none is read past its end.
  std::string whole = *read_file(file);
  for (std::size_t n : {0U, 7U, 12U, 20U, 100U}) {
    ASSERT_TRUE(write_file(file, whole.substr(0, n)).ok());
    EXPECT_FALSE(read_seal_file(file).ok()) << n;
  }
}

TEST(Environment, ChildrenGetNothingOfOurs) {
  Installation installation;
  installation.python_root = "/p";
  installation.environment = {
      {"PATH", "/bin"}, {"SECRET_TOKEN", "x"}, {"SOLMARK_PYTHON", "p"}, {"CUDA_VISIBLE_DEVICES", "0"}};
  auto child = child_environment(installation);
  EXPECT_EQ(child.count("SECRET_TOKEN"), 0U);
  EXPECT_EQ(child.count("SOLMARK_PYTHON"), 0U);
  EXPECT_EQ(child.at("CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(child.at("PYTHONPATH"), "/p");
}

}  // namespace
}  // namespace solmark::judge
