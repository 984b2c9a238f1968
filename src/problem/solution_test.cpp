#include "problem/solution.h"

#include <gmock/gmock.h>

#include "problem/problem_fixture.h"

namespace solmark::problem {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string error_with(const std::string& pointer, const Json& value) {
  return bad_input(decode_s(with(solution_json(), pointer, value)));
}
Solution one(const Json& j) {
  auto loaded = decode_s(j);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().text());
  return loaded.ok() ? loaded->solution : Solution{};
}
Json python_json() {
  Json j = with(solution_json(), "/sources/0/path", "kernel.py");
  j["spec"]["entry_point"] = "kernel.py::run";
  j["spec"]["languages"] = {"triton"};
  return j;
}

TEST(Solution, ReadsEveryField) {
  Json j = solution_json();
  j["description"] = "text";
  j["spec"]["dependencies"] = {"cutlass"};
  j["spec"]["destination_passing_style"] = false;
  j["spec"]["binding"] = "dlpack";
  j["spec"]["compile_options"] = {{"cflags", {"-g"}}, {"cuda_cflags", {"-lineinfo"}}, {"ld_flags", {"-lm"}}};
  auto loaded = decode_s(j);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_THAT(loaded->warnings, IsEmpty());
  const Solution& s = loaded->solution;
  EXPECT_EQ(s.name, "mine");
  EXPECT_EQ(s.definition, "rms_norm");
  EXPECT_EQ(s.author, "me");
  EXPECT_EQ(s.description, "text");
  EXPECT_THAT(s.languages, ElementsAre(Language::kCudaCpp));
  EXPECT_THAT(s.target_hardware, ElementsAre("LOCAL"));
  EXPECT_EQ(s.entry_file, "kernel.cu");
  EXPECT_EQ(s.entry_function, "launch");
  EXPECT_THAT(s.dependencies, ElementsAre("cutlass"));
  EXPECT_FALSE(s.destination_passing_style);
  EXPECT_EQ(s.binding, Binding::kDlpack);
  EXPECT_THAT(s.compile_options->cflags, ElementsAre("-g"));
  EXPECT_THAT(s.compile_options->cuda_cflags, ElementsAre("-lineinfo"));
  EXPECT_THAT(s.compile_options->ld_flags, ElementsAre("-lm"));
  EXPECT_EQ(s.sources.at(0).content, "// code");
  EXPECT_FALSE(s.is_python());
}

TEST(Solution, DefaultsAreSolExecBenchs) {
  Solution s = one(solution_json());
  EXPECT_TRUE(s.destination_passing_style);
  EXPECT_EQ(s.binding, Binding::kTorch);
  EXPECT_EQ(s.compile_options, std::nullopt);  // absent: no flags at all
  s = one(with(solution_json(), "/spec/compile_options", Json::object()));
  EXPECT_THAT(s.compile_options->cflags, IsEmpty());
  EXPECT_THAT(s.compile_options->cuda_cflags, ElementsAre("-O3", "--use_fast_math"));
  EXPECT_THAT(s.compile_options->ld_flags, ElementsAre("-lcuda"));
}

TEST(Solution, LanguagesAndTheirGroups) {
  const std::vector<std::pair<const char*, Language>> python = {
      {"pytorch", Language::kPytorch},  {"triton", Language::kTriton},
      {"cute_dsl", Language::kCuteDsl}, {"cutile", Language::kCutile},
      {"python", Language::kPython},    {"cudnn_frontend", Language::kCudnnFrontend}};
  for (const auto& [name, language] : python) {
    Solution s = one(with(python_json(), "/spec/languages", {name}));
    EXPECT_THAT(s.languages, ElementsAre(language));
    EXPECT_TRUE(s.is_python()) << name;
  }
  const std::vector<std::pair<const char*, Language>> native = {
      {"cutlass", Language::kCutlass},  {"cudnn", Language::kCudnn},  {"cublas", Language::kCublas},
      {"cuda_cpp", Language::kCudaCpp}, {"cuda", Language::kCudaCpp}, {"cpp", Language::kCpp}};
  for (const auto& [name, language] : native) {
    Solution s = one(with(solution_json(), "/spec/languages", {name}));
    EXPECT_THAT(s.languages, ElementsAre(language));
    EXPECT_FALSE(s.is_python()) << name;
  }
  EXPECT_THAT(one(with(solution_json(), "/spec/languages", {"cuda", "cutlass", "cuda_cpp"})).languages,
              ElementsAre(Language::kCudaCpp, Language::kCutlass));
  EXPECT_THAT(
      error_with("/spec/languages", {"cuda_cpp", "triton"}),
      HasSubstr("(/spec/languages/1): \"triton\" cannot be mixed with the languages before it; use Python"));
  EXPECT_THAT(error_with("/spec/languages", {"tritn"}),
              HasSubstr("unknown language \"tritn\"; did you mean \"triton\"?"));
  EXPECT_THAT(error_with("/spec/languages", Json::array()), HasSubstr("no language"));
  EXPECT_THAT(error_with("/spec/languages", "cuda"), HasSubstr("must be a list, not a string"));
}

