#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process.h"
#include "cli/verbs.h"
#include "device/device.h"
#include "judge/installation.h"

namespace solmark::cli {
namespace {

struct Finding {
  std::string id;
  bool ok = false;
  std::string text;
  std::string mend;
};

// First line of a command's output, or nullopt when it does not run and end well.
std::optional<std::string> first_line_of(const std::vector<std::string>& argv,
                                         const std::map<std::string, std::string>& environment) {
  SpawnSpec spec;
  spec.argv = argv;
  spec.environment = environment;
  auto child = Child::spawn(spec);
  if (!child.ok()) return std::nullopt;
  auto end = child->wait(std::chrono::seconds(60));
  child->kill();
  if (!end.ok() || end->signalled || end->code != 0) return std::nullopt;
  std::string text = child->output();
  return text.substr(0, text.find('\n'));
}

Finding check_command(const std::string& id, const std::vector<std::string>& argv, const std::string& mend,
                      const std::map<std::string, std::string>& environment) {
  auto line = first_line_of(argv, environment);
  return {id, line.has_value(), line.value_or(argv.front() + " does not run"), line ? "" : mend};
}

Finding check_device(const std::string& name, const std::string& mend) {
  auto device = device::open_device(name);
  if (!device.ok()) return {"device_" + name, false, device.error().text(), mend};
  const auto& info = (*device)->info();
  std::string text = fmt::format("{}, {} {}, {:.1f} GiB, last-level cache {:.1f} MiB", info.name,
                                 info.multiprocessors, info.kind == "cpu" ? "hardware threads" : "SMs",
                                 static_cast<double>(info.memory_bytes) / (1 << 30),
                                 static_cast<double>(info.last_level_cache_bytes) / (1 << 20));
  if (!info.driver.empty()) text += ", driver " + info.driver;
  return {"device_" + name, true, text, ""};
}

}  // namespace

Result<int> doctor(const DoctorCommand& command, const World& world) {
  std::vector<Finding> findings;
  auto installation = judge::find_installation(world.environment, command.python);
  if (!installation.ok()) {
    findings.push_back({"installation", false, installation.error().text(), installation.error().mend});
  } else {
    findings.push_back(
        {"installation", true, "programs in " + installation->worker.parent_path().string(), ""});
    auto environment = judge::child_environment(*installation);
    findings.push_back(check_command("python", {installation->python, "--version"},
                                     "install Python 3.11 or newer, or name one with --python", environment));
    findings.push_back(check_command(
        "torch", {installation->python, "-P", "-c", "import torch; print('PyTorch', torch.__version__)"},
        installation->python + " -m pip install 'torch>=2.9' numpy safetensors", environment));
    findings.push_back(check_command("numpy_safetensors",
                                     {installation->python, "-P", "-c",
                                      "import numpy, safetensors; print('numpy', numpy.__version__, "
                                      "'safetensors', safetensors.__version__)"},
                                     installation->python + " -m pip install numpy safetensors",
                                     environment));
    findings.push_back(check_command(
        "triton", {installation->python, "-P", "-c", "import triton; print('Triton', triton.__version__)"},
        "only for Triton candidates: pip install triton", environment));
    findings.push_back(
        check_command("g++", {"g++", "--version"}, "only for cpp candidates: apt install g++", environment));
    findings.push_back(check_command(
        "nvcc", {"nvcc", "--version"},
        "only for CUDA C++ candidates: install the CUDA toolkit and put nvcc on PATH", environment));
  }
  findings.push_back(check_device("cpu", ""));
  findings.push_back(check_device("cuda", "only for GPU candidates: install NVIDIA's driver (libcuda.so.1)"));
  for (const Finding& f : findings) {
    if (command.json) {
      std::printf(
          "%s\n",
          to_json_line(Json{{"id", f.id}, {"ok", f.ok}, {"finding", f.text}, {"mend", f.mend}}).c_str());
    } else {
      std::printf("%s\n", fmt::format("{:<5} {:<18} {}", f.ok ? "ok" : "no", f.id, f.text).c_str());
      if (!f.mend.empty()) std::printf("      %-18s → %s\n", "", f.mend.c_str());
    }
  }
  bool needed = true;  // what the CPU device cannot do without
  for (const Finding& f : findings) {
    if (f.id == "installation" || f.id == "python" || f.id == "torch" || f.id == "numpy_safetensors")
      needed = needed && f.ok;
  }
  return needed ? 0 : 4;
}

}  // namespace solmark::cli
