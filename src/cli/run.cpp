#include "cli/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "cli/verbs.h"
#include "problem/suggestion.h"

namespace solmark::cli {
namespace {

using Action = std::function<Result<int>()>;

void add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& target,
                  const std::string& text) {
  app.add_option_function<double>(
         name,
         [&target](double seconds) {
           // at least the clock's step; at most what every sum of limits still holds
           target = std::chrono::milliseconds(std::llround(std::clamp(seconds * 1000, 1.0, 1e12)));
         },
         fmt::format("{} [{} s]", text, target.count() / 1000))
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
}

// Options that `eval` and `seal` share.
void add_evaluation(CLI::App& app, judge::EvalOptions& o, std::string& python) {
  app.add_option("problem", o.problem,
                 "problem folder (definition.json, workload.jsonl) or a definition file")
      ->required();
  app.add_option("--solution,-s", o.solution, "solution.json of the candidate [the problem folder's]");
  app.add_option("--workloads-file", o.workload_file, "workload.jsonl to use instead of the problem's");
  app.add_option("--workload,-w", o.workloads, "judge only the workload with this uuid (repeatable)")
      ->type_name("UUID");
  app.add_option("--device,-d", o.device, "cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--python", python,
                 "Python with PyTorch [$SOLMARK_PYTHON, the active virtual environment, python3]");
  app.add_option("--max-slots", o.max_slots, "most calls in a batch")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  add_duration(app, "--compile-timeout", o.limits.compile, "time limit of a build");
  add_duration(app, "--load-timeout", o.limits.load, "time limit of the candidate's load");
  add_duration(app, "--first-call-timeout", o.limits.first_call,
               "time limit of the first call of a workload");
  add_duration(app, "--call-timeout", o.limits.call, "time limit of a later untimed call");
  add_duration(app, "--capture-timeout", o.limits.capture, "time limit of sealing");
  add_duration(app, "--reference-timeout", o.limits.reference, "time limit of one run of the reference");
}

void add_eval(CLI::App& app, Action& action, const World& world) {
  auto command = std::make_shared<EvalCommand>();
  CLI::App* verb =
      app.add_subcommand("eval", "judge a candidate: is it right, how fast, how far from the bound");
  auto& o = command->options;
  add_evaluation(*verb, o, command->python);
  verb->add_option("--config", o.config_file, "config.json to use instead of the problem's");
  verb->add_option("--seal", o.seal_file, "judge the sealed calls of this file (no candidate code runs)");
  verb->add_option("--baseline", o.baseline_file,
                   "traces of another solution: its times are t_b of the score");
  verb->add_option("--arch", o.arch, "arch name or file for the bound [by the device]");
  verb->add_option("--clock", o.clock,
                   "clock policy of the bound: max, datasheet, locked or locked:CLOCK (1500MHz, 1.5GHz)")
      ->capture_default_str();
  verb->add_option_function<std::string>(
          "--rule",
          [&o](const std::string& rule) {
            o.rule =
                rule == "flashinfer" ? stats::CompareRule::kFlashinfer : stats::CompareRule::kSolExecbench;
          },
          "comparison rule: sol-execbench (default) or flashinfer")
      ->check(CLI::IsMember({"sol-execbench", "flashinfer"}));
  verb->add_option_function<double>(
          "--target", [&o](double percent) { o.stopping.target_relative_half_width = percent / 100; },
          "measure until the 95 % interval of the median is within ± this many percent [0.5]")
      ->check(CLI::PositiveNumber)
      ->type_name("PERCENT");
  verb->add_option_function<double>(
          "--budget", [&o](double ms) { o.stopping.budget_s = ms / 1000; },
          "or until this much time is measured (an interval beyond ±5 %: nine batches) [20]")
      ->check(CLI::PositiveNumber)
      ->type_name("MS");
  verb->add_option("--sets", o.sets_per_batch, "fresh input sets in each batch")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  verb->add_option_function<std::uint64_t>(
      "--seed", [&o](std::uint64_t seed) { o.seed = seed; },
      "repeat an evaluation with the seed of its trace [secret]");
  add_duration(*verb, "--batch-timeout", o.limits.batch, "time limit of a timed batch");
  verb->add_flag("--warm", o.warm, "one slot: caches as the last call left them");
  verb->add_flag("--live", o.live_only, "do not seal: time the worker's own launches");
  verb->add_flag("--compare-live", o.compare_live,
                 "also time the worker's own graph of the sealed calls (live_graph_ns)");
  verb->add_flag("--require-sealed", o.require_sealed, "what cannot be sealed is a run-time error");
  verb->add_flag("--profile", o.profile, "list the kernels of one call (sealed calls on a GPU)");
  verb->add_flag("!--no-reference-time", o.time_reference, "do not time the reference");
  verb->add_flag("--json", command->json, "one trace a line on stdout");
  verb->add_option("-o,--output", command->output, "also write the traces to this file")->type_name("FILE");
  verb->add_flag("-q,--quiet", command->quiet, "no progress");
  verb->final_callback(
      [command, &action, &world] { action = [command, &world] { return eval(*command, world); }; });
}

void add_seal(CLI::App& app, Action& action, const World& world) {
  auto command = std::make_shared<SealCommand>();
  command->options.device = "cuda";
  CLI::App* verb = app.add_subcommand("seal", "capture a candidate's calls into a file for `eval --seal`");
  add_evaluation(*verb, command->options, command->python);
  verb->add_option("-o,--output", command->output, "file to write")->required()->type_name("FILE");
  verb->final_callback(
      [command, &action, &world] { action = [command, &world] { return seal(*command, world); }; });
}

void add_bound(CLI::App& app, Action& action, const World& world) {
  auto command = std::make_shared<BoundCommand>();
  CLI::App* verb = app.add_subcommand("bound", "the shortest time any kernel could take, and what limits it");
  verb->add_option("problem", command->target, "problem folder, definition file or recorded graph (.json)")
      ->required();
  verb->add_option("--arch,-a", command->archs, "arch names or files, separated by commas")
      ->delimiter(',')
      ->required();
  verb->add_option("--workload,-w", command->workloads, "only this workload (repeatable)")->type_name("UUID");
  verb->add_option("--clock", command->clock, "max, datasheet, locked or locked:CLOCK (1500MHz, 1.5GHz)")
      ->capture_default_str();
  verb->add_option("--device", command->device, "device that the reference is recorded for")
      ->capture_default_str();
  verb->add_option("--level", command->level, "0 I/O, 1 algebra-exact, 2 classical")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  verb->add_option("--save-graph", command->save_graph, "write the recorded graphs into this folder")
      ->type_name("FOLDER");
  verb->add_option("--python", command->python, "Python with PyTorch");
  verb->add_flag("--warm", command->warm, "inputs may be in the cache");
  verb->add_flag("--explain", command->explain, "the terms behind the number");
  verb->add_flag("--json", command->json, "JSON on stdout");
  verb->final_callback(
      [command, &action, &world] { action = [command, &world] { return bound(*command, world); }; });
}

void add_arch(CLI::App& app, Action& action) {
  CLI::App* arch =
      app.add_subcommand("arch", "machine descriptions: list, show, probe")->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  CLI::App* list = arch->add_subcommand("list", "all known archs");
  list->add_flag("--json", *json, "JSON on stdout");
  list->final_callback([&action, json] { action = [json] { return arch_list(*json); }; });
  auto name = std::make_shared<std::string>();
  CLI::App* show = arch->add_subcommand("show", "one arch: every figure with its source");
  show->add_option("name", *name, "name or file")->required();
  show->add_flag("--json", *json, "JSON on stdout");
  show->final_callback([&action, name, json] { action = [name, json] { return arch_show(*name, *json); }; });
  auto probe = std::make_shared<ArchProbeCommand>();
  CLI::App* measure = arch->add_subcommand("probe", "measure this machine's ceilings and write an arch file");
  measure->add_option("-o,--output", probe->output, "file to write [stdout]")->type_name("FILE");
  measure->add_option("--device,-d", probe->device, "cpu or cuda[:N]")->capture_default_str();
  measure->final_callback([&action, probe] { action = [probe] { return arch_probe(*probe); }; });
}

void add_problems(CLI::App& app, Action& action) {
  CLI::App* problems =
      app.add_subcommand("problems", "problem files: list, show, check")->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  auto paths = std::make_shared<std::vector<std::string>>();
  CLI::App* list = problems->add_subcommand("list", "the problems below a folder");
  list->add_option("folder", *paths, "folder")->required()->expected(1);
  list->add_flag("--json", *json, "JSON on stdout");
  list->final_callback(
      [&action, paths, json] { action = [paths, json] { return problems_list(paths->front(), *json); }; });
  CLI::App* show = problems->add_subcommand("show", "one problem: axes, tensors, workloads");
  show->add_option("problem", *paths, "problem folder or definition file")->required()->expected(1);
  show->add_flag("--json", *json, "JSON on stdout");
  show->final_callback(
      [&action, paths, json] { action = [paths, json] { return problems_show(paths->front(), *json); }; });
  CLI::App* check =
      problems->add_subcommand("check", "read every file of the problems and say what is wrong");
  check->add_option("problem", *paths, "problem folders")->required();
  check->add_flag("--json", *json, "JSON on stdout");
  check->final_callback(
      [&action, paths, json] { action = [paths, json] { return problems_check(*paths, *json); }; });
}

void add_doctor(CLI::App& app, Action& action, const World& world) {
  auto command = std::make_shared<DoctorCommand>();
  CLI::App* verb =
      app.add_subcommand("doctor", "what this machine can do, what it cannot, and how to mend it");
  verb->add_option("--python", command->python, "Python with PyTorch");
  verb->add_flag("--json", command->json, "JSON on stdout");
  verb->final_callback(
      [command, &action, &world] { action = [command, &world] { return doctor(*command, world); }; });
}

// All option and verb names, for suggestions.
std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    out.push_back(verb->get_name());
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
    auto inner = known_words(*verb);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

int usage_exit(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
  std::string text = error.what();
  std::fprintf(stderr, "error: %s\n", text.c_str());
  std::vector<std::string> known = known_words(app);
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    word = word.substr(0, word.find('='));
    // A verb, a verb's verb, or an option.
    bool nested = i == 2 && (std::string(argv[1]) == "arch" || std::string(argv[1]) == "problems");
    bool suspicious = i == 1 || nested || word.rfind("--", 0) == 0;
    if (!suspicious || std::find(known.begin(), known.end(), word) != known.end()) continue;
    if (std::string near = problem::nearest_name(word, known); !near.empty()) {
      std::fprintf(stderr, "  \"%s\": did you mean \"%s\"?\n", word.c_str(), near.c_str());
    }
  }
  std::fprintf(stderr, "  see `solmark --help` or `solmark VERB --help`\n");
  return 2;
}

}  // namespace

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUsage:
      return 2;
    case ErrorCode::kBadInput:
      return 3;
    case ErrorCode::kMachine:
      return 4;
    case ErrorCode::kInternal:
      return 5;
    case ErrorCode::kTimeout:
      return 124;
  }
  return 5;
}

