// Small valid documents for the tests of this module, and edits of them by JSON pointer.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "problem/solution.h"
#include "problem/workload.h"

namespace solmark::problem {

inline Json definition_json() {
  return Json::parse(R"({
    "name": "rms_norm", "op_type": "norm", "description": "root mean square", "hf_id": "org/model",
    "axes": {"B": {"type": "var"}, "H": {"type": "const", "value": 128},
             "H2": {"type": "expr", "expression": "H // 2"}},
    "inputs": {"x": {"shape": ["B", "H"], "dtype": "bfloat16", "description": "rows"},
               "weight": {"shape": ["H"], "dtype": "bfloat16"},
               "eps": {"shape": null, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["B", "H"], "dtype": "bfloat16"}},
    "reference": "import torch\ndef run(x, weight, eps):\n  return x\ndef make(axes, device):\n  return {}\n",
    "custom_inputs_entrypoint": "make",
    "constraints": ["B % 4 == 0", "H2 < H"]})");
}

inline Json workload_json() {
  return Json::parse(R"({"uuid": "u1", "axes": {"B": 4},
    "inputs": {"x": {"type": "random"}, "eps": {"type": "scalar", "value": 1e-6}},
    "tolerance": {"max_atol": 0.1, "max_rtol": 0.2}})");
}

inline Json solution_json() {
  return Json::parse(R"({
    "name": "mine", "definition": "rms_norm", "author": "me",
    "spec": {"languages": ["cuda_cpp"], "target_hardware": ["LOCAL"], "entry_point": "kernel.cu::launch"},
    "sources": [{"path": "kernel.cu", "content": "// code"}]})");
}

inline Json with(Json document, const std::string& pointer, const Json& value) {
  document[Json::json_pointer(pointer)] = value;
  return document;
}
inline Json without(Json document, const std::string& parent, const std::string& key) {
  document[Json::json_pointer(parent)].erase(key);
  return document;
}

inline Result<LoadedDefinition> decode_d(const Json& j) { return decode_definition(j.dump(), "d.json"); }
inline Definition plain_definition() { return decode_d(definition_json()).value().definition; }
inline Result<LoadedWorkloads> decode_w(const Json& j) {
  return decode_workloads(to_python_json_line(j) + "\n", "w.jsonl", plain_definition());
}
inline Result<LoadedSolution> decode_s(const Json& j) { return decode_solution(j.dump(), "s.json", {}); }

// The error text of a result that must have failed on the user's file.
template <class R>
std::string bad_input(const R& result) {
  if (result.ok()) return "(no error)";
  EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
  return result.error().text();
}

inline std::filesystem::path put(const std::filesystem::path& file, std::string_view content) {
  std::filesystem::create_directories(file.parent_path());
  EXPECT_TRUE(write_file(file, content).ok());
  return file;
}

}  // namespace solmark::problem
