#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"

namespace solmark {
namespace {
using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Json, KeepsOrderAndValues) {
  auto json = parse_json(R"({"b":1,"a":[1.5,true,null,"x"],"c":{"d":-2}})", "t");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(to_json_line(*json), R"({"b":1,"a":[1.5,true,null,"x"],"c":{"d":-2}})");
  EXPECT_EQ(to_canonical_json(*json), R"({"a":[1.5,true,null,"x"],"b":1,"c":{"d":-2}})");
}

TEST(Json, RejectsWhatHidesAValue) {
  EXPECT_THAT(parse_json(R"({"a":1,"b":{"a":2},"a":3})", "f.json").error().text(),
              HasSubstr("duplicate key \"a\""));
  EXPECT_TRUE(parse_json(R"({"a":{"x":1},"b":{"x":2}})", "f.json").ok());
  EXPECT_FALSE(parse_json(R"({"a":NaN})", "f.json").ok());
  EXPECT_FALSE(parse_json(R"({"a":1} x)", "f.json").ok());
  EXPECT_FALSE(parse_json("", "f.json").ok());
}

TEST(Json, ReadsAndWritesPythonsNumbersWhereAsked) {
  const std::string line =
      R"({"NaN":NaN,"a":["Infinity",Infinity,-Infinity,"\\",{},[],-1.5],"b":"x\"NaN\""})";
  auto json = parse_json(line, "f.json", kPythonJson);
  ASSERT_TRUE(json.ok()) << json.error().text();
  EXPECT_TRUE(std::isnan((*json)["NaN"].get<double>()));
  EXPECT_EQ((*json)["a"][0], "Infinity");
  EXPECT_EQ((*json)["a"][1].get<double>(), HUGE_VAL);
  EXPECT_EQ((*json)["a"][2].get<double>(), -HUGE_VAL);
  EXPECT_EQ(to_python_json_line(*json), line);
  EXPECT_THAT(to_json_line(*json), HasSubstr(R"("NaN":null)"));
  for (const char* bad :
       {"{NaN:1}", "NaNx", "--Infinity", "-NaN", "Infinity1", "\"NaN", "[1 NaN]", "infinity"})
    EXPECT_FALSE(parse_json(bad, "f.json", kPythonJson).ok()) << bad;
  // The place of an error is the one in the text as given.
  EXPECT_EQ(parse_json("[NaN,\n-Infinity,]", "f.json", kPythonJson).error().where, "f.json:2:11");
}

TEST(Json, NamesLineAndColumn) {
  auto bad = parse_json("{\n  \"a\": 1,\n  \"b\": ]\n}", "f.json");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().where, "f.json:3:8");
}

TEST(Json, NamesThePlaceOfWhatItsOwnRulesRefuse) {
  auto twice = parse_json("{\"a\": \"b\",\n \"c\": [{\"a\\\"\": 1}],\n   \"a\": 2}", "f.json");
  EXPECT_EQ(twice.error().where, "f.json:3:4");
  EXPECT_EQ(parse_json("{\"a\": 1, \"a\": 2}", "f.jsonl", {}, 7).error().where, "f.jsonl:7:10");
  EXPECT_EQ(parse_json("{\"x\": NaN,\n \"x\": 2}", "f.json", kPythonJson).error().where, "f.json:2:2");
  EXPECT_EQ(parse_json("{\"x\": 1,\n NaN: 2}", "f.json", kPythonJson).error().where, "f.json:2:2");
  auto deep = parse_json("{\"[{\": [1],\n  \"b\": [[]]}", "f.json", {1 << 10, 2});
  EXPECT_EQ(deep.error().where, "f.json:2:9");
  EXPECT_EQ(parse_json("\xef\xbb\xbf{\"a\": 1, \"a\": 2}", "f.json").error().where, "f.json:1:10");
}

TEST(Json, HoldsItsLimits) {
  std::string deep(70, '[');
  deep += std::string(70, ']');
  EXPECT_THAT(parse_json(deep, "f").error().text(), HasSubstr("nested more than 64 levels"));
  EXPECT_THAT(parse_json("[1,2,3]", "f", {4, 64}).error().text(), HasSubstr("more than the limit of 4"));
}

TEST(Json, LocatesPointers) {
  std::string text = "{\"a\": [1, {\"x/y\": 7}],\n \"b\": \"q\\\"]\",\n \"c\": 3}";
  EXPECT_EQ(locate_in_json(text, ""), "1:1");
  EXPECT_EQ(locate_in_json(text, "/a/1"), "1:11");
  EXPECT_EQ(locate_in_json(text, "/a/1/x~1y"), "1:19");
  EXPECT_EQ(locate_in_json(text, "/c"), "3:7");
  EXPECT_EQ(locate_in_json(text, "/c", 10), "12:7");
  EXPECT_EQ(locate_in_json(text, "/nope"), "");
  EXPECT_EQ(locate_in_json(R"({"a\u0062": 1, "\"": [2]})", "/ab"), "1:13");
  EXPECT_EQ(locate_in_json(R"({"a\u0062": 1, "\"": [2]})", "/\"/0"), "1:23");
  EXPECT_EQ(locate_in_json("\xef\xbb\xbf{\"a\": 1}", "/a"), "1:7");
}

