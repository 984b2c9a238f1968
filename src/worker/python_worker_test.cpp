#include <cstring>
#include <thread>

#include "base/files.h"
#include "build/build.h"
#include "protocol/doorbell.h"
#include "worker/worker_fixture.h"

namespace solmark::worker {
namespace {

bool python_has_torch() {
  static const bool found = [] {
    SpawnSpec spec;
    spec.argv = {SOLMARK_PYTHON, "-c",
                 "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"};
    spec.environment = current_environment();
    auto child = Child::spawn(spec);
    if (!child) return false;
    auto ended = child->wait(std::chrono::seconds(60));
    return ended.ok() && !ended->signalled && ended->code == 0;
  }();
  return found;
}

std::vector<std::string> python_command() {
  return {SOLMARK_PYTHON, "-m", "solmark.worker", "--channel", "3", "--library", SOLMARK_WORKER_LIBRARY};
}

class PythonWorker : public testing::Test {
 protected:
  void SetUp() override {
    if (!python_has_torch()) GTEST_SKIP() << SOLMARK_PYTHON << " has no torch";
  }
  void start(const std::string& source, bool dps) {
    folder_.emplace(TemporaryFolder::create("solmark-python-worker").value());
    auto file = folder_->path() / "candidate.py";
    ASSERT_TRUE(write_file(file, source).ok());
    worker_.emplace(python_command());
    auto greeted = worker_->hello();
    ASSERT_EQ(greeted.kind, "ok") << greeted.message;
    loaded = worker_->load("python_file", file.string(), "run", dps);
    for (std::size_t s = 0; s < kSlots; ++s) {
      for (std::size_t i = 0; i < 32; ++i) worker_->x(s)[i] = static_cast<float>(100 * s + i);
    }
  }
  void start_bound(const std::string& source, bool dps) {
    start(source, dps);
    ASSERT_EQ(loaded.kind, "ok") << loaded.message;
    auto bound = worker_->bind();
    ASSERT_EQ(bound.kind, "ok") << bound.message;
  }
  // One call of a return-style candidate.
  WorkerProcess::Answer called(const std::string& source, bool dps = false) {
    start_bound(source, dps);
    return worker_->call(0);
  }
  // A return-style candidate that returns one of these expressions of x, chosen by the scalar `factor`.
  void start_returning(const std::string& preamble, const std::vector<std::string>& expressions) {
    std::string source = "import torch\n" + preamble + "RESULTS = [\n";
    for (const auto& expression : expressions) source += "    lambda x: " + expression + ",\n";
    results = expressions.size();
    start(source + "]\ndef run(x, factor):\n    return RESULTS[int(factor)](x)\n", false);
    ASSERT_EQ(loaded.kind, "ok") << loaded.message;
  }
  WorkerProcess::Answer result(std::size_t index, const Json& shape = {4, 8}) {
    auto bound = worker().bind(worker().bind_request(shape, "float32", index));
    return bound.kind == "ok" ? worker().call(0) : bound;
  }
  WorkerProcess& worker() { return *worker_; }
  std::optional<TemporaryFolder> folder_;
  std::optional<WorkerProcess> worker_;
  WorkerProcess::Answer loaded;
  std::size_t results = 0;
};

TEST_F(PythonWorker, DestinationPassing) {
  start_bound(
      "import torch\n"
      "def run(x, factor, y):\n"
      "    assert type(factor) is float and tuple(x.shape) == (4, 8) and x.dtype == torch.float32\n"
      "    torch.mul(x, factor, out=y)\n"
      "    return 'ignored'\n",
      true);
  for (int slot : {2, 0}) {
    auto answer = worker().call(slot);
    ASSERT_EQ(answer.kind, "ok") << answer.message;
  }
  EXPECT_EQ(worker().y(2)[31], 462.0F);
  EXPECT_EQ(worker().y(0)[31], 62.0F);
  EXPECT_EQ(worker().y(1)[31], 0.0F);
  EXPECT_EQ(worker().answer({{"type", "quit"}}).kind, "ok");
  auto ended = worker().child().wait(std::chrono::seconds(20));
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->code, 0) << worker().child().output();
}

TEST_F(PythonWorker, GradientHistoryDoesNotPileUp) {
  start_bound(
      "import torch\n"
      "w = torch.nn.Parameter(torch.ones(8))\n"
      "def run(x, factor, y):\n"
      "    assert not y.requires_grad\n"
      "    y.copy_(x * w)\n",
      true);
  ASSERT_EQ(worker().call(0).kind, "ok");
  auto again = worker().call(0);
  EXPECT_EQ(again.kind, "ok") << again.message;
  EXPECT_EQ(worker().y(0)[31], 31.0F);
}

TEST_F(PythonWorker, ResultsOfEveryFormArriveInTheBoundOutput) {
  start_returning("", {
                          "(x * 2).t().contiguous().t()",     // not contiguous
                          "torch.nn.Parameter(x * 2)",        // with a gradient
                          "[x * 2]",                          //
                          "(x * 2,)",                         //
                          "{'other': 1, 'y': x * 2}",         // a key too many
                          "x.double().numpy() * 2",           // no tensor: takes the declared dtype
                          "(x * 2).tolist()[0:4] and x * 2",  //
                          "torch._neg_view(x * -2)",          // a view that negates when it is read
                      });
  for (std::size_t i = 0; i < results; ++i) {
    std::memset(worker().y(0), 0, kSlotBytes);
    auto answer = result(i);
    EXPECT_EQ(answer.kind, "ok") << i << ": " << answer.message;
    EXPECT_EQ(worker().y(0)[1], 2.0F) << i;
    EXPECT_EQ(worker().y(0)[31], 62.0F) << i;
  }
}

TEST_F(PythonWorker, NumberIsAResultWithoutDimensions) {
  start_returning("", {"3", "True", "x.sum().item()"});
  const float expected[] = {3, 1, 7};
  for (std::size_t i = 0; i < results; ++i) {
    worker().x(0)[0] = 7.0F;
    auto answer = result(i, Json::array());
    EXPECT_EQ(answer.kind, "ok") << answer.message;
    EXPECT_EQ(worker().y(0)[0], expected[i]);
  }
}

TEST_F(PythonWorker, WrongResultsAreToldApart) {
  struct Case {
    const char* expression;
    const char* kind;
    const char* words;
  };
  const std::vector<Case> cases = {
      {"x[:, :4]", "shape", "output `y` has shape [4, 4], expected [4, 8]"},
      {"[x.t()]", "shape", "output `y` has shape [8, 4], expected [4, 8]"},
      {"3.0", "shape", "output `y` has shape [], expected [4, 8]"},
      {"x.double()", "dtype", "output `y` has dtype torch.float64, expected torch.float32"},
      {"{'y': x.int()}", "dtype", "output `y` has dtype torch.int32, expected torch.float32"},
      {"x.to('meta')", "device", "output `y` is on meta, expected cpu"},
      {"(x, x)", "runtime", "the candidate returned 2 values, expected 1"},
      {"[]", "runtime", "the candidate returned 0 values, expected 1"},
      {"{'z': x}", "runtime", "the returned dict has no key `y`"},
      {"None", "runtime", "output `y` is a NoneType, which is no tensor"},
      {"x.as_subclass(Lazy)", "runtime",
       "output `y` is a Lazy, a subclass of torch.Tensor: return a plain tensor"},
      {"x.to_sparse()", "runtime", "output `y` has the layout torch.sparse_coo, expected torch.strided"},
  };
  std::vector<std::string> expressions;
  for (const auto& c : cases) expressions.emplace_back(c.expression);
  start_returning("class Lazy(torch.Tensor):\n    pass\n", expressions);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto answer = result(i);
    EXPECT_EQ(answer.kind, cases[i].kind) << cases[i].expression;
    EXPECT_TRUE(answer.message.starts_with(cases[i].words)) << answer.message;
  }
}

