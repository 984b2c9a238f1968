#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process.h"
#include "build/build.h"

namespace solmark::build {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Runs a program to its end; its output, after "exit N: " when it failed.
std::string output_of(const std::vector<std::string>& argv) {
  SpawnSpec spec;
  spec.argv = argv;
  spec.environment = current_environment();
  auto child = Child::spawn(spec);
  if (!child) return child.error().text();
  auto ended = child->wait(std::chrono::seconds(120));
  child->kill();
  if (!ended) return ended.error().text();
  return (ended->code == 0 && !ended->signalled ? "" : ended->text() + ": ") + child->output();
}

class TorchExtension : public testing::Test {
 protected:
  void SetUp() override {
    std::string found =
        output_of({SOLMARK_PYTHON, "-c", "import importlib.util as u; print(u.find_spec('torch'))"});
    if (found.find("ModuleSpec") == std::string::npos) GTEST_SKIP() << SOLMARK_PYTHON << " has no torch";
    home.emplace(TemporaryFolder::create("solmark-torch-extension").value());
    request.cache_folder = home->path() / "cache";
    request.python = SOLMARK_PYTHON;
    request.python_root = fs::path(SOLMARK_SOURCE_DIR) / "python";
    auto& solution = request.solution;
    solution.name = "test";
    solution.languages = {problem::Language::kCpp};
    solution.binding = problem::Binding::kTorch;
    solution.entry_file = "kernel.cpp";
    solution.entry_function = "run";
  }
  BuildOutcome built() {
    auto outcome = build(request);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text());
    return outcome.ok() ? *outcome : BuildOutcome{};
  }
  std::optional<TemporaryFolder> home;
  BuildRequest request;
};

TEST_F(TorchExtension, IsBuiltFromSubFoldersTooAndCachedByItsHeadersAndIsNotImported) {
  fs::path headers = home->path() / "headers";
  fs::create_directories(headers);
  fs::path trace = home->path() / "imported";
  ASSERT_TRUE(write_file(headers / "factor.h", "#define FACTOR 2\n").ok());
  // pybind11 alone, without torch's headers: a fraction of the time to compile, through the same machinery.
  request.solution.sources = {
      {"kernel.cpp",
       "#include <pybind11/pybind11.h>\n#include <factor.h>\n#include <cstdio>\nint helper(int);\n"
       "struct Trace { Trace() { std::fclose(std::fopen(\"" +
           trace.string() +
           "\", \"w\")); } } trace_of_loading;\n"
           "int run(int x) { return FACTOR * helper(x); }\n"
           "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"run\", &run); }\n"},
      {"src/helper.cpp", "int helper(int x) { return x + EXTRA; }\n"},
      {"lib/helper.cpp", "int same_name_elsewhere() { return 1; }\n"},
      {"torch.py", "raise SystemExit('ran while building')\n"}};
  request.solution.compile_options =
      problem::CompileOptions{{"-I" + headers.string(), "-DEXTRA=3", "-O0"}, {}, {}};
  auto first = built();
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_EQ(first.artefact.kind, ArtefactKind::kTorchExtension);
  EXPECT_EQ(first.artefact.path.filename(), "benchmark_kernel.so");
  EXPECT_FALSE(fs::exists(trace));
  std::string script =
      "import importlib.machinery as m, importlib.util as u, sys\n"
      "l = m.ExtensionFileLoader('benchmark_kernel', sys.argv[1])\n"
      "x = u.module_from_spec(u.spec_from_loader('benchmark_kernel', l)); l.exec_module(x); print('got', "
      "x.run(4))\n";
  // libtorch is linked: Python must have it loaded before.
  EXPECT_THAT(output_of({SOLMARK_PYTHON, "-c", "import torch\n" + script, first.artefact.path.string()}),
              HasSubstr("got 14"));
  EXPECT_TRUE(fs::exists(trace));

  EXPECT_TRUE(built().artefact.from_cache);
  ASSERT_TRUE(write_file(headers / "factor.h", "#define FACTOR 3\n").ok());
  EXPECT_FALSE(built().artefact.from_cache);
}

TEST_F(TorchExtension, CompilersWordsComeWithoutATraceback) {
  request.solution.sources = {{"kernel.cpp", "int run() { return undeclared_thing; }\n"}};
  auto outcome = built();
  EXPECT_FALSE(outcome.ok);
  EXPECT_THAT(outcome.log, HasSubstr("undeclared_thing"));
  EXPECT_THAT(outcome.log, testing::Not(HasSubstr("Traceback")));
}

TEST_F(TorchExtension, PythonWithoutTorchIsOurErrorNotTheCandidates) {
  request.solution.sources = {{"kernel.cpp", "int run() { return 0; }\n"}};
  fs::path python = home->path() / "python";
  ASSERT_TRUE(write_file(python, "#!/bin/sh\nexit 1\n").ok());
  fs::permissions(python, fs::perms::owner_all);
  request.python = python.string();
  auto outcome = build(request);
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().text(), HasSubstr("has no torch"));
}

}  // namespace
}  // namespace solmark::build