TEST(Files, ReadsWithALimitAndWritesWhole) {
  auto folder = TemporaryFolder::create("solmark-test");
  ASSERT_TRUE(folder.ok());
  auto file = folder->path() / "x";
  ASSERT_TRUE(write_file(file, "hello").ok());
  EXPECT_EQ(*read_file(file), "hello");
  EXPECT_THAT(read_file(file, 4).error().text(), HasSubstr("larger than the limit"));
  EXPECT_EQ(read_file(folder->path() / "none").error().code, ErrorCode::kBadInput);
  EXPECT_FALSE(read_file(folder->path()).ok());
}

TEST(Files, KnowsContainedPaths) {
  EXPECT_TRUE(is_contained_path("a/b.cu"));
  EXPECT_FALSE(is_contained_path("/a"));
  EXPECT_FALSE(is_contained_path("a/../../b"));
  EXPECT_FALSE(is_contained_path(""));
}

TEST(Memfd, CannotBeWrittenThroughTheReadOnlyCopy) {
  auto fd = make_memfd("t", 4096);
  ASSERT_TRUE(fd.ok());
  auto reader = fd->reopen_read_only();
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(Mapping::map(*reader, 4096, Mapping::Access::kReadWrite).ok());
  auto view = Mapping::map(*reader, 4096, Mapping::Access::kRead);
  ASSERT_TRUE(view.ok());
  EXPECT_NE(mprotect(view->data(), 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(ftruncate(fd->get(), 8192), 0);
  EXPECT_NE(ftruncate(fd->get(), 0), 0);
}

TEST(Hash, IsSha256WithLengths) {
  EXPECT_EQ(Sha256().add("ab").add("c").hex().size(), 64U);
  EXPECT_NE(Sha256().add("ab").add("c").hex(), Sha256().add("a").add("bc").hex());
  EXPECT_EQ(sha256_hex("x"), sha256_hex("x"));
}

SpawnSpec shell(const std::string& script) {
  SpawnSpec spec;
  spec.argv = {"/bin/sh", "-c", script};
  spec.environment = {{"PATH", "/usr/bin:/bin"}};
  return spec;
}

TEST(Process, ReportsTheEnd) {
  auto child = Child::spawn(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(child.ok());
  auto end = child->wait(milliseconds(5000));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->text(), "exited with code 3");
  child->kill();
  EXPECT_EQ(child->output(), "out\nerr\n");
}

TEST(Process, NamesTheSignal) {
  auto child = Child::spawn(shell("kill -SEGV $$"));
  ASSERT_TRUE(child.ok());
  EXPECT_THAT(child->wait(milliseconds(5000))->text(),
              StartsWith("was killed by signal 11 (Segmentation fault"));
}

TEST(Process, TimesOutAndKillsTheGroup) {
  auto child = Child::spawn(shell("sleep 100 & sleep 100"));
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->wait(milliseconds(50)).error().code, ErrorCode::kTimeout);
  child->kill();
  EXPECT_FALSE(child->running());
}

TEST(Process, SurvivesAFloodAndAnEscapedGrandchild) {
  auto spec = shell("yes | head -c 20000000; echo end; setsid sleep 3 &");
  spec.output_limit = 1000;
  auto child = Child::spawn(spec);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child->wait(milliseconds(20000)).ok());
  child->kill();
  EXPECT_THAT(child->output(), HasSubstr("bytes left out"));
  EXPECT_THAT(child->output(), EndsWith("end\n"));
  EXPECT_LT(child->output().size(), 1200U);
}

TEST(Process, GivesOnlyTheNamedDescriptorsAndEnvironment) {
  auto memory = make_memfd("t", 16);
  ASSERT_TRUE(memory.ok());
  auto spec = shell("ls /proc/self/fd | tr '\\n' ' '; echo $SOLMARK_X; env | grep -c .");
  spec.environment["SOLMARK_X"] = "here";
  spec.descriptors = {{memory->get(), 7}};
  auto child = Child::spawn(spec);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child->wait(milliseconds(5000)).ok());
  child->kill();
  EXPECT_THAT(child->output(), StartsWith("0 1 2 3 7 here"));  // 3 is ls's own
}

}  // namespace
}  // namespace solmark
