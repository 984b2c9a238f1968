#include "problem/definition.h"

#include <gmock/gmock.h>

#include "problem/problem_fixture.h"

namespace solmark::problem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string error_with(const std::string& pointer, const Json& value) {
  return bad_input(decode_d(with(definition_json(), pointer, value)));
}

TEST(Definition, ReadsEveryField) {
  auto loaded = decode_d(definition_json());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  const Definition& d = loaded->definition;
  EXPECT_THAT(loaded->warnings, IsEmpty());
  EXPECT_EQ(d.name, "rms_norm");
  EXPECT_EQ(d.op_type, "norm");
  EXPECT_EQ(d.description, "root mean square");
  EXPECT_EQ(d.hf_id, "org/model");
  EXPECT_EQ(d.custom_inputs_entrypoint, "make");
  EXPECT_EQ(d.file, "d.json");
  EXPECT_THAT(d.constraints, ElementsAre("B % 4 == 0", "H2 < H"));
  ASSERT_EQ(d.axes.size(), 3U);
  EXPECT_EQ(d.axes[0].kind, Axis::Kind::kVar);
  EXPECT_EQ(d.axes[1].value, 128);
  EXPECT_EQ(d.axes[2].expression, "H // 2");
  EXPECT_EQ(d.inputs[0].description, "rows");
  EXPECT_EQ(d.inputs[0].dtype, Dtype::kBfloat16);
  EXPECT_THAT(*d.inputs[0].shape, ElementsAre("B", "H"));
  EXPECT_TRUE(d.inputs[2].is_scalar());
  EXPECT_FALSE(d.inputs[0].is_scalar());
}

TEST(Definition, KeepsTheDocumentsOrder) {
  Json j = definition_json();
  j["inputs"] = Json::object();
  for (const char* name : {"z", "a", "m", "k"}) j["inputs"][name] = {{"shape", {"H"}}, {"dtype", "int8"}};
  j["outputs"] = Json::object();
  for (const char* name : {"y2", "y1"}) j["outputs"][name] = {{"shape", Json::array()}, {"dtype", "int8"}};
  auto loaded = decode_d(j);
  ASSERT_TRUE(loaded.ok());
  std::vector<std::string> names;
  for (const auto& t : loaded->definition.inputs) names.push_back(t.name);
  for (const auto& t : loaded->definition.outputs) names.push_back(t.name);
  EXPECT_THAT(names, ElementsAre("z", "a", "m", "k", "y2", "y1"));
}

TEST(Definition, OptionalKeysMayBeAbsentNullOrEmpty) {
  Json j = definition_json();
  for (const char* key : {"op_type", "description", "hf_id", "custom_inputs_entrypoint", "constraints"})
    j.erase(key);
  EXPECT_TRUE(decode_d(j).ok());
  for (const char* key :
       {"op_type", "description", "hf_id", "custom_inputs_entrypoint", "constraints", "tags"}) {
    j[key] = nullptr;
  }
  EXPECT_TRUE(decode_d(j).ok());
  j["hf_id"] = "";
  auto loaded = decode_d(j);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->definition.hf_id, std::nullopt);
  EXPECT_THAT(loaded->warnings, IsEmpty());
}

TEST(Definition, FlashInferTagsAndDescriptionsAreKnown) {
  Json j = with(definition_json(), "/tags", {"stage:decode", "model:x"});
  j["axes"]["B"]["description"] = "batch";
  auto loaded = decode_d(j);
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(loaded->warnings, IsEmpty());
  EXPECT_THAT(bad_input(decode_d(with(j, "/tags", "one"))),
              HasSubstr("(/tags): must be a list, not a string"));
}

