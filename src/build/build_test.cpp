#include "build/build.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/process.h"
#include "build/cache.h"
#include "build/recipe.h"
#include "build/run_steps.h"
#include "build/stage.h"
#include "build/toolchain.h"

namespace solmark::build {
namespace {

namespace fs = std::filesystem;
using problem::Binding;
using problem::Language;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class Build : public testing::Test {
 protected:
  Build() : home(TemporaryFolder::create("solmark-build-test").value()) {
    request.cache_folder = home.path() / "cache";
    request.python = SOLMARK_PYTHON;
    request.python_root = fs::path(SOLMARK_SOURCE_DIR) / "python";
    auto& solution = request.solution;
    solution.name = "test";
    solution.languages = {Language::kCpp};
    solution.binding = Binding::kDlpack;
    solution.entry_file = "kernel.cpp";
    solution.entry_function = "entry";
    solution.sources = {{"kernel.cpp", "extern \"C\" int entry() { return 41; }\n"}};
  }
  BuildOutcome built() {
    auto outcome = build(request);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text());
    return outcome.ok() ? *outcome : BuildOutcome{};
  }
  std::string error() {
    auto outcome = build(request);
    return outcome.ok() ? "no error" : outcome.error().text();
  }
  // What the entry of a built object returns.
  static int run(const Artefact& artefact) {
    void* object = dlopen(artefact.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (object == nullptr) {
      ADD_FAILURE() << dlerror();
      return -1;
    }
    void* symbol = dlsym(object, artefact.entry.c_str());
    auto* entry = reinterpret_cast<int (*)()>(symbol);
    int out = entry == nullptr ? -2 : entry();
    dlclose(object);
    return out;
  }
  void source(const std::string& path, const std::string& content) {
    for (auto& there : request.solution.sources) {
      if (there.path == path) {
        there.content = content;
        return;
      }
    }
    request.solution.sources.push_back({path, content});
  }
  std::string script(const std::string& name, const std::string& body) {
    fs::path file = home.path() / name;
    EXPECT_TRUE(write_file(file, "#!/bin/sh\n" + body).ok());
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
  std::size_t workspaces() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(request.cache_folder)) {
      count += entry.path().filename().string().starts_with("tmp-") ? 1U : 0U;
    }
    return count;
  }