TEST(Solution, FlashInfersLanguageStringIsRead) {
  Json j = without(solution_json(), "/spec", "languages");
  EXPECT_THAT(bad_input(decode_s(j)), HasSubstr("(/spec): key \"languages\" is missing"));
  j["spec"]["language"] = "cuda";
  EXPECT_THAT(one(j).languages, ElementsAre(Language::kCudaCpp));
  j["spec"]["languages"] = {"cutlass", "cuda_cpp"};
  EXPECT_THAT(one(j).languages, ElementsAre(Language::kCutlass, Language::kCudaCpp));
  j["spec"]["languages"] = {"cutlass"};
  EXPECT_THAT(bad_input(decode_s(j)), HasSubstr("\"language\" is not among \"languages\""));
}

TEST(Solution, AnyHardwareIsAccepted) {
  for (const Json& list :
       {Json{"local"}, Json{"LOCAL"}, Json{"B200"}, Json{"H100", "anything"}, Json::array()}) {
    auto loaded = decode_s(with(solution_json(), "/spec/target_hardware", list));
    ASSERT_TRUE(loaded.ok()) << list;
    EXPECT_THAT(loaded->warnings, IsEmpty());
  }
  EXPECT_TRUE(decode_s(without(solution_json(), "/spec", "target_hardware")).ok());
  EXPECT_THAT(error_with("/spec/target_hardware", {1}),
              HasSubstr("(/spec/target_hardware/0): must be a string"));
}

TEST(Solution, BindingsAreChecked) {
  EXPECT_EQ(one(with(solution_json(), "/spec/binding", "torch")).binding, Binding::kTorch);
  EXPECT_EQ(one(with(solution_json(), "/spec/binding", nullptr)).binding, Binding::kTorch);
  EXPECT_THAT(
      error_with("/spec/binding", "tvm-ffi"),
      HasSubstr("(/spec/binding): binding \"tvm-ffi\" is not supported yet; use \"torch\" or \"dlpack\""));
  EXPECT_THAT(error_with("/spec/binding", "tvm_ffi"), HasSubstr("is not supported yet"));
  EXPECT_THAT(error_with("/spec/binding", "dlpak"),
              HasSubstr("unknown binding \"dlpak\"; did you mean \"dlpack\"?"));
  EXPECT_TRUE(decode_s(with(python_json(), "/spec/binding", "torch"))->warnings.empty());
  auto loaded = decode_s(with(python_json(), "/spec/binding", "tvm-ffi"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("has no effect on Python languages")));
}

TEST(Solution, TheEntryPointIsAmongTheSources) {
  EXPECT_THAT(error_with("/spec/entry_point", "kernel.cu"), HasSubstr("must hold exactly one \"::\"; write"));
  EXPECT_THAT(error_with("/spec/entry_point", "kernel.cu::a::b"), HasSubstr("must hold exactly one \"::\""));
  EXPECT_THAT(error_with("/spec/entry_point", "kernel.cu::"), HasSubstr("\"\" is not a function name"));
  EXPECT_THAT(error_with("/spec/entry_point", "kernel.cu::a b"), HasSubstr("\"a b\" is not a function name"));
  EXPECT_THAT(error_with("/spec/entry_point", "kernels.cu::launch"),
              HasSubstr("entry file \"kernels.cu\" is not among the sources; did you mean \"kernel.cu\"?"));
  EXPECT_EQ(one(with(solution_json(), "/spec/entry_point", "./kernel.cu::launch")).entry_file, "kernel.cu");
}

