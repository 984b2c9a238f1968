#include "problem/workload.h"

#include <gmock/gmock.h>

#include <cmath>

#include "problem/problem_fixture.h"

namespace solmark::problem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string error_with(const std::string& pointer, const Json& value) {
  return bad_input(decode_w(with(workload_json(), pointer, value)));
}
Workload one(const Json& j) {
  auto loaded = decode_w(j);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().text());
  return loaded.ok() ? loaded->workloads.at(0) : Workload{};
}
std::string error_of(const std::string& text) {
  return bad_input(decode_workloads(text, "w.jsonl", plain_definition()));
}

TEST(Workload, ReadsEveryField) {
  auto loaded = decode_w(workload_json());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_THAT(loaded->warnings, IsEmpty());
  const Workload& w = loaded->workloads.at(0);
  EXPECT_EQ(w.uuid, "u1");
  EXPECT_EQ(w.axes.at("B"), 4);
  EXPECT_TRUE(std::holds_alternative<RandomInput>(w.inputs.at("x")));
  EXPECT_EQ(std::get<double>(std::get<ScalarInput>(w.inputs.at("eps")).value), 1e-6);
  EXPECT_FALSE(w.inputs.contains("weight"));  // no entry: random
  EXPECT_EQ(w.tolerance.max_atol, 0.1);
  EXPECT_EQ(w.where, "w.jsonl:1");
  EXPECT_EQ(Json::parse(w.json), workload_json());
  EXPECT_EQ(w.json.find('\n'), std::string::npos);
}

TEST(Workload, ToleranceDefaultsAreSolExecBenchs) {
  Workload w = one(without(workload_json(), "", "tolerance"));
  EXPECT_EQ(w.tolerance.max_atol, 0.01);
  EXPECT_EQ(w.tolerance.max_rtol, 0.01);
  EXPECT_EQ(w.tolerance.required_matched_ratio, 0.99);
  EXPECT_EQ(w.tolerance.max_error_cap, std::nullopt);
  EXPECT_FALSE(w.tolerance.allow_negative_inf);
  w = one(with(workload_json(), "/tolerance",
               {{"required_matched_ratio", 0.5}, {"max_error_cap", 3}, {"allow_negative_inf", true}}));
  EXPECT_EQ(w.tolerance.max_atol, 0.01);
  EXPECT_EQ(w.tolerance.required_matched_ratio, 0.5);
  EXPECT_EQ(w.tolerance.max_error_cap, 3.0);
  EXPECT_TRUE(w.tolerance.allow_negative_inf);
  EXPECT_EQ(one(with(workload_json(), "/tolerance/max_error_cap", nullptr)).tolerance.max_error_cap,
            std::nullopt);
}

TEST(Workload, ToleranceIsChecked) {
  EXPECT_THAT(error_with("/tolerance/max_atol", -1),
              HasSubstr("(/tolerance/max_atol): must not be negative: -1"));
  EXPECT_THAT(error_with("/tolerance/max_rtol", -0.5), HasSubstr("must not be negative: -0.5"));
  EXPECT_THAT(error_with("/tolerance/max_error_cap", -1), HasSubstr("must not be negative"));
  EXPECT_THAT(error_with("/tolerance/required_matched_ratio", 1.5), HasSubstr("must be at most 1: 1.5"));
  EXPECT_THAT(error_with("/tolerance/required_match_ratio", 98), HasSubstr("must be at most 1: 98"));
  EXPECT_THAT(error_with("/tolerance/max_atol", "1e-3"), HasSubstr("must be a number, not a string"));
  EXPECT_THAT(error_with("/tolerance/allow_negative_inf", 1), HasSubstr("must be true or false, not 1"));
}

