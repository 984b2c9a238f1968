#include "build/run_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "base/process.h"

namespace solmark::build {
namespace {

std::string show(const std::vector<std::string>& command) {
  return fmt::format("$ {}\n", fmt::join(command, " "));
}

}  // namespace

std::string shorten(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t half = limit / 2;
  return fmt::format("{}\n[... {} bytes left out ...]\n{}", text.substr(0, half), text.size() - 2 * half,
                     text.substr(text.size() - half));
}

Result<StepsResult> run_steps(const std::vector<std::vector<std::string>>& commands,
                              const std::filesystem::path& folder,
                              const std::map<std::string, std::string>& environment,
                              std::chrono::steady_clock::time_point end, std::size_t log_limit) {
  StepsResult out;
  std::size_t group = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t first = 0; first < commands.size() && out.ok; first += group) {
    std::size_t last = std::min(first + group, commands.size());
    std::vector<Child> children;
    for (std::size_t i = first; i < last; ++i) {
      SpawnSpec spec;
      spec.argv = commands[i];
      spec.environment = environment;
      spec.folder = folder;
      spec.output_limit = log_limit;
      SOLMARK_TRY(Child child, Child::spawn(spec));
      children.push_back(std::move(child));
    }
    for (std::size_t i = first; i < last; ++i) {
      Child& child = children[i - first];
      auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      auto ended = child.wait(std::max(left, std::chrono::milliseconds(0)));
      child.kill();  // whoever is left of its group; this also completes its output
      std::string text = child.output();
      if (!ended) {
        out.ok = false;
        out.timed_out = true;
        out.log += show(commands[i]) + text + "\nnot done within the time limit: killed\n";
      } else if (ended->signalled || ended->code != 0) {
        out.ok = false;
        out.log += show(commands[i]) + text + "\n" + ended->text() + "\n";
      } else if (!text.empty()) {
        out.log += show(commands[i]) + text;
      }
    }
  }
  out.log = shorten(out.log, log_limit);
  return out;
}

}  // namespace solmark::build