TEST(Solution, TheEntryFileFitsTheLanguages) {
  for (const char* extension : {".cu", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cuh"}) {
    for (const char* language : {"cpp", "cuda_cpp"}) {
      Json j = with(solution_json(), "/sources/0/path", std::string("k") + extension);
      j["spec"]["entry_point"] = std::string("k") + extension + "::f";
      j["spec"]["languages"] = {language};
      EXPECT_TRUE(decode_s(j).ok()) << extension;
    }
  }
  EXPECT_THAT(bad_input(decode_s(with(python_json(), "/spec/languages", {"cpp"}))),
              HasSubstr("entry file \"kernel.py\" does not fit the languages; C++ languages need .cu"));
  EXPECT_THAT(
      error_with("/spec/languages", {"triton"}),
      HasSubstr("entry file \"kernel.cu\" does not fit the languages; Python languages need a .py file"));
}

TEST(Solution, SourcePathsAreContainedAndUnique) {
  for (const char* path : {"/etc/passwd", "../a.cu", "a/../../b.cu"}) {
    EXPECT_THAT(error_with("/sources/0/path", path), HasSubstr("is not inside the solution")) << path;
  }
  EXPECT_THAT(error_with("/sources/0/path", ""), HasSubstr("must not be empty"));
  EXPECT_THAT(error_with("/sources/0/path", "src/"), HasSubstr("names no file"));
  EXPECT_THAT(error_with("/sources/0/path", "."), HasSubstr("names no file"));
  EXPECT_THAT(error_with("/sources", Json::array()), HasSubstr("(/sources): no sources"));
  Json j = solution_json();
  j["sources"].push_back({{"path", "./kernel.cu"}, {"content", "x"}});
  EXPECT_THAT(bad_input(decode_s(j)), HasSubstr("(/sources/1): source \"kernel.cu\" is there twice"));
  j["sources"][1]["path"] = "kernel.cu/a.h";
  EXPECT_THAT(bad_input(decode_s(j)), HasSubstr("one is a folder of the other"));
  j["sources"][1]["path"] = "kernel.cuh";
  EXPECT_TRUE(decode_s(j).ok());
  EXPECT_THAT(error_with("/sources/0/content", 1),
              HasSubstr("(/sources/0/content): must be a string, not 1"));
}

TEST(Solution, EmptySourcesAreReadFromBesideTheJson) {
  auto folder = TemporaryFolder::create("solution").value();
  put(folder.path() / "outside.cu", "secret");
  fs::path home = folder.path() / "home";
  put(home / "kernel.cu", "from disk");
  fs::path file = put(home / "solution.json", with(solution_json(), "/sources/0/content", "").dump());
  auto loaded = load_solution(file);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(loaded->solution.sources[0].content, "from disk");
  EXPECT_EQ(loaded->solution.file, file);
  put(file, without(solution_json(), "/sources/0", "content").dump());
  EXPECT_EQ(load_solution(file)->solution.sources[0].content, "from disk");
  fs::remove(home / "kernel.cu");
  EXPECT_THAT(bad_input(load_solution(file)),
              HasSubstr("source \"kernel.cu\" has no content and is not beside"));
  fs::create_symlink(folder.path() / "outside.cu", home / "kernel.cu");
  EXPECT_THAT(bad_input(load_solution(file)), HasSubstr("is a link out of the solution's folder"));
  EXPECT_THAT(bad_input(decode_solution(with(solution_json(), "/sources/0/content", "").dump(), "s.json",
                                        folder.path() / "nowhere")),
              HasSubstr("there is no folder to read it from"));
}

TEST(Solution, MissingAndUnknownKeys) {
  for (const char* key : {"name", "definition", "author", "spec", "sources"}) {
    EXPECT_THAT(bad_input(decode_s(without(solution_json(), "", key))),
                HasSubstr(std::string("key \"") + key + "\" is missing"));
  }
  EXPECT_THAT(bad_input(decode_s(without(solution_json(), "/spec", "entry_point"))),
              HasSubstr("\"entry_point\" is missing"));
  EXPECT_TRUE(decode_s(with(solution_json(), "/author", "")).ok());
  Json j = with(solution_json(), "/spec/destination_passing", false);
  j["spec"]["compile_options"] = {{"cuda_flags", {"-g"}}};
  auto loaded = decode_s(j);
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(
      loaded->warnings,
      ElementsAre(HasSubstr("(/spec/destination_passing): unknown key \"destination_passing\" of a spec"),
                  HasSubstr("unknown key \"cuda_flags\" of compile options is ignored; did you mean "
                            "\"cuda_cflags\"?")));
}

TEST(Config, ReadsEveryKeyAndItsDefault) {
  auto folder = TemporaryFolder::create("config").value();
  fs::path file = folder.path() / "config.json";
  auto load = [&file](const Json& j) { return load_config(put(file, j.dump())); };
  auto plain = load(Json::object());
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->warmup_runs, 10);
  EXPECT_EQ(plain->iterations, 50);
  EXPECT_FALSE(plain->lock_clocks);
  EXPECT_TRUE(plain->benchmark_reference);
  EXPECT_EQ(plain->seed, 200U);
  auto full = load({{"warmup_runs", 0},
                    {"iterations", 1},
                    {"lock_clocks", true},
                    {"benchmark_reference", false},
                    {"seed", 7}});
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->warmup_runs, 0);
  EXPECT_EQ(full->iterations, 1);
  EXPECT_TRUE(full->lock_clocks);
  EXPECT_FALSE(full->benchmark_reference);
  EXPECT_EQ(full->seed, 7U);
  EXPECT_THAT(bad_input(load({{"iterations", 0}})), HasSubstr("(/iterations): must be at least 1: 0"));
  EXPECT_THAT(bad_input(load({{"warmup_runs", -1}})), HasSubstr("must not be negative: -1"));
  EXPECT_THAT(bad_input(load({{"iterations", 5000000000}})), HasSubstr("must be at most 1000000"));
  EXPECT_THAT(bad_input(load({{"seed", -1}})), HasSubstr("must not be negative"));
  EXPECT_THAT(bad_input(load({{"lock_clocks", 1}})), HasSubstr("must be true or false, not 1"));
  EXPECT_THAT(load({{"iteration", 3}})->warnings,
              ElementsAre(HasSubstr(
                  "unknown key \"iteration\" of a config is ignored; did you mean \"iterations\"?")));
}