  TemporaryFolder home;
  BuildRequest request;
};

TEST_F(Build, MakesASharedObjectAndFindsItAgain) {
  auto first = built();
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_FALSE(first.artefact.from_cache);
  EXPECT_EQ(first.artefact.kind, ArtefactKind::kSharedObject);
  EXPECT_EQ(run(first.artefact), 41);
  auto second = built();
  EXPECT_TRUE(second.artefact.from_cache);
  EXPECT_EQ(second.artefact.path, first.artefact.path);
  EXPECT_EQ(workspaces(), 0U);
}

TEST_F(Build, SourcesInSubFoldersAndTheHeadersOfSolmark) {
  source("kernel.cpp",
         "#include <solmark/call.h>\n#include \"src/half.h\"\nint helper(); \n"
         "extern \"C\" int entry() { return helper() + kHalf + SOLMARK_CALL_VERSION; }\n");
  source("src/half.h", "constexpr int kHalf = 21;\n");
  source("src/deep/helper.cc", "#include \"../half.h\"\nint helper() { return kHalf; }\n");
  source("src/deep/same/kernel.cpp", "int other() { return 0; }\n");  // the same file name twice
  auto outcome = built();
  ASSERT_TRUE(outcome.ok) << outcome.log;
  EXPECT_EQ(run(outcome.artefact), 43);
}

TEST_F(Build, WhatDoesNotCompileIsDataWithTheCompilersWords) {
  source("kernel.cpp", "extern \"C\" int entry() { return undeclared_thing; }\n");
  auto outcome = built();
  EXPECT_FALSE(outcome.ok);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_THAT(outcome.log, HasSubstr("kernel.cpp:1"));
  EXPECT_THAT(outcome.log, HasSubstr("undeclared_thing"));
  EXPECT_THAT(outcome.log, Not(HasSubstr(home.path().string() + "/cache/tmp-")));
  EXPECT_EQ(workspaces(), 0U);
}

TEST_F(Build, WhatDoesNotLinkIsData) {
  request.solution.compile_options = problem::CompileOptions{{}, {}, {"-lno_such_library_anywhere"}};
  auto outcome = built();
  EXPECT_FALSE(outcome.ok);
  EXPECT_THAT(outcome.log, HasSubstr("no_such_library_anywhere"));
}

TEST_F(Build, LogIsBounded) {
  request.log_limit = 4096;
  source("kernel.cpp",
         "#define A int x = y;\n#define B A A A A A A A A A A\n#define C B B B B B B B B B B\n"
         "void f() { C C C }\nextern \"C\" int entry() { return 0; }\n");
  auto outcome = built();
  EXPECT_FALSE(outcome.ok);
  EXPECT_THAT(outcome.log, HasSubstr("bytes left out"));
  EXPECT_LT(outcome.log.size(), 4096U + 200);
}

TEST_F(Build, CompilerThatSpinsIsStoppedWithItsWholeGroup) {
  // Answers --version like a compiler, and otherwise starts a helper that would outlive it.
  request.cxx = script("slow-g++",
                       "[ \"$1\" = --version ] && { echo slow 1.0; exit 0; }\n[ \"$1\" = -march=native ] && "
                       "exit 0\nsleep 300 & echo $! > \"" +
                           (home.path() / "helper").string() + "\"\necho working hard\nwait\n");
  request.time_limit = std::chrono::milliseconds(700);
  auto outcome = built();
  EXPECT_FALSE(outcome.ok);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_LT(outcome.seconds, 20);
  EXPECT_THAT(outcome.log, HasSubstr("working hard"));
  EXPECT_THAT(outcome.log, HasSubstr("time limit"));
  auto pid = read_file(home.path() / "helper");
  ASSERT_TRUE(pid.ok());
  // A killed process may be a zombie for a moment.
  bool gone = false;
  for (int i = 0; i < 100 && !gone; ++i) {
    auto state = read_file("/proc/" + std::to_string(std::stoi(*pid)) + "/stat");
    gone = !state.ok() || state->find(") Z ") != std::string::npos;
    if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(gone);
  EXPECT_EQ(workspaces(), 0U);
}

TEST_F(Build, TemplateThatNeverEndsIsStopped) {
  source("kernel.cpp",
         "template <int N> struct F { static constexpr unsigned long v = F<N-1>::v + F<N-2>::v * N; };\n"
         "constexpr unsigned long spin() { unsigned long x = 1; for (unsigned long i = 0; i < ~0ul; ++i) x = "
         "x * 7 + i; "
         "return x; }\n"
         "static_assert(spin() != 3);\nextern \"C\" int entry() { return 0; }\n");
  request.solution.compile_options = problem::CompileOptions{
      {"-fconstexpr-loop-limit=2147483647", "-fconstexpr-ops-limit=100000000000"}, {}, {}};
  request.time_limit = std::chrono::milliseconds(1500);
  auto outcome = built();
  EXPECT_FALSE(outcome.ok);
  EXPECT_TRUE(outcome.timed_out) << outcome.log;
}

TEST_F(Build, CacheMissesWhenASourceAFlagOrAHeaderChanges) {
  fs::path headers = home.path() / "headers";
  fs::create_directories(headers);
  ASSERT_TRUE(write_file(headers / "answer.h", "#define ANSWER 1\n").ok());
  source("kernel.cpp", "#include <answer.h>\nextern \"C\" int entry() { return ANSWER; }\n");
  request.solution.compile_options = problem::CompileOptions{{"-I" + headers.string()}, {}, {}};
  EXPECT_EQ(run(built().artefact), 1);
  EXPECT_TRUE(built().artefact.from_cache);

  ASSERT_TRUE(write_file(headers / "answer.h", "#define ANSWER 2\n").ok());
  auto changed = built();
  EXPECT_FALSE(changed.artefact.from_cache);
  EXPECT_EQ(run(changed.artefact), 2);
  // The old contents are a hit again: both builds are kept.
  ASSERT_TRUE(write_file(headers / "answer.h", "#define ANSWER 1\n").ok());
  auto back = built();
  EXPECT_TRUE(back.artefact.from_cache);
  EXPECT_EQ(run(back.artefact), 1);

  request.solution.compile_options->cflags.emplace_back("-DUNUSED");
  EXPECT_FALSE(built().artefact.from_cache);
  source("kernel.cpp", "extern \"C\" int entry() { return 5; }\n");
  EXPECT_FALSE(built().artefact.from_cache);
  source("notes.txt", "not compiled, but part of the solution: it may be included\n");
  EXPECT_FALSE(built().artefact.from_cache);
}

TEST_F(Build, CacheMissesWhenTheCompilerChanges) {
  std::string body = "[ \"$1\" = --version ] && { echo mine $(cat " + (home.path() / "version").string() +
                     "); exit 0; }\nexec g++ \"$@\"\n";
  request.cxx = script("my-g++", body);
  ASSERT_TRUE(write_file(home.path() / "version", "1").ok());
  EXPECT_FALSE(built().artefact.from_cache);
  EXPECT_TRUE(built().artefact.from_cache);
  ASSERT_TRUE(write_file(home.path() / "version", "2").ok());
  EXPECT_FALSE(built().artefact.from_cache);
}

TEST_F(Build, DamagedCacheEntriesAreBuiltAnew) {
  auto first = built();
  ASSERT_TRUE(write_file(first.artefact.path, "rubbish").ok());
  auto second = built();
  ASSERT_TRUE(second.ok) << second.log;
  EXPECT_FALSE(second.artefact.from_cache);
  EXPECT_EQ(run(second.artefact), 41);
  ASSERT_TRUE(write_file(second.artefact.folder / "manifest.json", "{").ok());
  auto third = built();
  EXPECT_FALSE(third.artefact.from_cache);
  EXPECT_EQ(run(third.artefact), 41);
  EXPECT_TRUE(built().artefact.from_cache);
}

TEST_F(Build, ConcurrentBuildsOfOneSolutionAllSucceed) {
  std::vector<BuildOutcome> outcomes(3);
  {
    std::vector<std::jthread> threads;
    for (auto& outcome : outcomes) {
      threads.emplace_back([&] {
        auto result = build(request);
        if (result.ok()) outcome = *result;
      });
    }
  }
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome.ok) << outcome.log;
    EXPECT_EQ(outcome.artefact.path, outcomes[0].artefact.path);
    EXPECT_EQ(run(outcome.artefact), 41);
  }
  EXPECT_EQ(workspaces(), 0U);
}

