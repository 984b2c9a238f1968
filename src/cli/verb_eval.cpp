#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "judge/evaluate.h"
#include "report/verdict_table.h"

namespace solmark::cli {
namespace {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

Result<int> eval(EvalCommand command, const World& world) {
  SOLMARK_TRY(command.options.installation, judge::find_installation(world.environment, command.python));
  // Opened with the first trace: a mistyped problem must not cost the last evaluation's file.
  std::ofstream file;
  std::filesystem::path folder = std::filesystem::path(command.output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    return usage_error("cannot write " + command.output, "give -o a file in a folder that exists");
  }
  std::vector<judge::Trace> traces;
  judge::EvalCallbacks callbacks;
  callbacks.trace = [&](const judge::Trace& trace) {
    std::string line = to_json_line(judge::trace_json(trace)) + "\n";
    if (!command.output.empty()) {
      if (!file.is_open()) file.open(command.output, std::ios::trunc);
      file << line << std::flush;
    }
    if (command.json) {
      print(line);
    } else {
      if (traces.empty()) print(report::VerdictTable::header(trace));
      print(report::VerdictTable::row(trace));
    }
    traces.push_back(trace);
  };
  callbacks.warning = [](const std::string& warning) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  };
  if (!command.quiet && world.stderr_is_terminal) {
    callbacks.progress = [](const std::string& line) { std::fprintf(stderr, "… %s\n", line.c_str()); };
  }
  SOLMARK_TRY(judge::EvalSummary summary, judge::evaluate(command.options, callbacks));
  if (!command.output.empty() && !file) return machine_error(command.output + " could not be written");
  if (!command.json) {
    print(report::VerdictTable::details(traces));
    print(report::VerdictTable::footer(traces));
  }
  return summary.passed == summary.workloads ? 0 : 1;
}

Result<int> seal(SealCommand command, const World& world) {
  SOLMARK_TRY(command.options.installation, judge::find_installation(world.environment, command.python));
  command.options.seal_output = command.output;
  command.options.require_sealed = true;
  command.options.time_reference = false;
  judge::EvalCallbacks callbacks;
  callbacks.trace = [](const judge::Trace& trace) {
    bool ok = trace.status == judge::TraceStatus::kPassed;
    print(fmt::format("{}  {}\n", trace.uuid,
                      ok ? "sealed" : judge::status_name(trace.status) + ": " + trace.log));
  };
  callbacks.warning = [](const std::string& warning) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  };
  SOLMARK_TRY(judge::EvalSummary summary, judge::evaluate(command.options, callbacks));
  return summary.passed == summary.workloads ? 0 : 1;
}

}  // namespace solmark::cli
