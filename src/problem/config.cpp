#include <nlohmann/json.hpp>

#include "base/files.h"
#include "problem/decode.h"
#include "problem/solution.h"

namespace solmark::problem {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
constexpr std::int64_t kMostRuns = 1'000'000;
const std::vector<std::string> kConfigKeys = {"warmup_runs", "iterations", "lock_clocks",
                                              "benchmark_reference", "seed"};

}  // namespace

Result<EvalConfig> decode_config(std::string_view text, const std::string& source) {
  SOLMARK_TRY(Json json, parse_json(text, source, {kMaxConfigBytes, 16}));
  Warnings warnings;
  DocumentText document{text, source, 1, &warnings};
  Cursor root(json, document);
  SOLMARK_CHECK_OK(root.object("a config", kConfigKeys));
  EvalConfig out;
  if (auto c = root.find("warmup_runs")) {
    SOLMARK_TRY(auto runs, c->integer(0, kMostRuns));
    out.warmup_runs = static_cast<int>(runs);
  }
  if (auto c = root.find("iterations")) {
    SOLMARK_TRY(auto runs, c->integer(1, kMostRuns));
    out.iterations = static_cast<int>(runs);
  }
  if (auto c = root.find("lock_clocks")) {
    SOLMARK_TRY(out.lock_clocks, c->boolean());
  }
  if (auto c = root.find("benchmark_reference")) {
    SOLMARK_TRY(out.benchmark_reference, c->boolean());
  }
  if (auto c = root.find("seed")) {
    SOLMARK_TRY(auto seed, c->integer(0));
    out.seed = static_cast<std::uint64_t>(seed);
  }
  out.warnings = warnings.take();
  return out;
}

Result<EvalConfig> load_config(const std::filesystem::path& file) {
  SOLMARK_TRY(std::string text, read_file(file, kMaxConfigBytes));
  return decode_config(text, file.string());
}

}  // namespace solmark::problem