TEST(Definition, ErrorsNameFileLineColumnPointerAndMend) {
  std::string text = "{\n  \"name\": \"d\",\n  \"axes\": {\"N\": {\"type\": \"const\",\n    \"value\": -3}}}";
  EXPECT_EQ(bad_input(decode_definition(text, "dir/d.json")),
            "dir/d.json:4:14 (/axes/N/value): must not be negative: -3");
  text = "{\"name\": \"d\",\n \"axes\": {\"N\": {\"type\": \"cnst\"}}}";
  EXPECT_EQ(bad_input(decode_definition(text, "d.json")),
            "d.json:2:25 (/axes/N/type): unknown axis type \"cnst\"; did you mean \"const\"?");
}

TEST(Definition, MissingKeysAreErrors) {
  for (const char* key : {"name", "axes", "inputs", "outputs", "reference"}) {
    EXPECT_THAT(bad_input(decode_d(without(definition_json(), "", key))),
                HasSubstr(std::string("key \"") + key + "\" is missing"));
  }
  Json j = without(definition_json(), "", "reference");
  j["refrence"] = "def run(): pass";
  EXPECT_EQ(
      bad_input(decode_d(j)),
      "d.json:1:1: key \"reference\" is missing; rename \"refrence\" to \"reference\" if that is what it is");
}

TEST(Definition, UnknownKeysAreWarnedAboutOnce) {
  Json j = definition_json();
  j["descripton"] = "?";
  j["inputs"]["x"]["dtpye"] = 1;
  j["inputs"]["weight"]["dtpye"] = 1;
  auto loaded = decode_d(j);
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->warnings.size(), 2U);
  EXPECT_THAT(loaded->warnings[0],
              HasSubstr("(/descripton): unknown key \"descripton\" of a definition is ignored; did "
                        "you mean \"description\"?"));
  EXPECT_THAT(loaded->warnings[1],
              HasSubstr("(/inputs/x/dtpye): unknown key \"dtpye\" of a tensor is ignored"));
  EXPECT_THAT(loaded->warnings[1], HasSubstr("(2 times; first shown)"));
}

TEST(Definition, ListsAndWarningsAreBounded) {
  Json j = definition_json();
  for (int i = 0; i < 150; ++i) j["unknown" + std::to_string(i)] = i;
  auto loaded = decode_d(j);
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->warnings.size(), 101U);
  EXPECT_EQ(loaded->warnings.back(), "50 more warnings left out");
  for (int i = 0; i < 4096; ++i) j["axes"]["a" + std::to_string(i)] = {{"type", "var"}};
  EXPECT_THAT(bad_input(decode_d(j)), HasSubstr("(/axes): 4099 members, more than 4096"));
  EXPECT_THAT(error_with("/tags", Json(std::vector<std::string>(4097, "t"))),
              HasSubstr("4097 elements, more than 4096"));
}

TEST(Definition, BrokenJsonIsAnError) {
  EXPECT_THAT(bad_input(decode_definition("{\"a\": 1, \"a\": 2}", "d.json")),
              HasSubstr("duplicate key \"a\""));
  EXPECT_THAT(bad_input(decode_definition("{\"a\": NaN}", "d.json")), HasSubstr("d.json:1:"));
  EXPECT_THAT(bad_input(decode_definition("{\"a\": 1e999}", "d.json")), HasSubstr("not valid JSON"));
  EXPECT_THAT(bad_input(decode_definition("", "d.json")), HasSubstr("not valid JSON"));
  EXPECT_THAT(bad_input(decode_definition(std::string(100, '['), "d.json")), HasSubstr("levels deep"));
  EXPECT_THAT(bad_input(decode_definition("[]", "d.json")), HasSubstr("must be an object, not an array"));
  std::string large(std::size_t{17} << 20, ' ');
  EXPECT_THAT(bad_input(decode_definition(large, "d.json")), HasSubstr("more than the limit"));
  EXPECT_THAT(bad_input(load_definition("/nonexistent/d.json")),
              HasSubstr("/nonexistent/d.json: no such file"));
}

