// The C++ side against the real Python oracle, on regions of the cpu device.
#include "oracle/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "graph/graph_json.h"
#include "oracle/requests.h"

namespace solmark::oracle {
namespace {

using ::testing::HasSubstr;

problem::TensorSpec tensor(const std::string& name, std::vector<std::string> shape,
                           problem::Dtype dtype = problem::Dtype::kFloat32) {
  problem::TensorSpec spec;
  spec.name = name;
  spec.shape = std::move(shape);
  spec.dtype = dtype;
  return spec;
}

problem::Definition scaled_sum() {
  problem::Definition d;
  d.name = "scaled_sum";
  d.axes = {{"n", problem::Axis::Kind::kVar, 0, ""}};
  problem::TensorSpec scale;
  scale.name = "scale";
  d.inputs = {tensor("x", {"n"}), tensor("y", {"n"}), scale};
  d.outputs = {tensor("out", {"n"})};
  d.reference = "import torch\n\ndef run(x, y, scale):\n    x.add_(y)\n    return x * scale\n";
  return d;
}

OracleOptions options() {
  OracleOptions out;
  out.python = SOLMARK_PYTHON;
  out.package_root = std::filesystem::path(SOLMARK_SOURCE_DIR) / "python";
  out.environment = current_environment();
  return out;
}

class OracleTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = Oracle::start(options());
    if (started.ok()) {
      shared_ = std::make_unique<Oracle>(std::move(*started));
    } else {
      why_not_ = started.error().text();
    }
  }
  static void TearDownTestSuite() { shared_.reset(); }
  void SetUp() override {
    if (shared_ == nullptr && why_not_.find("has no package") != std::string::npos) GTEST_SKIP() << why_not_;
    ASSERT_NE(shared_, nullptr) << why_not_;
    auto device = device::open_device("cpu");
    ASSERT_TRUE(device.ok());
    device_ = std::move(*device);
  }

  // Loads a definition and chooses a workload of n elements.
  void choose(const problem::Definition& definition, std::int64_t n, const Json* scalars = nullptr) {
    definition_ = definition;
    axes_ = {{"n", n}};
    auto fault = shared_->load(definition_);
    ASSERT_TRUE(fault.ok()) << fault.error().text();
    ASSERT_FALSE(fault->has_value()) << (*fault)->message;
    auto inputs = device::lay_out(definition_.inputs, axes_);
    auto outputs = device::lay_out(definition_.outputs, axes_);
    ASSERT_TRUE(inputs.ok() && outputs.ok());
    inputs_ = *inputs;
    outputs_ = *outputs;
    fault = shared_->workload(definition_, workload_, axes_, inputs_, outputs_, {}, scalars);
    ASSERT_TRUE(fault.ok()) << fault.error().text();
    ASSERT_FALSE(fault->has_value());
    for (auto [region, layout] :
         {std::pair(&input_region_, &inputs_), std::pair(&output_region_, &outputs_)}) {
      auto made = device_->allocate("test", 2 * layout->slot_stride);
      ASSERT_TRUE(made.ok()) << made.error().text();
      *region = std::move(*made);
    }
  }
  Result<SetReply> make_set(std::uint64_t seed, std::size_t set) {
    SetRequest request{seed, input_region_.get(), output_region_.get(), &inputs_, &outputs_, set};
    return shared_->make_set(request);
  }
  std::vector<float> read(const device::Region& region, const device::Layout& layout, std::size_t tensor,
                          std::size_t set) {
    std::vector<float> out(layout.tensors[tensor].elements());
    std::size_t offset = set * layout.slot_stride + layout.tensors[tensor].offset;
    auto status = device_->read(out.data(), region, offset, out.size() * sizeof(float));
    EXPECT_TRUE(status.ok());
    return out;
  }

  static std::unique_ptr<Oracle> shared_;
  static std::string why_not_;
  std::unique_ptr<device::Device> device_;
  problem::Definition definition_;
  problem::Workload workload_;
  problem::AxisValues axes_;
  device::Layout inputs_;
  device::Layout outputs_;
  std::unique_ptr<device::Region> input_region_;
  std::unique_ptr<device::Region> output_region_;
};
std::unique_ptr<Oracle> OracleTest::shared_;
std::string OracleTest::why_not_;