TEST_F(PythonWorker, ShapeIsCheckedOnEveryCall) {
  start_bound(
      "calls = 0\n"
      "def run(x, factor):\n"
      "    global calls\n"
      "    calls += 1\n"
      "    return x if calls < 4 else x[:, :4]\n",
      false);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(worker().call(i).kind, "ok");
  EXPECT_EQ(worker().call(0).kind, "shape");
}

TEST_F(PythonWorker, ExceptionsComeWithTheirLinesAndTheWorkerLivesOn) {
  start_returning(
      "import sys\ndef inner(x):\n    return x.view(7)\n"
      "class Hostile(Exception):\n    def __str__(self):\n        raise self\n"
      "def hostile():\n    raise Hostile()\n",
      {"inner(x)", "sys.exit(0)", "hostile()", "x.missing"});
  auto answer = result(0);
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_TRUE(answer.message.starts_with("RuntimeError: shape '[7]' is invalid")) << answer.message;
  EXPECT_NE(answer.message.find("candidate.py\", line 4, in inner"), std::string::npos) << answer.message;
  EXPECT_EQ(answer.message.find("host.py"), std::string::npos) << answer.message;
  answer = result(1);
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_TRUE(answer.message.starts_with("the candidate called sys.exit(0)")) << answer.message;
  answer = result(2);
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_NE(answer.message.find("Hostile"), std::string::npos) << answer.message;
  EXPECT_EQ(result(3).kind, "runtime");
}