TEST(Definition, AxesAreChecked) {
  EXPECT_THAT(error_with("/axes/H/value", -1), HasSubstr("must not be negative: -1"));
  EXPECT_THAT(error_with("/axes/H/value", 1.5), HasSubstr("must be a whole number, not the number 1.5"));
  EXPECT_THAT(error_with("/axes/H/value", true), HasSubstr("must be a whole number, not true"));
  EXPECT_THAT(error_with("/axes/H/value", "128"), HasSubstr("must be a whole number, not a string"));
  EXPECT_THAT(error_with("/axes/H/value", 18446744073709551615ULL), HasSubstr("too large"));
  EXPECT_THAT(error_with("/axes/H/value", 1e40), HasSubstr("too large"));
  EXPECT_TRUE(decode_d(with(definition_json(), "/axes/H/value", 128.0)).ok());
  EXPECT_TRUE(decode_d(with(definition_json(), "/axes/H/value", 0)).ok());
  EXPECT_THAT(error_with("/axes/H", 3), HasSubstr("(/axes/H): must be an object, not 3"));
  EXPECT_THAT(error_with("/axes/2d", {{"type", "var"}}), HasSubstr("\"2d\" cannot be an axis name"));
  EXPECT_THAT(bad_input(decode_d(without(definition_json(), "/axes/H", "value"))),
              HasSubstr("key \"value\" is missing"));
}

TEST(Definition, AxisExpressionsAreParsedAtOnce) {
  EXPECT_THAT(error_with("/axes/H2/expression", "H //"),
              HasSubstr("(/axes/H2/expression): `H //` cannot be read: the expression ends too early at "
                        "column 5; use + -"));
  auto loaded = decode_d(with(definition_json(), "/axes/H2/expression", "HH // 2"));
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->warnings.size(), 1U);
  EXPECT_THAT(loaded->warnings[0], HasSubstr("`HH // 2` uses \"HH\", which is no axis"));
}

TEST(Definition, ShapesAreChecked) {
  EXPECT_THAT(
      error_with("/inputs/x/shape", {"B", "HH2"}),
      HasSubstr("(/inputs/x/shape/1): \"HH2\" is neither an axis nor a number; did you mean \"H2\"?"));
  EXPECT_THAT(error_with("/inputs/x/shape", {"B", 128}),
              HasSubstr("a dimension must be a string; write \"128\""));
  EXPECT_THAT(error_with("/inputs/x/shape", {"B", "-1"}), HasSubstr("neither an axis nor a number"));
  EXPECT_THAT(error_with("/inputs/x/shape", {"B", ""}), HasSubstr("neither an axis nor a number"));
  EXPECT_THAT(error_with("/inputs/x/shape", {"9999999999999999999"}), HasSubstr("is too large"));
  EXPECT_THAT(error_with("/inputs/x/shape", "B"), HasSubstr("must be a list, not a string"));
  EXPECT_THAT(error_with("/inputs/x/shape", Json(std::vector<std::string>(65, "B"))),
              HasSubstr("65 elements, more than 64"));
  EXPECT_TRUE(decode_d(with(definition_json(), "/inputs/x/shape", {"B", "64"})).ok());
  EXPECT_TRUE(decode_d(with(definition_json(), "/inputs/x/shape", Json::array())).ok());
  EXPECT_THAT(bad_input(decode_d(without(definition_json(), "/inputs/x", "shape"))),
              HasSubstr("\"shape\" is missing"));
}

TEST(Definition, DtypesAreChecked) {
  EXPECT_THAT(error_with("/inputs/x/dtype", "bfloat1"),
              HasSubstr("unknown dtype \"bfloat1\"; did you mean \"bfloat16\"?"));
  for (const char* name :
       {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1",
        "float4_e2m1fn_x2", "int64", "int32", "int16", "int8", "uint8", "bool"}) {
    auto loaded = decode_d(with(definition_json(), "/inputs/x/dtype", name));
    ASSERT_TRUE(loaded.ok()) << name;
    EXPECT_EQ(dtype_name(loaded->definition.inputs[0].dtype), name);
  }
  EXPECT_THAT(bad_input(decode_d(with(with(definition_json(), "/inputs/x/dtype", "float4_e2m1"),
                                      "/inputs/x/shape", Json::array()))),
              HasSubstr("needs a dimension to pack along"));
}