TEST_F(OracleTest, FollowsRegionsThatChange) {
  choose(scaled_sum(), 8);
  ASSERT_TRUE(make_set(1, 0).value().scalars != nullptr);
  const std::vector<float> first = read(*input_region_, inputs_, 0, 0);
  ASSERT_TRUE(make_set(2, 1).ok()) << "the same regions, mapped already";
  EXPECT_NE(read(*input_region_, inputs_, 0, 1), first);
  // Another region, perhaps at the same address of this process.
  input_region_ = device_->allocate("other", 2 * inputs_.slot_stride).value();
  ASSERT_TRUE(make_set(1, 0).ok());
  EXPECT_EQ(read(*input_region_, inputs_, 0, 0), first);
}

TEST_F(OracleTest, TellsItsVersions) {
  std::map<std::string, std::string> libraries(shared_->libraries().begin(), shared_->libraries().end());
  EXPECT_FALSE(libraries["torch"].empty());
  EXPECT_FALSE(libraries["numpy"].empty());
  EXPECT_THAT(libraries["python"], HasSubstr("3."));
  EXPECT_FALSE(shared_->device_name().empty());
}

TEST_F(OracleTest, SetsFillTheirOwnStrideAndExpectTheReference) {
  workload_.inputs["scale"] = problem::ScalarInput{2.5};
  choose(scaled_sum(), 1000);
  auto first = make_set(7, 0);
  ASSERT_TRUE(first.ok()) << first.error().text();
  ASSERT_FALSE(first->fault) << first->fault->message;
  EXPECT_TRUE(first->finite);
  EXPECT_EQ((*first->scalars)["scale"], 2.5);
  auto before = read(*input_region_, inputs_, 0, 0);
  auto second = make_set(8, 1);
  ASSERT_TRUE(second.ok() && !second->fault);
  EXPECT_EQ(read(*input_region_, inputs_, 0, 0), before);
  EXPECT_NE(read(*input_region_, inputs_, 0, 1), before);
  for (std::size_t set : {0U, 1U}) {
    auto x = read(*input_region_, inputs_, 0, set);
    auto y = read(*input_region_, inputs_, 1, set);
    auto out = read(*output_region_, outputs_, 0, set);
    // The reference writes its x; what is stored is x as it was before.
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], (x[i] + y[i]) * 2.5F) << i;
  }
}

TEST_F(OracleTest, OneSeedGivesOneSet) {
  workload_.inputs["scale"] = problem::ScalarInput{std::int64_t{1}};
  choose(scaled_sum(), 64);
  // Above 2^63: seeds are unsigned.
  ASSERT_TRUE(make_set(0xfedcba9876543210ULL, 0).ok());
  ASSERT_TRUE(make_set(0xfedcba9876543210ULL, 1).ok());
  EXPECT_EQ(read(*input_region_, inputs_, 0, 0), read(*input_region_, inputs_, 0, 1));
}

TEST_F(OracleTest, ScalarsAreDrawnOnceAndCanBeGiven) {
  choose(scaled_sum(), 8);
  auto first = make_set(1, 0);
  auto second = make_set(2, 0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first->scalars, *second->scalars);
  Json given{{"scale", 0.25}};
  choose(scaled_sum(), 8, &given);
  auto third = make_set(3, 0);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ((*third->scalars)["scale"], 0.25);
}

TEST_F(OracleTest, WithoutAPlaceForExpectationsTheReferenceDoesNotRun) {
  auto definition = scaled_sum();
  definition.reference = "def run(x, y, scale):\n    raise ValueError('must not run')\n";
  choose(definition, 8);
  SetRequest request{5, input_region_.get(), nullptr, &inputs_, nullptr, 0};
  auto reply = shared_->make_set(request);
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  EXPECT_FALSE(reply->fault);
  auto x = read(*input_region_, inputs_, 0, 0);
  EXPECT_NE(x[0], x[1]);
}