TEST_F(Build, FileThatNeverEndsDoesNotHarmTheCache) {
  source("kernel.cpp", "#include \"/dev/null\"\nextern \"C\" int entry() { return 6; }\n");
  auto first = built();
  ASSERT_TRUE(first.ok) << first.log;
  // What is no regular file has no contents to compare: built every time.
  EXPECT_FALSE(built().artefact.from_cache);
}

TEST_F(Build, PathsThatEscapeAreErrors) {
  for (const char* path : {"../evil.cpp", "/tmp/evil.cpp", "src/../../evil.cpp", ""}) {
    auto keep = request.solution.sources;
    request.solution.sources.push_back({path, "int x;\n"});
    EXPECT_THAT(error(), HasSubstr("does not stay inside")) << path;
    request.solution.sources = keep;
  }
  EXPECT_FALSE(fs::exists(request.cache_folder / "evil.cpp"));
}

TEST_F(Build, SourcesThatExcludeEachOtherAreErrors) {
  source("a", "");
  source("a/b.cpp", "");
  EXPECT_THAT(error(), HasSubstr("lies below another source"));
  request.solution.sources = {{"kernel.cpp", ""}, {"./kernel.cpp", ""}};
  EXPECT_THAT(error(), HasSubstr("is there twice"));
  request.solution.sources = {{"other.cpp", ""}};
  EXPECT_THAT(error(), HasSubstr("is not among the sources"));
  request.solution.sources = {{"kernel.h", ""}};
  request.solution.entry_file = "kernel.h";
  EXPECT_THAT(error(), HasSubstr("no source to compile"));
}

TEST_F(Build, MissingCompilerIsAnErrorWithAMend) {
  request.cxx = "no-such-compiler-anywhere";
  EXPECT_THAT(error(), HasSubstr("`no-such-compiler-anywhere` is not there; install g++"));
}

TEST_F(Build, GpuSourcesOnTheCpuAreErrors) {
  request.solution.languages = {Language::kCudaCpp};
  EXPECT_THAT(error(), HasSubstr("is for NVIDIA GPUs"));
  request.solution.languages = {Language::kCpp};
  source("extra.cu", "");
  EXPECT_THAT(error(), HasSubstr("`extra.cu` needs nvcc"));
}