TEST(Definition, NamesAreDisjoint) {
  Json tensor = {{"shape", {"B"}}, {"dtype", "int8"}};
  EXPECT_THAT(error_with("/outputs/x", tensor), HasSubstr("output \"x\" has the name of an input"));
  EXPECT_THAT(error_with("/inputs/B", tensor), HasSubstr("input \"B\" has the name of an axis"));
  EXPECT_TRUE(decode_d(with(definition_json(), "/outputs/B", tensor)).ok());
  EXPECT_THAT(error_with("/inputs/a b", tensor), HasSubstr("\"a b\" cannot be an input name"));
  EXPECT_THAT(error_with("/outputs/a-b", tensor), HasSubstr("\"a-b\" cannot be an output name"));
  EXPECT_THAT(error_with("/name", ""), HasSubstr("(/name): must not be empty"));
  EXPECT_THAT(error_with("/name", "a\nb"), HasSubstr("control characters"));
  EXPECT_THAT(error_with("/outputs", Json::object()), HasSubstr("no outputs"));
}

TEST(Definition, TheReferenceHasATopLevelRun) {
  auto with_reference = [](const std::string& code) {
    return bad_input(
        decode_d(without(with(definition_json(), "/reference", code), "", "custom_inputs_entrypoint")));
  };
  EXPECT_THAT(with_reference("def runner(x): pass"), HasSubstr("has no top-level function `run`"));
  EXPECT_THAT(with_reference("class A:\n  def run(self): pass"),
              HasSubstr("has no top-level function `run`"));
  EXPECT_THAT(with_reference("run = lambda x: x"), HasSubstr("has no top-level function `run`"));
  EXPECT_EQ(with_reference("import torch\n\n@torch.no_grad()\ndef run(x): pass"), "(no error)");
  EXPECT_EQ(with_reference("def  run (x): pass"), "(no error)");
  EXPECT_THAT(with_reference("defrun(x)"), HasSubstr("has no top-level function `run`"));
  EXPECT_EQ(with_reference("x = 1\r\ndef run(\n  x): pass"), "(no error)");
}

TEST(Definition, TheInputGeneratorIsAFunctionOfTheReference) {
  EXPECT_THAT(error_with("/custom_inputs_entrypoint", "maker"),
              HasSubstr("has no top-level function `maker`; define"));
  EXPECT_THAT(error_with("/custom_inputs_entrypoint", "a.b"), HasSubstr("\"a.b\" is not a function name"));
  EXPECT_EQ(error_with("/custom_inputs_entrypoint", ""), "(no error)");
}

TEST(Definition, ConstraintsThatCannotBeCheckedAreReported) {
  auto loaded = decode_d(with(definition_json(), "/constraints",
                              {"B == indptr[-1].item()", "B == rows", "b > 0", "B > 0 and H2 >= 1"}));
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(loaded->definition.constraints, ElementsAre("B > 0 and H2 >= 1"));
  ASSERT_EQ(loaded->warnings.size(), 3U);
  EXPECT_THAT(loaded->warnings[0],
              HasSubstr("(/constraints/0): constraint `B == indptr[-1].item()` is not checked"));
  EXPECT_THAT(loaded->warnings[1], HasSubstr("\"rows\" is no axis"));
  EXPECT_THAT(error_with("/constraints", "B > 0"), HasSubstr("must be a list"));
  EXPECT_THAT(error_with("/constraints", {1}), HasSubstr("must be a string, not 1"));
}

TEST(Definition, AnOutputWithoutAShapeHasNoDimension) {
  auto loaded =
      decode_d(with(definition_json(), "/outputs/total", {{"shape", nullptr}, {"dtype", "float32"}}));
  ASSERT_TRUE(loaded.ok());
  ASSERT_TRUE(loaded->definition.outputs[1].shape.has_value());
  EXPECT_THAT(*loaded->definition.outputs[1].shape, IsEmpty());
}