int report_error(const Error& error) {
  std::string head = error.where.empty() ? error.message : error.where + ": " + error.message;
  std::fprintf(stderr, "error: %s\n", head.c_str());
  if (!error.mend.empty()) std::fprintf(stderr, "  %s\n", error.mend.c_str());
  return exit_code(error);
}

int run(int argc, const char* const* argv, const World& world) {
  CLI::App app{"How close is a GPU kernel to the speed of light?"};
  app.name("solmark");
  app.footer(
      "Examples:\n"
      "  solmark eval problems/rms_norm -s problems/rms_norm/solutions/cpp/solution.json\n"
      "  solmark eval problems/rms_norm -s problems/rms_norm/solutions/cuda/solution.json -d cuda -o "
      "traces.jsonl\n"
      "  solmark bound problems/rms_norm --arch h200-sxm,b200\n"
      "Exit codes: 0 all passed, 1 negative verdict, 2 usage, 3 bad input file, 4 the machine cannot do it,\n"
      "5 internal error, 124 time limit.");
  app.require_subcommand(1);
  app.set_version_flag("--version", "solmark 0.1.0");
  Action action;
  add_eval(app, action, world);
  add_seal(app, action, world);
  add_bound(app, action, world);
  add_arch(app, action);
  add_problems(app, action);
  add_doctor(app, action, world);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::string help =
        app.get_subcommands().empty() ? app.help() : app.get_subcommands().back()->help("solmark");
    std::printf("%s", help.c_str());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_exit(app, error, argc, argv);
  }
  Result<int> code = action();
  return code.ok() ? *code : report_error(code.error());
}

}  // namespace solmark::cli
