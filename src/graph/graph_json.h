// Reads an OpGraph from its JSON (schemas/opgraph.schema.json). Strict: unknown keys, wrong types and
// everything that verify.h rejects are errors with file and JSON pointer.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "graph/graph.h"

namespace solmark::graph {

Result<OpGraph> graph_from_json(const Json& json, const std::string& source);
Result<OpGraph> read_graph(const std::filesystem::path& file);

}  // namespace solmark::graph