TEST_F(PythonWorker, BatchesStopAtTheFirstFailure) {
  start_bound("def run(x, factor):\n    assert x[0, 0] >= 0, 'below zero'\n    return x * factor\n", false);
  worker().x(1)[0] = -1.0F;
  Fd page = make_memfd("bell", protocol::kDoorbellBytes).value();
  Mapping mapped = Mapping::map(page, protocol::kDoorbellBytes, Mapping::Access::kReadWrite).value();
  auto& bell = *reinterpret_cast<protocol::Doorbell*>(mapped.data());
  ASSERT_TRUE(worker().channel().send({{"type", "serve"}, {"id", 5}, {"slots", kSlots}}, {page.get()}).ok());
  auto ring = [&](protocol::Ring what) {
    bell.ring.store(static_cast<std::uint32_t>(what));
    std::uint32_t number = bell.go.fetch_add(1) + 1;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (bell.done.load() != number && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return bell.done.load() == number;
  };
  ASSERT_TRUE(ring(protocol::Ring::kBatch));
  EXPECT_EQ(bell.failed_slot.load(), 1);
  EXPECT_TRUE(std::string(bell.message).starts_with("runtime: AssertionError: below zero")) << bell.message;
  EXPECT_EQ(worker().y(0)[31], 62.0F);
  EXPECT_EQ(worker().y(2)[31], 0.0F);
  worker().x(1)[0] = 1.0F;
  ASSERT_TRUE(ring(protocol::Ring::kBatch));
  EXPECT_EQ(bell.failed_slot.load(), -1);
  EXPECT_EQ(worker().y(2)[31], 462.0F);
  ASSERT_TRUE(ring(protocol::Ring::kQuit));
  EXPECT_TRUE(worker().channel().receive(std::chrono::seconds(20)).ok());
}

TEST_F(PythonWorker, HardExitClosesTheChannel) {
  auto answer = called("import os\ndef run(x, factor):\n    os._exit(0)\n");
  EXPECT_EQ(answer.kind, "no answer");
  EXPECT_NE(answer.message.find("closed"), std::string::npos) << answer.message;
}

TEST_F(PythonWorker, InputsCannotBeWritten) {
  auto answer = called("def run(x, factor, y):\n    x.add_(1)\n", true);
  EXPECT_EQ(answer.kind, "no answer");
  EXPECT_EQ(worker().x(0)[0], 0.0F);
}

TEST_F(PythonWorker, LoadErrors) {
  start("def walk(x):\n    pass\n", true);
  EXPECT_EQ(loaded.kind, "load");
  EXPECT_EQ(loaded.message, "candidate.py has no function `run`");
  start("import nothing_of_this_name\n", true);
  EXPECT_EQ(loaded.kind, "load");
  EXPECT_TRUE(loaded.message.starts_with("ModuleNotFoundError")) << loaded.message;
  start("def run(:\n", true);
  EXPECT_EQ(loaded.kind, "load");
  EXPECT_TRUE(loaded.message.starts_with("File") || loaded.message.find("SyntaxError") != std::string::npos)
      << loaded.message;
}

TEST_F(PythonWorker, SourcesSeeEachOtherAndTheirOwnModule) {
  folder_.emplace(TemporaryFolder::create("solmark-python-worker").value());
  ASSERT_TRUE(write_file(folder_->path() / "beside.py", "FACTOR = 5\n").ok());
  auto first = folder_->path() / "entry.py";
  ASSERT_TRUE(write_file(first,
                         "import dataclasses, sys\nimport beside\n"
                         "@dataclasses.dataclass\nclass D:\n    v: 'int' = beside.FACTOR\n"
                         "assert __name__ in sys.modules\n"
                         "def run(x, factor, y):\n    y.copy_(x * D().v)\n")
                  .ok());
  worker_.emplace(python_command());
  ASSERT_EQ(worker().hello().kind, "ok");
  auto answer = worker().load("python_file", first.string(), "run");
  ASSERT_EQ(answer.kind, "ok") << answer.message;
  ASSERT_EQ(worker().bind().kind, "ok");
  worker().x(0)[3] = 2.0F;
  ASSERT_EQ(worker().call(0).kind, "ok");
  EXPECT_EQ(worker().y(0)[3], 10.0F);
}

TEST_F(PythonWorker, TorchExtension) {
  TemporaryFolder home = TemporaryFolder::create("solmark-torch-worker").value();
  build::BuildRequest request;
  request.cache_folder = home.path();
  request.python = SOLMARK_PYTHON;
  request.python_root = std::string(SOLMARK_SOURCE_DIR) + "/python";
  request.solution.languages = {problem::Language::kCpp};
  request.solution.entry_file = "kernel.cpp";
  request.solution.entry_function = "run";
  // Without torch's headers: they cost a minute of compiling.
  request.solution.sources = {
      {"kernel.cpp",
       "#include <pybind11/pybind11.h>\n#include <stdexcept>\nnamespace py = pybind11;\n"
       "void run(py::object x, float factor, py::object y) {\n"
       "  if (factor < 0) throw std::runtime_error(\"below zero\");\n"
       "  y.attr(\"copy_\")(x.attr(\"mul\")(factor));\n}\n"
       "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"run\", &run); }\n"}};
  auto built = build::build(request);
  ASSERT_TRUE(built.ok()) << built.error().text();
  ASSERT_TRUE(built->ok) << built->log;
  worker_.emplace(python_command());
  ASSERT_EQ(worker().hello().kind, "ok");
  auto answer = worker().load(std::string(build::artefact_kind_name(built->artefact.kind)),
                              built->artefact.path.string(), built->artefact.entry);
  ASSERT_EQ(answer.kind, "ok") << answer.message;
  ASSERT_EQ(worker().bind().kind, "ok");
  worker().x(0)[3] = 4.0F;
  answer = worker().call(0);
  EXPECT_EQ(answer.kind, "ok") << answer.message;
  EXPECT_EQ(worker().y(0)[3], 8.0F);
  ASSERT_EQ(worker().bind(worker().bind_request({4, 8}, "float32", -1)).kind, "ok");
  answer = worker().call(0);
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_TRUE(answer.message.starts_with("RuntimeError: below zero")) << answer.message;
}

}  // namespace
}  // namespace solmark::worker