TEST(Workload, TheMisspeltMatchRatioIsHonouredWithAWarning) {
  Json j = with(workload_json(), "/tolerance", {{"required_match_ratio", 0.98}});
  auto loaded =
      decode_workloads(j.dump() + "\n" + with(j, "/uuid", "u2").dump(), "w.jsonl", plain_definition());
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->workloads[0].tolerance.required_matched_ratio, 0.98);
  EXPECT_EQ(loaded->workloads[1].tolerance.required_matched_ratio, 0.98);
  ASSERT_EQ(loaded->warnings.size(), 1U);
  EXPECT_THAT(loaded->warnings[0], HasSubstr("\"required_match_ratio\" is read as "
                                             "\"required_matched_ratio\"; rename it (2 times; first shown)"));
  j["tolerance"]["required_matched_ratio"] = 0.7;
  loaded = decode_w(j);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->workloads[0].tolerance.required_matched_ratio, 0.7);
  EXPECT_THAT(loaded->warnings.at(0), HasSubstr("is ignored"));
}

TEST(Workload, ScalarsKeepTheirType) {
  auto scalar = [](const Json& value) {
    return std::get<ScalarInput>(one(with(workload_json(), "/inputs/eps/value", value)).inputs.at("eps"))
        .value;
  };
  EXPECT_EQ(std::get<std::int64_t>(scalar(3)), 3);
  EXPECT_EQ(std::get<std::int64_t>(scalar(-3)), -3);
  EXPECT_EQ(std::get<double>(scalar(3.0)), 3.0);
  EXPECT_TRUE(std::get<bool>(scalar(true)));
  // As Python's json module writes them.
  EXPECT_EQ(std::get<double>(scalar(-HUGE_VAL)), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(std::get<double>(scalar(std::nan("")))));
  EXPECT_THAT(error_with("/tolerance/max_atol", std::nan("")), HasSubstr("must be a finite number"));
  EXPECT_THAT(error_with("/tolerance/max_rtol", HUGE_VAL), HasSubstr("must be a finite number"));
  EXPECT_EQ(one(with(workload_json(), "/tolerance/max_error_cap", HUGE_VAL)).tolerance.max_error_cap,
            HUGE_VAL);
  EXPECT_THAT(error_with("/inputs/eps/value", "3"), HasSubstr("must be a number, true or false"));
  EXPECT_THAT(error_with("/inputs/eps/value", nullptr), HasSubstr("must be a number, true or false"));
  EXPECT_THAT(error_with("/inputs/eps/value", 18446744073709551615ULL), HasSubstr("too large"));
  EXPECT_THAT(error_with("/inputs/x", {{"type", "scalar"}, {"value", 1}}),
              HasSubstr("input \"x\" is a tensor, but a scalar is given"));
}

// The definition's dtype says what a scalar is: the reference and the candidate must be given the same.
TEST(Workload, ScalarsFitTheDeclaredDtype) {
  auto loaded = [](const char* dtype, const Json& value) {
    Definition d = decode_d(with(definition_json(), "/inputs/eps/dtype", dtype)).value().definition;
    Json workload = with(workload_json(), "/inputs/eps/value", value);
    return decode_workloads(to_python_json_line(workload) + "\n", "w.jsonl", d);
  };
  auto scalar = [&loaded](const char* dtype, const Json& value) {
    return std::get<ScalarInput>(loaded(dtype, value).value().workloads[0].inputs.at("eps")).value;
  };
  EXPECT_EQ(std::get<std::int64_t>(scalar("int32", 3.0)), 3);
  EXPECT_EQ(std::get<std::int64_t>(scalar("int32", true)), 1);
  EXPECT_EQ(std::get<std::int64_t>(scalar("uint8", 255)), 255);
  EXPECT_EQ(std::get<std::int64_t>(scalar("int64", -7)), -7);
  EXPECT_TRUE(std::get<bool>(scalar("bool", 1)));
  EXPECT_FALSE(std::get<bool>(scalar("bool", false)));
  EXPECT_EQ(std::get<std::int64_t>(scalar("float32", 3)), 3);

  EXPECT_THAT(bad_input(loaded("int32", 2.5)),
              AllOf(HasSubstr("w.jsonl:1:"), HasSubstr("(/inputs/eps/value)"),
                    HasSubstr("input \"eps\" is int32, but its value is 2.5; write a whole number, or "
                              "declare it float32 in the definition")));
  EXPECT_THAT(bad_input(loaded("int64", HUGE_VAL)), HasSubstr("is int64, but its value is Infinity"));
  EXPECT_THAT(bad_input(loaded("int64", 1e30)), HasSubstr("is int64, but its value is 1e+30"));
  EXPECT_THAT(bad_input(loaded("int8", 128)),
              HasSubstr("128 does not fit in int8; write a number from -128 to 127"));
  EXPECT_THAT(bad_input(loaded("uint8", -1)),
              HasSubstr("-1 does not fit in uint8; write a number from 0 to 255"));
  EXPECT_THAT(bad_input(loaded("bool", 2)), HasSubstr("is bool, but its value is 2; write true or false"));
}