class FindProblem : public testing::Test {
 protected:
  TemporaryFolder folder = TemporaryFolder::create("find").value();
  fs::path root = fs::canonical(folder.path());
};

TEST_F(FindProblem, TakesAFolderOrADefinitionFile) {
  put(root / "p" / "definition.json", "{}");
  EXPECT_THAT(bad_input(find_problem(root / "p")), HasSubstr("the definition has no workloads: "));
  put(root / "p" / "workload.jsonl", "");
  for (const fs::path& name : {root / "p", root / "p" / "definition.json", root / "p" / ""}) {
    auto found = find_problem(name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_TRUE(fs::equivalent(found->definition, root / "p" / "definition.json"));
    EXPECT_TRUE(fs::equivalent(found->workload, root / "p" / "workload.jsonl"));
    EXPECT_EQ(found->config, std::nullopt);
    EXPECT_EQ(found->solution, std::nullopt);
    ASSERT_EQ(found->blob_roots.size(), 1U);
    EXPECT_TRUE(fs::equivalent(found->blob_roots[0], root / "p"));
  }
  put(root / "p" / "config.json", "{}");
  put(root / "p" / "solution.json", "{}");
  auto found = find_problem(root / "p");
  EXPECT_EQ(found->config, root / "p" / "config.json");
  EXPECT_EQ(found->solution, root / "p" / "solution.json");
}

TEST_F(FindProblem, TakesAFlashInferTraceTree) {
  fs::path definition = put(root / "t" / "definitions" / "norm" / "rms_norm.json", "{}");
  fs::path workload = put(root / "t" / "workloads" / "norm" / "rms_norm.jsonl", "");
  for (const fs::path& name : {definition, root / "t", root / "t" / "rms_norm"}) {
    auto found = find_problem(name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(found->definition, definition);
    EXPECT_EQ(found->workload, workload);
    EXPECT_THAT(found->blob_roots, ElementsAre(definition.parent_path(), root / "t"));
  }
  put(root / "t" / "definitions" / "gemm" / "gemm_n1.json", "{}");
  EXPECT_THAT(bad_input(find_problem(root / "t")),
              HasSubstr("a trace tree with 2 definitions; name one of them, for "
                        "example " +
                        (root / "t" / "gemm_n1").string()));
  EXPECT_EQ(find_problem(root / "t" / "rms_norm")->definition, definition);
  EXPECT_THAT(bad_input(find_problem(root / "t" / "gemm_n1")),
              HasSubstr("the definition has no workloads: "));
  EXPECT_THAT(bad_input(find_problem(root / "t" / "rms_nrm")),
              HasSubstr("no such problem; did you mean \"" + (root / "t" / "rms_norm").string() + "\"?"));
}

TEST_F(FindProblem, SaysWhatItWanted) {
  fs::create_directories(root / "empty");
  EXPECT_THAT(bad_input(find_problem(root / "empty")),
              HasSubstr("no definition.json in this folder; name a folder"));
  EXPECT_THAT(bad_input(find_problem(root / "emtpy")), HasSubstr("no such problem; did you mean"));
  put(root / "README.md", "");
  EXPECT_THAT(bad_input(find_problem(root / "README.md")), HasSubstr("not a definition file; name a folder"));
  EXPECT_THAT(bad_input(find_problem(root / "else" / "where")), HasSubstr("no such problem; name a folder"));
}

}  // namespace
}  // namespace solmark::problem
