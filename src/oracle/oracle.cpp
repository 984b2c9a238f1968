#include "oracle/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "oracle/requests.h"
#include "protocol/message.h"

namespace solmark::oracle {
namespace {

constexpr std::size_t kShownOutput = 2000;

bool is_fault_of_problem(const std::string& kind) {
  return kind == "reference" || kind == "inputs" || kind == "shape" || kind == "flags" || kind == "values";
}

std::string last_of(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() > kShownOutput) text = "..." + text.substr(text.size() - kShownOutput);
  return text.empty() ? "it printed nothing" : "its last output:\n" + text;
}

Error broken_reply(const std::string& request) {
  return internal_error(fmt::format("the oracle's reply to `{}` is not as agreed", request));
}

// The child's environment: ours, the package, and without variables that change PyTorch's arithmetic.
std::map<std::string, std::string> environment_of(const OracleOptions& options,
                                                  const std::filesystem::path& folder) {
  auto out = options.environment;
  for (const char* name : {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NVIDIA_TF32_OVERRIDE", "PYTHONSTARTUP"})
    out.erase(name);
  std::string& path = out["PYTHONPATH"];
  std::string root = options.package_root.string();
  if (path.empty()) {
    path = root;
  } else if (path != root && path.rfind(root + ":", 0) != 0) {
    path = root + ":" + path;
  }
  out["PYTHONUNBUFFERED"] = "1";
  out["PYTHONDONTWRITEBYTECODE"] = "1";
  out["SOLMARK_REFERENCE_FOLDER"] = folder.string();
  return out;
}

}  // namespace

struct Oracle::Answer {
  std::optional<OracleFault> fault;
  Json body;
};

Oracle::Oracle(OracleOptions options, TemporaryFolder folder, protocol::Peer peer)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      peer_(std::make_unique<protocol::Peer>(std::move(peer))) {}
Oracle::Oracle(Oracle&&) noexcept = default;
Oracle& Oracle::operator=(Oracle&&) noexcept = default;
Oracle::~Oracle() {
  if (peer_ != nullptr) peer_->kill();
}

Result<Oracle> Oracle::start(const OracleOptions& options) {
  SOLMARK_TRY(Oracle oracle, spawn(options));
  SOLMARK_CHECK_OK(oracle.greet());
  return oracle;
}

Result<Oracle> Oracle::spawn(const OracleOptions& options) {
  if (!std::filesystem::exists(options.package_root / "solmark" / "oracle" / "__main__.py")) {
    return machine_error(
        fmt::format("the oracle's Python package is not in {}", options.package_root.string()),
        "install Solmark whole, or run it from its source tree");
  }
  SOLMARK_TRY(TemporaryFolder folder, TemporaryFolder::create("solmark-oracle"));
  SpawnSpec spec;
  spec.argv = {options.python, "-m", "solmark.oracle", "--channel", std::to_string(protocol::kChannelNumber)};
  spec.environment = environment_of(options, folder.path());
  if (options.recorder) {
    spec.argv.emplace_back("--recorder");
    spec.environment["CUDA_VISIBLE_DEVICES"] = "";
  }
  spec.folder = folder.path();
  spec.output_limit = options.output_limit;
  SOLMARK_TRY(protocol::Peer peer, protocol::Peer::start(std::move(spec), "the oracle"));
  return Oracle(options, std::move(folder), std::move(peer));
}

Status Oracle::greet() {
  Json hello{{"type", "hello"}, {"version", protocol::kVersion}, {"device", options_.device}};
  auto got = peer_->channel().request(std::move(hello), {}, options_.start_limit);
  if (!got.ok()) {
    auto end = peer_->child().wait(std::chrono::milliseconds(500));
    if (end.ok() && !end->signalled && end->code == 127) {
      return machine_error(fmt::format("{} cannot be executed", options_.python),
                           "install Python 3.11 or later with PyTorch, or name an interpreter with --python");
    }
    return lost(got.error(), "hello");
  }
  if (!got->is_ok()) return refusal(got->text("kind"), got->text("message"));
  for (const char* name : {"torch", "numpy", "python", "triton"}) {
    if (std::string version = got->text(name); !version.empty()) libraries_.emplace_back(name, version);
  }
  device_name_ = got->text("device_name");
  return success();
}

Error Oracle::lost(const Error& error, const std::string& request) {
  if (error.code == ErrorCode::kTimeout) {
    return timeout_error(
        fmt::format("the oracle did not answer `{}` in time; {}", request, last_of(peer_->output())));
  }
  Error exact = peer_->explain(error);
  exact.message =
      fmt::format("{} while it answered `{}`; {}", exact.message, request, last_of(peer_->output()));
  return exact;
}

Error Oracle::refusal(const std::string& kind, const std::string& message) const {
  if (kind == "missing") {
    return machine_error(fmt::format("{} has no package {}", options_.python, message),
                         fmt::format("{} -m pip install {}", options_.python, message));
  }
  if (kind == "machine") {
    return machine_error(message, options_.device == "cpu"
                                      ? std::string()
                                      : fmt::format("check with {} -c 'import torch; torch.zeros(1, "
                                                    "device=\"cuda\")'",
                                                    options_.python));
  }
  if (kind == "memory")
    return machine_error(message, "free memory, or leave this workload out with --workload");
  return internal_error(
      fmt::format("the oracle refused ({}): {}; {}", kind, message, last_of(peer_->output())));
}

Result<Oracle::Answer> Oracle::ask(Json request, const std::vector<int>& descriptors,
                                   std::chrono::milliseconds limit) {
  std::string type = request["type"].get<std::string>();
  if (gone_) return internal_error("the oracle is gone");
  auto got =
      peer_->channel().request(std::move(request), descriptors, limit, [this] { return peer_->running(); });
  Answer answer;
  if (!got.ok()) {
    Error error = lost(got.error(), type);
    if (type != "load" && type != "set" && type != "time" && type != "record") return error;
    // These run the reference or a generator: what hangs or ends the process is in them.
    gone_ = true;
    peer_->kill();
    answer.fault = OracleFault{"reference", error.text()};
    answer.body = Json::object();
    return answer;
  }
  if (!got->is_ok()) {
    std::string kind = got->text("kind");
    std::string message = got->text("message");
    if (!is_fault_of_problem(kind)) return refusal(kind, message);
    answer.fault = OracleFault{kind, message};
  }
  answer.body = std::move(got->body);
  return answer;
}

Result<std::optional<OracleFault>> Oracle::load(const problem::Definition& definition) {
  // Two requests, so that a reference that hangs when it is imported is not given PyTorch's time as well.
  SOLMARK_TRY(Answer ready, ask(Json{{"type", "ready"}}, {}, options_.start_limit));
  SOLMARK_TRY(Answer answer, ask(load_request(definition, options_.device), {}, options_.reference_limit));
  auto cuda = answer.body.find("cuda");
  if (cuda != answer.body.end() && cuda->is_string() && libraries_.back().first != "cuda") {
    libraries_.emplace_back("cuda", cuda->get<std::string>());
  }
  return answer.fault;
}

Result<std::optional<OracleFault>> Oracle::workload(
    const problem::Definition& definition, const problem::Workload& workload, const problem::AxisValues& axes,
    const device::Layout& inputs, const device::Layout& outputs,
    const std::map<std::string, std::filesystem::path>& blobs, const Json* scalars) {
  if (inputs.tensors.size() != definition.inputs.size() ||
      outputs.tensors.size() != definition.outputs.size()) {
    return internal_error("the layouts of a workload are not its definition's");
  }
  Json body = workload_request(definition, workload, axes, inputs, outputs, blobs, scalars);
  mapped_inputs_ = mapped_expected_ = 0;
  SOLMARK_TRY(Answer answer, ask(std::move(body), {}, options_.start_limit));
  return answer.fault;
}

Result<SetReply> Oracle::make_set(const SetRequest& request) {
  Json regions = Json::array();
  std::vector<Fd> shared;
  auto add_region = [&](const device::Region& region) -> Result<int> {
    SOLMARK_TRY(Fd fd, region.share(device::Access::kReadWrite));
    int index = static_cast<int>(shared.size());
    regions.push_back(device::region_json(region, index, device::Access::kReadWrite));
    shared.push_back(std::move(fd));
    return index;
  };
  // Both regions are always sent, so that their numbers stay the same from set to set.
  auto id_of = [](const device::Region* region) { return region == nullptr ? 0 : region->id(); };
  const bool map = mapped_inputs_ != id_of(request.inputs) || mapped_expected_ != id_of(request.expected) ||
                   (request.inputs == nullptr && request.expected == nullptr);
  int next_index = 0;
  auto place = [&](const device::Region* region, const device::Layout* layout) -> Result<Json> {
    if (region != nullptr) {
      if (map) SOLMARK_CHECK_OK(add_region(*region));
      ++next_index;
    }
    if (layout == nullptr || layout->tensors.empty()) return Json(Json::array());
    if (region == nullptr && layout->slot_stride > 0) return internal_error("an input set has no memory");
    return device::tensors_json(*layout, std::max(0, next_index - 1), request.set * layout->slot_stride,
                                Json::object());
  };
  SOLMARK_TRY(Json inputs, place(request.inputs, request.input_layout));
  Json expected = Json::array();
  if (request.expected != nullptr) {
    SOLMARK_TRY(expected, place(request.expected, request.expected_layout));
  }
  std::vector<int> descriptors;
  for (const Fd& fd : shared) descriptors.push_back(fd.get());
  Json body{{"type", "set"},
            {"seed", request.seed},
            {"inputs", std::move(inputs)},
            {"expected", std::move(expected)}};
  if (map) body["regions"] = std::move(regions);
  // Until it has answered nothing is known to be mapped.
  mapped_inputs_ = mapped_expected_ = 0;
  SOLMARK_TRY(Answer answer, ask(std::move(body), descriptors, options_.reference_limit));
  if (!answer.fault) {
    mapped_inputs_ = id_of(request.inputs);
    mapped_expected_ = id_of(request.expected);
  }
  SetReply reply;
  reply.fault = std::move(answer.fault);
  if (reply.fault) return reply;
  const Json& got = answer.body;
  if (!got.contains("scalars") || !got["scalars"].is_object() || !got.contains("warnings") ||
      !got["warnings"].is_array() || !got.contains("finite") || !got["finite"].is_boolean()) {
    return broken_reply("set");
  }
  reply.scalars = std::make_shared<Json>(got["scalars"]);
  reply.finite = got["finite"].get<bool>();
  for (const auto& warning : got["warnings"]) {
    if (warning.is_string()) reply.warnings.push_back(warning.get<std::string>());
  }
  return reply;
}

Result<RecordReply> Oracle::record() {
  SOLMARK_TRY(Answer answer, ask({{"type", "record"}}, {}, options_.reference_limit));
  RecordReply reply;
  reply.fault = std::move(answer.fault);
  if (reply.fault) return reply;
  auto graph = answer.body.find("graph");
  if (graph == answer.body.end() || !graph->is_object()) return broken_reply("record");
  reply.graph = std::make_shared<Json>(std::move(*graph));
  return reply;
}

Result<ReferenceTime> Oracle::time(double seconds) {
  auto extra = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  SOLMARK_TRY(Answer answer,
              ask({{"type", "time"}, {"seconds", seconds}}, {}, options_.reference_limit + extra));
  ReferenceTime reply;
  reply.fault = std::move(answer.fault);
  if (reply.fault) return reply;
  const Json& got = answer.body;
  auto number = [](const Json& value) { return value.is_number() && value.get<double>() > 0; };
  if (!got.contains("t_ns") || !number(got["t_ns"]) || !got.contains("t_ci_ns") ||
      !got["t_ci_ns"].is_array() || got["t_ci_ns"].size() != 2 || !number(got["t_ci_ns"][0]) ||
      !number(got["t_ci_ns"][1]) || !got.contains("calls") || !got["calls"].is_number_integer()) {
    return broken_reply("time");
  }
  reply.t_s = got["t_ns"].get<double>() * 1e-9;
  reply.t_low_s = got["t_ci_ns"][0].get<double>() * 1e-9;
  reply.t_high_s = got["t_ci_ns"][1].get<double>() * 1e-9;
  reply.calls = got["calls"].get<std::int64_t>();
  return reply;
}

}  // namespace solmark::oracle