TEST(Workload, CustomInputsMayBeMixedWithOthers) {
  Json j = with(workload_json(), "/inputs/x", {{"type", "custom"}});
  Workload w = one(j);
  EXPECT_TRUE(std::holds_alternative<CustomInput>(w.inputs.at("x")));
  EXPECT_TRUE(std::holds_alternative<ScalarInput>(w.inputs.at("eps")));
  Definition d = plain_definition();
  d.custom_inputs_entrypoint.clear();
  EXPECT_THAT(bad_input(decode_workloads(j.dump(), "w.jsonl", d)),
              HasSubstr("input \"x\" is custom, but the definition has no generator; name one"));
}

TEST(Workload, SafetensorsInputsNameAFileAndATensor) {
  Json blob = {{"type", "safetensors"}, {"path", "a/b.safetensors"}, {"tensor_key", "k"}};
  Workload w = one(with(workload_json(), "/inputs/x", blob));
  EXPECT_EQ(std::get<SafetensorsInput>(w.inputs.at("x")).path, "a/b.safetensors");
  EXPECT_EQ(std::get<SafetensorsInput>(w.inputs.at("x")).tensor_key, "k");
  EXPECT_THAT(error_with("/inputs/x", with(blob, "/path", "a/../../etc/passwd")),
              HasSubstr("(/inputs/x/path): path \"a/../../etc/passwd\" climbs out of its folder"));
  EXPECT_THAT(error_with("/inputs/x", with(blob, "/path", "")), HasSubstr("must not be empty"));
  EXPECT_THAT(error_with("/inputs/x", with(blob, "/path", std::string("a\0b", 3))),
              HasSubstr("control characters"));
  EXPECT_THAT(error_with("/inputs/x", without(blob, "", "tensor_key")),
              HasSubstr("\"tensor_key\" is missing"));
  EXPECT_THAT(error_with("/inputs/eps", blob),
              HasSubstr("input \"eps\" is a scalar, but a tensor file is given"));
}

TEST(Workload, UnknownThingsAreWarnings) {
  Json j = with(workload_json(), "/inputs/wieght", {{"type", "nonsense"}});
  j["axes"]["C"] = 2;
  j["axes"]["H2"] = 1;
  j["axes"]["H"] = 256;
  j["comment"] = "?";
  j["tolerance"]["atol"] = 1;
  auto loaded = decode_w(j);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_FALSE(loaded->workloads[0].inputs.contains("wieght"));
  std::string all;
  for (const auto& w : loaded->warnings) all += w + "\n";
  EXPECT_EQ(loaded->warnings.size(), 6U) << all;
  EXPECT_THAT(all, HasSubstr("no input \"wieght\": its entry is ignored; did you mean \"weight\"?"));
  EXPECT_THAT(all, HasSubstr("axis \"C\" is not declared"));
  EXPECT_THAT(all, HasSubstr("axis \"H2\" is computed"));
  EXPECT_THAT(all, HasSubstr("overrides constant axis \"H\": 256 for 128"));
  EXPECT_THAT(all, HasSubstr("unknown key \"comment\" of a workload"));
  EXPECT_THAT(all, HasSubstr("unknown key \"atol\" of a tolerance is ignored"));
}

