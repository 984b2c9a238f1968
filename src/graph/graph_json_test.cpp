#include "graph/graph_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace solmark::graph {
namespace {

using ::testing::HasSubstr;

Json valid() {
  return Json::parse(R"({
    "format": "solmark.opgraph", "version": 1, "mode": "fake", "device": "cpu",
    "storages": [{"id": 0, "bytes": 64, "role": "input", "name": "x"}, {"id": 1, "bytes": 64, "role": "intermediate"}],
    "tensors": [
      {"id": 0, "storage": 0, "dtype": "float32", "shape": [4, 4], "strides": [4, 1], "offset": 0},
      {"id": 1, "storage": 1, "dtype": "float32", "shape": [4, 4], "strides": [4, 1], "offset": 0}],
    "ops": [{"op": "aten.clamp.default", "args": [{"t": 0}, {"float": "-inf"}, null, [1, 2.5, true, "s"]],
             "kwargs": {"dtype": {"dtype": "float32"}}, "outputs": [1, null], "mutates": []}],
    "inputs": [{"name": "x", "tensor": 0}, {"name": "n", "scalar": 3}],
    "outputs": [{"name": "y", "tensor": 1}]})");
}

TEST(GraphJson, ReadsEveryKindOfArgument) {
  const auto graph = graph_from_json(valid(), "g.json");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const Op& op = graph->ops.front();
  EXPECT_EQ(op.name(), "clamp");
  EXPECT_EQ(tensor_argument(op, 0), 0);
  EXPECT_EQ(number_argument(op, 1), -std::numeric_limits<double>::infinity());
  EXPECT_FALSE(number_argument(op, 2).has_value());
  EXPECT_EQ(std::get<ArgList>(op.args[3].value).size(), 4U);
  EXPECT_EQ(std::get<NameArg>(argument(op, 9, "dtype")->value).name, "float32");
  EXPECT_FALSE(op.outputs[1].has_value());
  EXPECT_FALSE(graph->inputs[1].tensor.has_value());
}

struct Fault {
  const char* pointer;
  const char* value;  // "remove": the key goes
  const char* message;
};

class Faults : public ::testing::TestWithParam<Fault> {};

TEST_P(Faults, AreErrorsWithTheirPlace) {
  Json json = valid();
  const Json::json_pointer pointer(GetParam().pointer);
  if (GetParam().value == std::string("remove")) {
    json[pointer.parent_pointer()].erase(pointer.back());
  } else {
    json[pointer] = Json::parse(GetParam().value);
  }
  const auto graph = graph_from_json(json, "g.json");
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().text(), HasSubstr(GetParam().message));
  EXPECT_THAT(graph.error().where, ::testing::StartsWith("g.json#"));
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    ::testing::Values(
        Fault{"/ops/0/op", "\"aten.mm.default\"", "aten.mm.default takes 2 tensors at the least, not 1"},
        Fault{"/tensors/0/offset", "-1", "at least 0"},

        Fault{"/version", "2", "version"}, Fault{"/surprise", "1", "unknown key"},
        Fault{"/ops", "remove", "ops"}, Fault{"/mode", "\"guess\"", "guess"},
        Fault{"/storages/0/role", "\"weight\"", "weight"}, Fault{"/storages/1/id", "0", "position"},
        Fault{"/storages/0/bytes", "-1", "at least 0"}, Fault{"/tensors/0/storage", "7", "no storage 7"},
        Fault{"/tensors/0/dtype", "\"float31\"", "float31"},
        Fault{"/tensors/0/shape/0", "5", "beyond storage 0"},
        Fault{"/tensors/0/offset", "1", "beyond storage 0"}, Fault{"/tensors/0/strides", "[4]", "one length"},
        Fault{"/tensors/0/shape", "[4611686018427387904, 4]", "too large"},
        Fault{"/tensors/0/strides", "[9223372036854775807, 1]", "too large"},
        Fault{"/tensors/0/values", "[1, 2]", "2 values"}, Fault{"/ops/0/args/0", "{\"t\": 9}", "no tensor 9"},
        Fault{"/ops/0/args/0", "{\"t\": 1}", "before its storage"},
        Fault{"/ops/0/args/0", "{\"q\": 1}", "unknown kind"}, Fault{"/ops/0/outputs/0", "4", "no tensor 4"},
        Fault{"/ops/0/mutates", "[5]", "no tensor 5"}, Fault{"/inputs/1/name", "\"x\"", "twice"},
        Fault{"/inputs/0/scalar", "1", "either"}, Fault{"/outputs/0/tensor", "3", "no such tensor"}));

TEST(GraphJson, AnEmptyViewMayLieAnywhere) {
  Json json = valid();
  json["tensors"][0]["shape"] = {0, 400};
  EXPECT_TRUE(graph_from_json(json, "g.json").ok());
}

}  // namespace
}  // namespace solmark::graph