TEST(Shape, ResolvesAxesAndDigits) {
  AxisValues axes = {{"B", 3}, {"H", 128}};
  TensorSpec t{"x", std::vector<std::string>{"B", "H", "7"}, Dtype::kFloat32, {}};
  EXPECT_THAT(*resolve_shape(t, axes), ElementsAre(3, 128, 7));
  EXPECT_THAT(*resolve_shape({"s", std::nullopt, Dtype::kFloat32, {}}, axes), IsEmpty());
  t.shape = {"HH"};
  EXPECT_THAT(bad_input(resolve_shape(t, axes)), HasSubstr("tensor \"x\": axis \"HH\" has no value"));
  t.shape = {"B"};
  EXPECT_THAT(bad_input(resolve_shape(t, {{"B", -2}})), HasSubstr("dimension \"B\" is negative: -2"));
}

TEST(Shape, PairsAreCountedByTheirDtypesName) {
  AxisValues axes = {{"B", 4}, {"odd", 5}};
  auto shape = [&axes](Dtype dtype, std::vector<std::string> tokens) {
    return resolve_shape({"x", std::move(tokens), dtype, {}}, axes);
  };
  // float4_e2m1 counts values, float4_e2m1fn_x2 counts pairs, as PyTorch does.
  EXPECT_THAT(*shape(Dtype::kFloat4E2m1, {"odd", "B"}), ElementsAre(5, 2));
  EXPECT_THAT(*shape(Dtype::kFloat4E2m1x2, {"odd", "B"}), ElementsAre(5, 4));
  EXPECT_THAT(*shape(Dtype::kFloat4E2m1x2, {"B", "odd"}), ElementsAre(4, 5));
  EXPECT_THAT(bad_input(shape(Dtype::kFloat4E2m1, {"B", "odd"})),
              HasSubstr("fp4 values need an even last dimension, not 5; two of them share a byte"));
  EXPECT_THAT(bad_input(shape(Dtype::kFloat4E2m1, {})), HasSubstr("packed fp4 needs a dimension"));
  for (Dtype dtype : {Dtype::kFloat4E2m1, Dtype::kFloat4E2m1x2}) {
    EXPECT_EQ(*tensor_bytes(dtype, {5, 2}), 10U);
  }
}

TEST(Shape, BytesAreBounded) {
  EXPECT_EQ(*tensor_bytes(Dtype::kFloat32, {2, 3}), 24U);
  EXPECT_EQ(*tensor_bytes(Dtype::kBool, {}), 1U);
  EXPECT_EQ(*tensor_bytes(Dtype::kInt8, {std::int64_t{1} << 62}), std::size_t{1} << 62);
  EXPECT_THAT(bad_input(tensor_bytes(Dtype::kInt8, {(std::int64_t{1} << 62) + 1})),
              HasSubstr("more than 2^62 bytes"));
  EXPECT_THAT(bad_input(tensor_bytes(Dtype::kFloat64, {std::int64_t{1} << 60})),
              HasSubstr("more than 2^62 bytes"));
  EXPECT_THAT(bad_input(tensor_bytes(Dtype::kInt8, {std::int64_t{1} << 40, std::int64_t{1} << 40})),
              HasSubstr("more than 2^62 bytes"));
  EXPECT_EQ(*tensor_bytes(Dtype::kInt8, {std::int64_t{1} << 40, std::int64_t{1} << 40, 0}), 0U);
  EXPECT_THAT(bad_input(tensor_bytes(Dtype::kInt8, {0, -1})), HasSubstr("a dimension is negative: -1"));
  EXPECT_THAT(bad_input(resolve_shape({"x", std::vector<std::string>{"N", "N"}, Dtype::kInt8, {}},
                                      {{"N", std::int64_t{1} << 32}})),
              HasSubstr("tensor \"x\": the shape needs more than 2^62 bytes; make an axis smaller"));
}

}  // namespace
}  // namespace solmark::problem