TEST(Workload, WrongValuesAreErrors) {
  EXPECT_THAT(error_with("/inputs/x/type", "randm"),
              HasSubstr("unknown input type \"randm\"; did you mean \"random\"?"));
  EXPECT_THAT(error_with("/axes/B", -1), HasSubstr("(/axes/B): must not be negative: -1"));
  EXPECT_THAT(error_with("/axes/B", "4"), HasSubstr("must be a whole number"));
  EXPECT_THAT(error_with("/uuid", ""), HasSubstr("must not be empty"));
  EXPECT_THAT(bad_input(decode_w(without(workload_json(), "", "uuid"))), HasSubstr("\"uuid\" is missing"));
  EXPECT_THAT(bad_input(decode_w(without(workload_json(), "", "axes"))), HasSubstr("\"axes\" is missing"));
}

TEST(Workload, LinesAreCountedAndBlankOnesSkipped) {
  std::string good = workload_json().dump();
  std::string second = with(workload_json(), "/uuid", "u2").dump();
  auto loaded =
      decode_workloads("\xef\xbb\xbf\n" + good + "\r\n  \t\r\n" + second, "w.jsonl", plain_definition());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  ASSERT_EQ(loaded->workloads.size(), 2U);
  EXPECT_EQ(loaded->workloads[1].where, "w.jsonl:4");
  EXPECT_THAT(error_of(good + "\n\n{\"uuid\": 3, \"axes\": {}}\n"),
              HasSubstr("w.jsonl:3:10 (/uuid): must be a string"));
  EXPECT_THAT(error_of(good + "\n{\"uuid\"\n"), StartsWith("w.jsonl:2:8: not valid JSON: syntax error"));
  EXPECT_THAT(error_of("{\n\"uuid\": 1}"), HasSubstr("every line must be one whole JSON object"));
  EXPECT_THAT(error_of("\n{\"a\": 1, \"a\": 2}"), HasSubstr("w.jsonl:2:10: duplicate key \"a\""));
  EXPECT_THAT(error_of("[" + good + "]"),
              HasSubstr("w.jsonl:1: a list of workloads; write one workload a line"));
  EXPECT_THAT(error_of(" \n\n"), HasSubstr("w.jsonl: no workloads"));
}

TEST(Workload, UuidsAreUnique) {
  std::string line = workload_json().dump() + "\n";
  EXPECT_EQ(error_of("\n" + line + line),
            "w.jsonl:3: uuid \"u1\" was used on line 2 already; give every workload its own uuid");
}