TEST_F(OracleTest, RecordsAndTimes) {
  workload_.inputs["scale"] = problem::ScalarInput{2.5};
  choose(scaled_sum(), 4096);
  ASSERT_TRUE(make_set(1, 0).ok());
  auto recorded = shared_->record();
  ASSERT_TRUE(recorded.ok()) << recorded.error().text();
  ASSERT_FALSE(recorded->fault) << recorded->fault->message;
  EXPECT_EQ((*recorded->graph)["format"], "solmark.opgraph");
  EXPECT_EQ((*recorded->graph)["ops"][0]["op"], "aten.add_.Tensor");
  auto time = shared_->time(0.05);
  ASSERT_TRUE(time.ok()) << time.error().text();
  ASSERT_FALSE(time->fault);
  EXPECT_GT(time->t_s, 0);
  EXPECT_LT(time->t_s, 1);
  EXPECT_LE(time->t_low_s, time->t_s);
  EXPECT_GE(time->t_high_s, time->t_s);
  EXPECT_GE(time->calls, 1);
}

// The recorder and the reader of graphs agree, on every problem of the suite (its first workload).
TEST_F(OracleTest, RecordedGraphsAreReadByTheGraphModule) {
  int read = 0;
  auto problems = std::filesystem::path(SOLMARK_SOURCE_DIR) / "problems";
  for (const auto& folder : std::filesystem::directory_iterator(problems)) {
    if (!std::filesystem::exists(folder.path() / "definition.json")) continue;
    SCOPED_TRACE(folder.path().string());
    auto loaded = problem::load_definition(folder.path() / "definition.json");
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const auto& definition = loaded->definition;
    auto workloads = problem::load_workloads(folder.path() / "workload.jsonl", definition);
    ASSERT_TRUE(workloads.ok()) << workloads.error().text();
    const auto& workload = workloads->workloads.front();
    auto axes = problem::resolve_axes(definition, workload);
    ASSERT_TRUE(axes.ok()) << axes.error().text();
    auto inputs = device::lay_out(definition.inputs, *axes);
    auto outputs = device::lay_out(definition.outputs, *axes);
    ASSERT_TRUE(inputs.ok() && outputs.ok());
    auto fault = shared_->load(definition);
    ASSERT_TRUE(fault.ok() && !*fault);
    fault = shared_->workload(definition, workload, *axes, *inputs, *outputs, {}, nullptr);
    ASSERT_TRUE(fault.ok() && !*fault);
    auto recorded = shared_->record();
    ASSERT_TRUE(recorded.ok()) << recorded.error().text();
    ASSERT_FALSE(recorded->fault) << recorded->fault->message;
    auto graph = graph::graph_from_json(*recorded->graph, "recorded");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    EXPECT_FALSE(graph->ops.empty());
    EXPECT_EQ(graph->outputs.size(), definition.outputs.size());
    ++read;
  }
  EXPECT_GT(read, 0);
}

TEST_F(OracleTest, FaultsOfTheProblemAreData) {
  auto definition = scaled_sum();
  definition.reference = "def run(x, scale):\n    return x\n";
  auto fault = shared_->load(definition);
  ASSERT_TRUE(fault.ok()) << fault.error().text();
  ASSERT_TRUE(fault->has_value());
  EXPECT_EQ((*fault)->kind, "reference");
  EXPECT_THAT((*fault)->message, HasSubstr("(x, y, scale)"));

  struct Row {
    const char* body;
    const char* kind;
    const char* words;
  };
  for (const Row& row :
       {Row{"return x[:3]", "shape", "[8] is declared"},
        Row{"raise ValueError('no good')", "reference", "no good at line 4"},
        Row{"torch.set_default_dtype(torch.float64); return x", "flags", "torch.default_dtype"}}) {
    definition.reference = std::string("import torch\n\ndef run(x, y, scale):\n    ") + row.body + "\n";
    choose(definition, 8);
    auto reply = make_set(1, 0);
    ASSERT_TRUE(reply.ok()) << reply.error().text();
    ASSERT_TRUE(reply->fault) << row.body;
    EXPECT_EQ(reply->fault->kind, row.kind);
    EXPECT_THAT(reply->fault->message, HasSubstr(row.words));
  }
}

TEST(OracleStart, FaultsOfTheMachineAreErrorsWithAMend) {
  auto wrong = options();
  wrong.python = "/nonexistent/python3";
  auto started = Oracle::start(wrong);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::kMachine);
  EXPECT_THAT(started.error().text(), HasSubstr("cannot be executed"));
  EXPECT_THAT(started.error().mend, HasSubstr("--python"));

  wrong = options();
  wrong.package_root = "/nonexistent";
  started = Oracle::start(wrong);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::kMachine);
}

