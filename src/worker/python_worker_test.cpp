#include <fstream>

#include "base/files.h"
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

class PythonWorker : public testing::Test {
 protected:
  void SetUp() override {
    if (!python_has_torch()) GTEST_SKIP() << SOLMARK_PYTHON << " has no torch";
  }
  void start(const std::string& source, bool dps) {
    folder_.emplace(TemporaryFolder::create("solmark-python-worker").value());
    auto file = folder_->path() / "candidate.py";
    ASSERT_TRUE(write_file(file, source).ok());
    worker_.emplace(std::vector<std::string>{SOLMARK_PYTHON, "-m", "solmark.worker", "--channel", "3",
                                             "--library", SOLMARK_WORKER_LIBRARY});
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
  WorkerProcess& worker() { return *worker_; }
  std::optional<TemporaryFolder> folder_;
  std::optional<WorkerProcess> worker_;
  WorkerProcess::Answer loaded;
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

TEST_F(PythonWorker, ReturnedTensorParameterListAndDict) {
  auto answer = called("def run(x, factor):\n    return (x * factor).t().contiguous().t()\n");
  EXPECT_EQ(answer.kind, "ok") << answer.message;
  EXPECT_EQ(worker().y(0)[31], 62.0F);
  answer = called("import torch\ndef run(x, factor):\n    return torch.nn.Parameter(x * factor)\n");
  EXPECT_EQ(answer.kind, "ok") << answer.message;
  EXPECT_EQ(worker().y(0)[31], 62.0F);
  answer = called("def run(x, factor):\n    return [x * 3]\n");
  EXPECT_EQ(answer.kind, "ok") << answer.message;
  EXPECT_EQ(worker().y(0)[31], 93.0F);
  answer = called("def run(x, factor):\n    return {'other': 1, 'y': x * 4}\n");
  EXPECT_EQ(answer.kind, "ok") << answer.message;
  EXPECT_EQ(worker().y(0)[31], 124.0F);
}

TEST_F(PythonWorker, ReturnedNumberAndArrayTakeTheDeclaredDtype) {
  start("def run(x, factor):\n    return 3\n", false);
  ASSERT_EQ(worker().bind(worker().bind_request(Json::array())).kind, "ok");
  auto answer = worker().call(0);
  EXPECT_EQ(answer.kind, "ok") << answer.message;
  EXPECT_EQ(worker().y(0)[0], 3.0F);
  answer = called("def run(x, factor):\n    return x.double().numpy() * 2\n");
  EXPECT_EQ(answer.kind, "ok") << answer.message;
  EXPECT_EQ(worker().y(0)[31], 62.0F);
}

TEST_F(PythonWorker, WrongNumberOfResults) {
  auto answer = called("def run(x, factor):\n    return x, x\n");
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_EQ(answer.message, "the candidate returned 2 values, expected 1");
  answer = called("def run(x, factor):\n    return {'z': x}\n");
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_EQ(answer.message, "the returned dict has no key `y`");
  answer = called("def run(x, factor):\n    pass\n");
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_NE(answer.message.find("output `y` is a NoneType"), std::string::npos) << answer.message;
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
  auto answer = worker().call(0);
  EXPECT_EQ(answer.kind, "shape");
  EXPECT_EQ(answer.message, "output `y` has shape [4, 4], expected [4, 8]");
}

TEST_F(PythonWorker, DtypeAndDeviceAreChecked) {
  auto answer = called("def run(x, factor):\n    return x.double()\n");
  EXPECT_EQ(answer.kind, "dtype");
  EXPECT_EQ(answer.message, "output `y` has dtype torch.float64, expected torch.float32");
  answer = called("def run(x, factor):\n    return x.to('meta')\n");
  EXPECT_EQ(answer.kind, "device");
  EXPECT_EQ(answer.message, "output `y` is on meta, expected cpu");
}

TEST_F(PythonWorker, SubclassesAndSparseTensorsAreRefused) {
  auto answer = called(
      "import torch\n"
      "class Lazy(torch.Tensor):\n    pass\n"
      "def run(x, factor):\n    return x.as_subclass(Lazy)\n");
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_NE(answer.message.find("is a Lazy, a subclass of torch.Tensor"), std::string::npos)
      << answer.message;
  answer = called("def run(x, factor):\n    return x.to_sparse()\n");
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_NE(answer.message.find("layout"), std::string::npos) << answer.message;
}

TEST_F(PythonWorker, ExceptionComesWithItsLines) {
  auto answer = called("def inner(x):\n    return x.view(7)\ndef run(x, factor):\n    return inner(x)\n");
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_TRUE(answer.message.starts_with("RuntimeError: shape '[7]' is invalid")) << answer.message;
  EXPECT_NE(answer.message.find("candidate.py\", line 2, in inner"), std::string::npos) << answer.message;
  EXPECT_EQ(answer.message.find("host.py"), std::string::npos) << answer.message;
  EXPECT_EQ(worker().call(0).kind, "runtime");
}

TEST_F(PythonWorker, SysExitIsARuntimeErrorAndHardExitClosesTheChannel) {
  auto answer = called("import sys\ndef run(x, factor):\n    sys.exit(0)\n");
  EXPECT_EQ(answer.kind, "runtime");
  EXPECT_TRUE(answer.message.starts_with("the candidate called sys.exit(0)")) << answer.message;
  answer = called("import os\ndef run(x, factor):\n    os._exit(0)\n");
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
  start("", true);
  ASSERT_TRUE(write_file(folder_->path() / "beside.py", "FACTOR = 5\n").ok());
  auto first = folder_->path() / "entry.py";
  ASSERT_TRUE(write_file(first,
                         "import dataclasses, sys\nimport beside\n"
                         "@dataclasses.dataclass\nclass D:\n    v: 'int' = beside.FACTOR\n"
                         "assert __name__ in sys.modules\n"
                         "def run(x, factor, y):\n    y.copy_(x * D().v)\n")
                  .ok());
  worker_.emplace(std::vector<std::string>{SOLMARK_PYTHON, "-m", "solmark.worker", "--channel", "3",
                                           "--library", SOLMARK_WORKER_LIBRARY});
  ASSERT_EQ(worker().hello().kind, "ok");
  auto answer = worker().load("python_file", first.string(), "run");
  ASSERT_EQ(answer.kind, "ok") << answer.message;
  ASSERT_EQ(worker().bind().kind, "ok");
  worker().x(0)[3] = 2.0F;
  ASSERT_EQ(worker().call(0).kind, "ok");
  EXPECT_EQ(worker().y(0)[3], 10.0F);
}

}  // namespace
}  // namespace solmark::worker
