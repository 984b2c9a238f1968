#include <set>

#include "problem/workload.h"
#include "targets.h"

namespace solmark::fuzz {
namespace {

constexpr std::string_view kDefinition = R"({"name": "d",
  "axes": {"B": {"type": "var"}, "H": {"type": "const", "value": 8}, "E": {"type": "expr", "expression": "H // B"}},
  "inputs": {"x": {"shape": ["B", "H"], "dtype": "float32"}, "eps": {"shape": null, "dtype": "float32"}},
  "outputs": {"y": {"shape": ["B", "E"], "dtype": "float32"}},
  "reference": "def run(x, eps): return x\ndef make(axes, device): return {}",
  "custom_inputs_entrypoint": "make", "constraints": ["B % 2 == 0 or B == 1"]})";

}  // namespace

void fuzz_workload(std::string_view bytes) {
  static const problem::Definition definition =
      problem::decode_definition(kDefinition, "d").value().definition;
  auto loaded = problem::decode_workloads(bytes, "fuzz", definition);
  if (!loaded.ok()) {
    require(loaded.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return;
  }
  require(!loaded->workloads.empty(), "an accepted file has workloads");
  std::set<std::string> uuids;
  for (const auto& workload : loaded->workloads) {
    require(uuids.insert(workload.uuid).second, "uuids are unique");
    require(workload.json.find('\n') == std::string::npos, "a workload is one line");
    require(workload.tolerance.max_atol >= 0 && workload.tolerance.max_rtol >= 0,
            "tolerances are not negative");
    auto axes = problem::resolve_axes(definition, workload);
    if (axes.ok()) require(axes->at("E") >= 0, "axes are not negative");
  }
}

}  // namespace solmark::fuzz