// An interpreter that cannot see any site packages stands for one without PyTorch.
TEST(OracleStart, MissingPyTorchNamesTheCommandThatInstallsIt) {
  auto folder = TemporaryFolder::create("solmark-test");
  ASSERT_TRUE(folder.ok());
  auto python = folder->path() / "python3";
  ASSERT_TRUE(write_file(python, std::string("#!/bin/sh\nexec ") + SOLMARK_PYTHON + " -S -s \"$@\"\n").ok());
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  auto wrong = options();
  wrong.python = python.string();
  auto started = Oracle::start(wrong);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::kMachine);
  EXPECT_EQ(started.error().mend, python.string() + " -m pip install torch");
}

TEST_F(OracleTest, ADeadOracleSaysHowItEnded) {
  auto started = Oracle::start(options());
  ASSERT_TRUE(started.ok());
  auto definition = scaled_sum();
  definition.reference = "import os\nprint('last words')\nos._exit(9)\ndef run(x, y, scale):\n    pass\n";
  auto fault = started->load(definition);
  ASSERT_TRUE(fault.ok());
  ASSERT_TRUE(fault->has_value());  // the reference ended it: its fault
  EXPECT_EQ((*fault)->kind, "reference");
  EXPECT_THAT((*fault)->message, HasSubstr("exited with code 9"));
  EXPECT_TRUE(started->gone());
  EXPECT_EQ(started->record().error().code, ErrorCode::kInternal);  // nobody asks a dead oracle
}

TEST_F(OracleTest, ASlowReferenceEndsAtTheLimit) {
  auto hurried = options();
  hurried.reference_limit = std::chrono::milliseconds(3000);
  auto started = Oracle::start(hurried);
  ASSERT_TRUE(started.ok());
  problem::Definition definition = scaled_sum();
  definition.reference = "import time\ndef run(x, y, scale):\n    time.sleep(60)\n";
  auto loaded = started->load(definition);
  ASSERT_TRUE(loaded.ok());
  ASSERT_FALSE(loaded->has_value());
  auto inputs = device::lay_out(definition.inputs, {{"n", 4}});
  auto outputs = device::lay_out(definition.outputs, {{"n", 4}});
  ASSERT_TRUE(started->workload(definition, {}, {{"n", 4}}, *inputs, *outputs, {}, nullptr).ok());
  auto region = device_->allocate("test", 4096);
  ASSERT_TRUE(region.ok());
  auto reply = started->make_set({1, region->get(), region->get(), &*inputs, &*outputs, 0});
  ASSERT_TRUE(reply.ok());
  ASSERT_TRUE(reply->fault.has_value());
  EXPECT_EQ(reply->fault->kind, "reference");
  EXPECT_THAT(reply->fault->message, HasSubstr("in time"));
  EXPECT_TRUE(started->gone());
}

TEST(Requests, SourcesAndPackedShapesAreWrittenOut) {
  problem::Definition d;
  d.name = "p";
  d.inputs = {tensor("a", {"n"}, problem::Dtype::kFloat4E2m1), tensor("b", {"n"}), tensor("c", {"n"})};
  d.outputs = {tensor("o", {"n"})};
  problem::Workload w;
  w.inputs["b"] = problem::SafetensorsInput{"blobs/b.safetensors", "key"};
  w.inputs["c"] = problem::CustomInput{};
  problem::AxisValues axes{{"n", 6}};
  auto inputs = device::lay_out(d.inputs, axes);
  auto outputs = device::lay_out(d.outputs, axes);
  ASSERT_TRUE(inputs.ok() && outputs.ok());
  Json body = workload_request(d, w, axes, *inputs, *outputs, {{"b", "/data/b.safetensors"}}, nullptr);
  EXPECT_EQ(body["inputs"][0]["shape"], Json({3}));
  EXPECT_EQ(body["inputs"][0]["source"]["type"], "random");
  EXPECT_EQ(body["inputs"][1]["source"],
            Json({{"type", "safetensors"}, {"path", "/data/b.safetensors"}, {"key", "key"}}));
  EXPECT_EQ(body["inputs"][2]["source"]["type"], "custom");
  EXPECT_EQ(body["axes"]["n"], 6);
  EXPECT_FALSE(body.contains("scalars"));
}

}  // namespace
}  // namespace solmark::oracle