TEST(Workload, FlashInferTraceLinesAreRead) {
  Json line = {{"definition", "rms_norm"},
               {"workload", workload_json()},
               {"solution", nullptr},
               {"evaluation", nullptr}};
  auto loaded = decode_w(line);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_THAT(loaded->warnings, IsEmpty());
  EXPECT_EQ(Json::parse(loaded->workloads[0].json), workload_json());
  loaded = decode_w(with(line, "/definition", "other"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(loaded->warnings,
              ElementsAre(HasSubstr("the workload is for definition \"other\", not \"rms_norm\"")));
  EXPECT_THAT(bad_input(decode_w(with(line, "/workload/uuid", 1))),
              HasSubstr("(/workload/uuid): must be a string"));
}

TEST(Workload, TracesOfSeveralSolutionsNameAWorkloadOnce) {
  Json line = {{"definition", "rms_norm"}, {"workload", workload_json()}, {"solution", "fast"}};
  std::string text = line.dump() + "\n" + with(line, "/solution", "slow").dump() + "\n";
  auto loaded = decode_workloads(text, "w.jsonl", plain_definition());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(loaded->workloads.size(), 1U);
  // Another workload under the same uuid is no trace of it.
  Json other = with(line, "/workload/axes/B", 8);
  EXPECT_THAT(error_of(text + other.dump()), StartsWith("w.jsonl:3: uuid \"u1\" was used on line 1 already"));
}

TEST(Axes, ResolveInDocumentOrder) {
  Definition d = plain_definition();
  AxisValues values = *resolve_axes(d, one(workload_json()));
  EXPECT_EQ(values, (AxisValues{{"B", 4}, {"H", 128}, {"H2", 64}}));
  // a workload may override a constant and bring names of its own
  d.axes.push_back({"E", Axis::Kind::kExpression, 0, "H2 + extra"});
  Workload w = one(workload_json());
  w.axes["H"] = 256;
  w.axes["extra"] = 5;
  w.axes["H2"] = 1;  // computed all the same
  EXPECT_EQ(*resolve_axes(d, w), (AxisValues{{"B", 4}, {"H", 256}, {"H2", 128}, {"extra", 5}, {"E", 133}}));
}

TEST(Axes, MissingForwardAndBadValuesAreErrors) {
  Definition d = plain_definition();
  Workload w = one(workload_json());
  w.axes.clear();
  EXPECT_EQ(bad_input(resolve_axes(d, w)),
            "w.jsonl:1: workload u1: variable axis \"B\" has no value; add \"B\" to the workload's axes");
  w = one(workload_json());
  auto with_expression = [&](const std::string& text) {
    d = plain_definition();
    d.axes[2].expression = text;
    d.axes.push_back({"later", Axis::Kind::kExpression, 0, "1"});
    return bad_input(resolve_axes(d, w));
  };
  EXPECT_THAT(with_expression("later + 1"), HasSubstr("axis \"H2\" = `later + 1`: \"later\" has no value"));
  EXPECT_THAT(with_expression("B - 5"), HasSubstr("axis \"H2\" = `B - 5` is negative: -1"));
  EXPECT_THAT(with_expression("B / 3"), HasSubstr("is not a whole number"));
  EXPECT_THAT(with_expression("B // 0"), HasSubstr("division by zero"));
  EXPECT_THAT(with_expression("H ** 99"), HasSubstr("integer overflow"));
}

TEST(Axes, ConstraintsAreChecked) {
  Definition d = plain_definition();
  Workload w = one(workload_json());
  w.axes["B"] = 6;
  EXPECT_EQ(bad_input(resolve_axes(d, w)),
            "w.jsonl:1: workload u1: constraint `B % 4 == 0` does not hold (B = 6); mend the workload's axes "
            "or the "
            "definition's constraint");
  d.constraints = {"1 // (B - 6) > 0"};
  EXPECT_THAT(bad_input(resolve_axes(d, w)), HasSubstr("cannot be evaluated: division by zero"));
}

TEST(Blob, IsSearchedRootByRootWithLeadingPartsStripped) {
  auto folder = TemporaryFolder::create("blob").value();
  auto first = folder.path() / "first";
  auto second = folder.path() / "second";
  std::filesystem::create_directories(first);
  auto stripped = put(second / "op" / "t.safetensors", "x");
  EXPECT_EQ(*find_blob("blob/workloads/op/t.safetensors", {first, second}), stripped);
  auto whole = put(second / "blob" / "workloads" / "op" / "t.safetensors", "x");
  EXPECT_EQ(*find_blob("blob/workloads/op/t.safetensors", {first, second}), whole);
  auto nearer = put(first / "t.safetensors", "x");
  EXPECT_EQ(*find_blob("blob/workloads/op/t.safetensors", {first, second}), nearer);
  EXPECT_EQ(*find_blob(whole.string(), {}), whole);
  std::filesystem::create_directories(first / "u.safetensors");  // a folder is no file
  EXPECT_THAT(
      bad_input(find_blob("u.safetensors", {first})),
      HasSubstr("u.safetensors: no such tensor file under " + first.string() + "; set FLASHINFER_TRACE_DIR"));
  EXPECT_THAT(bad_input(find_blob("/nonexistent/t", {first})),
              HasSubstr("/nonexistent/t: no such tensor file"));
}

TEST(Blob, NeverClimbsOutOfARoot) {
  auto folder = TemporaryFolder::create("blob").value();
  put(folder.path() / "secret", "x");
  std::filesystem::create_directories(folder.path() / "root");
  EXPECT_THAT(bad_input(find_blob("../secret", {folder.path() / "root"})),
              HasSubstr("climbs out of its folder"));
  EXPECT_THAT(bad_input(find_blob("a/../../secret", {folder.path() / "root"})), HasSubstr("climbs out"));
  EXPECT_THAT(bad_input(find_blob("", {folder.path()})), HasSubstr("has no name"));
}

}  // namespace
}  // namespace solmark::problem