TEST_F(Build, TheCudaDriverIsLinkedOnACudaDeviceOnly) {
  request.solution.languages = {Language::kCpp};
  request.solution.compile_options = problem::CompileOptions{{}, {}, {"-lcuda", "-lm"}};
  EXPECT_THAT(given_options(request).ld_flags, ElementsAre("-lm"));
  auto outcome = built();
  EXPECT_TRUE(outcome.ok) << outcome.log;
  request.device_kind = "cuda";
  EXPECT_THAT(given_options(request).ld_flags, ElementsAre("-lcuda", "-lm"));
}

TEST_F(Build, EnvironmentOfCompilersHoldsNoSecrets) {
  setenv("SOLMARK_TEST_SECRET", "hunter2", 1);
  request.cxx = script("env-g++", "[ \"$1\" = --version ] && { echo 1; exit 0; }\nenv\nexit 1\n");
  auto outcome = built();
  unsetenv("SOLMARK_TEST_SECRET");
  EXPECT_THAT(outcome.log, HasSubstr("PATH="));
  EXPECT_THAT(outcome.log, Not(HasSubstr("hunter2")));
}

TEST_F(Build, PythonSourcesAreStagedAfreshAndRemovedWithTheArtefact) {
  request.solution.languages = {Language::kPytorch};
  request.solution.entry_file = "pkg/main.py";
  request.solution.sources = {{"pkg/main.py", "import beside\n"}, {"beside.py", "x = 1\n"}};
  fs::path folder;
  {
    auto outcome = built();
    ASSERT_TRUE(outcome.ok);
    EXPECT_EQ(outcome.artefact.kind, ArtefactKind::kPythonFile);
    folder = outcome.artefact.folder;
    EXPECT_EQ(outcome.artefact.path, folder / "pkg/main.py");
    EXPECT_EQ(*read_file(folder / "beside.py"), "x = 1\n");
    auto other = built();
    EXPECT_NE(other.artefact.folder, folder);
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST(Depfile, Words) {
  EXPECT_THAT(parse_depfile("a.o: k.cpp \\\n  /usr/include/a\\ b.h \\\n /x/$$y.h /z\\#.h\n"),
              ElementsAre("k.cpp", "/usr/include/a b.h", "/x/$y.h", "/z#.h"));
  EXPECT_THAT(parse_depfile("a.o : k.cpp\\\r\n h.h"), ElementsAre("k.cpp", "h.h"));
  EXPECT_TRUE(parse_depfile("").empty());
}

class GpuRecipe : public Build {
 protected:
  GpuRecipe() {
    request.device_kind = "cuda";
    request.compute_capability = 90;
    request.solution.languages = {Language::kCudaCpp};
    source("kernel.cpp", "");
    source("src/kernel.cu", "");
    tools.cxx.path = "/usr/bin/g++";
    tools.nvcc.path = "/cuda/bin/nvcc";
    tools.cuda_include = "/cuda/include";
    tools.cuda_lib = "/cuda/lib64";
  }
  Recipe recipe() { return shared_object_recipe(request, tools, "/headers").value(); }
  Toolchain tools;
};

TEST_F(GpuRecipe, CommandsForTheDlpackBinding) {
  Recipe made = recipe();
  ASSERT_EQ(made.compile.size(), 2U);
  EXPECT_THAT(made.compile[0],
              IsSupersetOf({"/usr/bin/g++", "-fPIC", "-std=c++20", "-O3", "-I/headers", "-I/cuda/include"}));
  EXPECT_THAT(made.compile[1],
              IsSupersetOf({"/cuda/bin/nvcc", "-std=c++17", "-O3", "-arch=sm_90a", "-I.", "src/kernel.cu"}));
  EXPECT_THAT(made.link, IsSupersetOf({"/cuda/bin/nvcc", "-shared", "--cudart=shared", "-L/cuda/lib64"}));
  EXPECT_THAT(made.link, Not(Contains("-lcublas")));
}

TEST_F(GpuRecipe, UsersFlagsWinOverDefaults) {
  request.solution.compile_options = problem::CompileOptions{
      {"-O1"}, {"--std=c++20", "-gencode=arch=compute_80,code=sm_80"}, {"-Wl,-z,now"}};
  Recipe made = recipe();
  EXPECT_THAT(made.compile[0], Contains("-O1"));
  EXPECT_THAT(made.compile[0], Not(Contains("-O3")));
  EXPECT_THAT(made.compile[1], IsSupersetOf({"-O3", "--std=c++20", "-gencode=arch=compute_80,code=sm_80"}));
  EXPECT_THAT(made.compile[1], Not(Contains("-std=c++17")));
  EXPECT_THAT(made.compile[1], Not(Contains("-arch=sm_90a")));
  EXPECT_EQ(made.link.back(), "-z,now");
  EXPECT_EQ(*(made.link.end() - 2), "-Xlinker");
}

TEST_F(GpuRecipe, ArchitectureOfTheDevice) {
  EXPECT_THAT(arch_flags(request, {}), ElementsAre("-arch=sm_90a"));
  request.compute_capability = 80;
  EXPECT_THAT(arch_flags(request, {"-O3"}), ElementsAre("-arch=sm_80"));
  EXPECT_THAT(arch_flags(request, {"-arch=native"}), ElementsAre());
}

TEST_F(GpuRecipe, LibrariesAndFoldersOfTheLanguages) {
  request.solution.languages = {Language::kCutlass, Language::kCublas, Language::kCudnn};
  request.solution.sources = {{"kernel.cpp", ""}};
  tools.environment = {{"CUTLASS_DIR", "/cutlass"}, {"CUDNN_HOME", "/cudnn"}};
  Recipe made = recipe();
  EXPECT_THAT(made.compile[0],
              IsSupersetOf({"-I/cutlass/include", "-I/cutlass/tools/util/include", "-I/cudnn/include"}));
  EXPECT_THAT(made.link, IsSupersetOf({"/usr/bin/g++", "-lcublas", "-lcublasLt", "-lcudnn", "-L/cudnn/lib",
                                       "-lcudart"}));
}

TEST_F(GpuRecipe, RealCompilersAcceptTheCommands) {
  if (!find_toolchain(request, true).ok()) GTEST_SKIP() << "no nvcc";
  request.solution.sources = {
      {"src/kernel.cu",
       "#include <solmark/call.h>\n#include \"scale.h\"\n__global__ void k(float* y) { y[threadIdx.x] *= "
       "kScale; }\n"
       "extern \"C\" int entry(const DLTensor* const*, DLTensor* const* y, const solmark_call* c) {\n"
       "  k<<<1, 32, 0, static_cast<cudaStream_t>(c->stream)>>>(static_cast<float*>(y[0]->data));\n"
       "  return helper() + static_cast<int>(cudaGetLastError());\n}\n"},
      {"src/scale.h", "constexpr float kScale = 2;\nint helper();\n"},
      {"kernel.cpp",
       "#include <cuda_runtime.h>\n#include \"src/scale.h\"\nint helper() { return cudaSuccess; }\n"}};
  request.solution.compile_options =
      problem::CompileOptions{{"-Wall"}, {"-O3", "--use_fast_math"}, {"-lcuda", "-Wl,-z,now"}};
  auto outcome = built();
  ASSERT_TRUE(outcome.ok) << outcome.log;
  EXPECT_THAT(outcome.log, Not(HasSubstr("warning")));
  std::string dynamic =
      ask_program({"readelf", "-d", outcome.artefact.path.string()}, current_environment()).value();
  EXPECT_THAT(dynamic, HasSubstr("libcudart.so"));
  EXPECT_THAT(dynamic, HasSubstr("BIND_NOW"));
  EXPECT_TRUE(built().artefact.from_cache);
}

TEST_F(GpuRecipe, TargetIsPartOfTheKey) {
  auto key = [&] {
    BuildCache cache(home.path() / "keys", request.solution, recipe());
    fs::path workspace = cache.make_workspace().value();
    EXPECT_TRUE(write_file(workspace / "out" / "benchmark_kernel.so", "object").ok());
    return cache.publish(workspace, "").value().parent_path().parent_path();
  };
  auto first = key();
  EXPECT_EQ(key(), first);
  request.compute_capability = 100;
  EXPECT_NE(key(), first);
}

TEST(Steps, LaterGroupsDoNotRunAfterAFailure) {
  std::vector<std::vector<std::string>> commands(200, {"/bin/sh", "-c", "exit 3"});
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  auto result = run_steps(commands, "/", {}, end, 1 << 16);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->ok);
  EXPECT_THAT(result->log, HasSubstr("exited with code 3"));
  std::size_t ran = 0;
  for (std::size_t at = 0; (at = result->log.find("$ /bin/sh", at)) != std::string::npos; ++at) ++ran;
  EXPECT_LE(ran, std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace solmark::build
