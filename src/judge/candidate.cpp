#include "judge/candidate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "device/window.h"
#include "protocol/message.h"

namespace solmark::judge {
namespace {

Json window_json() { return Json{{"base", device::kWindowBase}, {"bytes", device::kWindowBytes}}; }

// Error replies of a worker, by kind. "worker" is a request that the worker could not understand: ours.
TraceStatus status_of_kind(const std::string& kind) {
  if (kind == "shape") return TraceStatus::kIncorrectShape;
  if (kind == "dtype" || kind == "device") return TraceStatus::kIncorrectDtype;
  if (kind == "worker" || kind == "replay" || kind == "replayer") return TraceStatus::kInfraError;
  return TraceStatus::kRuntimeError;
}

// "kind: message", as a serving child writes it on the doorbell page.
Fault fault_of_batch(const protocol::Rung& rung) {
  auto colon = rung.message.find(": ");
  std::string kind = colon == std::string::npos ? "runtime" : rung.message.substr(0, colon);
  std::string words = colon == std::string::npos ? rung.message : rung.message.substr(colon + 2);
  // In a replayer nothing but the candidate's kernels can fail.
  if (kind == "replay") kind = "runtime";
  return {status_of_kind(kind), fmt::format("call on slot {} of a timed batch: {}", rung.failed_slot, words),
          false};
}

}  // namespace

Fault Server::lost(const Error& error, const std::string& doing) {
  Fault out;
  out.process_lost = true;
  bool timeout = error.code == ErrorCode::kTimeout;
  out.status = timeout ? TraceStatus::kTimeout : TraceStatus::kRuntimeError;
  Error exact = timeout ? error : peer_->explain(error);
  out.words = timeout ? fmt::format("{} took longer than its time limit", doing)
                      : fmt::format("{}: {}", doing, exact.text());
  peer_->kill();
  if (std::string printed = peer_->output(); !printed.empty())
    out.words += "\n--- output of the " + name_ + " ---\n" + printed;
  return out;
}

Step Server::ask(const Json& body, const std::vector<int>& descriptors, std::chrono::milliseconds limit,
                 const std::string& doing, protocol::Message* reply) {
  if (peer_ == nullptr) return Fault{TraceStatus::kInfraError, name_ + " is not running", true};
  auto got = peer_->channel().request(body, descriptors, limit, [this] { return peer_->running(); });
  if (!got.ok()) return lost(got.error(), doing);
  if (!got->is_ok()) {
    std::string kind = got->text("kind", "runtime");
    return Fault{status_of_kind(kind), fmt::format("{}: {}", doing, got->text("message", "no message")),
                 false};
  }
  if (reply != nullptr) *reply = std::move(*got);
  return {};
}

Step Server::start_serving(std::size_t slots, protocol::Wait wait, bool as_graph) {
  SOLMARK_STEP_TRY(protocol::Bell bell, protocol::Bell::create(wait));
  bell_ = std::make_unique<protocol::Bell>(std::move(bell));
  // The reply to `serve` comes when serving ends; stop_serving reads it.
  Json body{{"type", "serve"}, {"id", 0}, {"slots", slots}};
  if (as_graph) body["graph"] = true;
  auto sent = peer_->channel().send(body, {bell_->fd()});
  if (!sent.ok()) return lost(sent.error(), "start of a batch");
  return {};
}

std::variant<double, Fault> Server::ring(protocol::Ring what, const Limits& limits) {
  auto rung = bell_->ring(what, limits.batch, [this] { return peer_->running(); });
  if (!rung.ok()) return lost(rung.error(), "timed batch");
  if (rung->failed_slot >= 0) return fault_of_batch(*rung);
  return rung->elapsed_s;
}

Step Server::stop_serving(const Limits& limits) {
  auto rung = ring(protocol::Ring::kQuit, limits);
  if (auto* fault = std::get_if<Fault>(&rung)) return *fault;
  auto reply = peer_->channel().receive(limits.call, [this] { return peer_->running(); });
  if (!reply.ok()) return lost(reply.error(), "end of a batch");
  bell_.reset();
  return {};
}

Step Worker::start(const Installation& installation, const std::string& device_name,
                   const build::Artefact& artefact, bool destination_passing, bool sealing,
                   const Limits& limits) {
  SpawnSpec spec;
  spec.environment = child_environment(installation);
  spec.folder = artefact.folder;
  if (artefact.kind == build::ArtefactKind::kSharedObject) {
    spec.argv = {installation.worker.string(), "--channel", "3"};
  } else {
    // -P: the working folder holds the candidate's sources. Not before PyTorch is imported may a `random.py`
    // among them be found.
    spec.argv = {installation.python, "-P", "-m",        "solmark.worker",
                 "--channel",         "3",  "--library", installation.worker_library.string()};
    // The library stands before the CUDA runtime in symbol lookup, so that allocations land in the window.
    if (device_name != "cpu") spec.environment["LD_PRELOAD"] = installation.worker_library.string();
  }
  SOLMARK_STEP_TRY(protocol::Peer peer, protocol::Peer::start(std::move(spec), "worker"));
  peer_ = std::make_unique<protocol::Peer>(std::move(peer));
  SOLMARK_STEP(
      ask(Json{{"type", "hello"}, {"version", protocol::kVersion}}, {}, limits.load, "start of the worker"));
  Json load{{"type", "load"},
            {"device", device_name},
            {"artefact",
             {{"kind", std::string(build::artefact_kind_name(artefact.kind))},
              {"path", artefact.path.string()},
              {"entry", artefact.entry},
              {"destination_passing", destination_passing}}},
            {"window", window_json()},
            {"sealing", sealing}};
  return ask(load, {}, limits.load, "load of the candidate");
}

Step Worker::bind(const BindingView& view, const Limits& limits) {
  SOLMARK_STEP_TRY(Fd inputs, view.inputs->share(device::Access::kRead));
  SOLMARK_STEP_TRY(Fd outputs, view.outputs->share(device::Access::kReadWrite));
  Json axes = Json::object();
  for (const auto& [name, value] : *view.axes) axes[name] = value;
  Json body{{"type", "bind"},
            {"axes", std::move(axes)},
            {"regions", Json::array({device::region_json(*view.inputs, 0, device::Access::kRead),
                                     device::region_json(*view.outputs, 1, device::Access::kReadWrite)})},
            {"inputs", device::tensors_json(*view.input_layout, 0, 0, *view.scalars)},
            {"outputs", device::tensors_json(*view.output_layout, 1, 0, Json::object())},
            {"slots", view.slots}};
  return ask(body, {inputs.get(), outputs.get()}, limits.load, "binding of buffers");
}

Step Worker::call(std::size_t slot, std::chrono::milliseconds limit) {
  return ask(Json{{"type", "call"}, {"slot", slot}}, {}, limit, "call of the candidate");
}

std::variant<SealedCalls, Worker::Unsealable, Fault> Worker::seal(std::size_t slots, const Limits& limits) {
  auto got = peer_->channel().request(Json{{"type", "seal"}, {"slots", slots}}, {}, limits.capture,
                                      [this] { return peer_->running(); });
  if (!got.ok()) return lost(got.error(), "capture of the candidate's calls");
  if (!got->is_ok()) {
    std::string kind = got->text("kind", "runtime");
    if (kind == "unsealable") return Unsealable{got->text("message", "no reason given")};
    return Fault{status_of_kind(kind), "capture of the candidate's calls: " + got->text("message"), false};
  }
  auto broken = [](const std::string& what) {
    return Fault{TraceStatus::kInfraError, "the worker's seal reply has " + what, true};
  };
  SealedCalls out;
  if (got->descriptors.empty()) return broken("no descriptor");
  std::int64_t bytes = got->integer("bytes", -1);
  if (bytes <= 0) return broken("no size");
  out.bytes = static_cast<std::size_t>(bytes);
  out.seal = std::move(got->descriptors[0]);
  if (auto it = got->body.find("summary"); it != got->body.end()) out.summary = to_json_line(*it);
  auto scratch = got->body.find("scratch");
  if (scratch == got->body.end() || !scratch->is_array()) return broken("no list of scratch memory");
  for (const Json& entry : *scratch) {
    ScratchRegion region;
    auto field = [&](const char* name) -> std::optional<std::uint64_t> {
      auto it = entry.find(name);
      if (it == entry.end() || !it->is_number_unsigned()) return std::nullopt;
      return it->get<std::uint64_t>();
    };
    auto fd = field("fd");
    auto address = field("address");
    auto size = field("bytes");
    if (!fd || !address || !size || *fd == 0 || *fd >= got->descriptors.size() ||
        !got->descriptors[*fd].valid()) {
      return broken("scratch memory without a descriptor");
    }
    if (*address < device::kScratchBase || *size > device::kScratchBytes ||
        *address - device::kScratchBase > device::kScratchBytes - *size) {
      return broken("scratch memory outside its window");
    }
    region.address = *address;
    region.bytes = *size;
    region.fd = std::move(got->descriptors[*fd]);
    out.scratch.push_back(std::move(region));
  }
  return out;
}

void Worker::end() {
  if (peer_ == nullptr) return;
  peer_->kill();
  peer_.reset();
}

std::string Worker::output() const { return peer_ == nullptr ? std::string() : peer_->output(); }

void Replayer::end() {
  if (peer_ != nullptr) peer_->kill();
  peer_.reset();
}

Step Replayer::load(const Installation& installation, const std::string& device_name, const BindingView& view,
                    const SealedCalls& sealed, const Limits& limits, bool trace_graphs) {
  places_.clear();
  if (peer_ == nullptr) {
    SpawnSpec spec;
    spec.environment = child_environment(installation);
    spec.argv = {installation.replayer.string(), "--channel", "3"};
    SOLMARK_STEP_TRY(protocol::Peer peer, protocol::Peer::start(std::move(spec), "replayer"));
    peer_ = std::make_unique<protocol::Peer>(std::move(peer));
    SOLMARK_STEP(ask(Json{{"type", "hello"}, {"version", protocol::kVersion}}, {}, limits.load,
                     "start of the replayer"));
  }
  SOLMARK_STEP_TRY(Fd inputs, view.inputs->share(device::Access::kRead));
  SOLMARK_STEP_TRY(Fd outputs, view.outputs->share(device::Access::kReadWrite));
  std::vector<int> descriptors = {inputs.get(), outputs.get()};
  Json regions = Json::array({device::region_json(*view.inputs, 0, device::Access::kRead),
                              device::region_json(*view.outputs, 1, device::Access::kReadWrite)});
  for (const ScratchRegion& scratch : sealed.scratch) {
    regions.push_back(Json{{"fd", descriptors.size()},
                           {"address", scratch.address},
                           {"bytes", scratch.bytes},
                           {"access", "rw"}});
    descriptors.push_back(scratch.fd.get());
  }
  descriptors.push_back(sealed.seal.get());
  Json body{{"type", "load"},
            {"device", device_name},
            {"window", window_json()},
            {"regions", regions},
            {"bytes", sealed.bytes}};
  if (trace_graphs) body["trace_graphs"] = true;
  protocol::Message reply;
  SOLMARK_STEP(ask(body, descriptors, limits.load, "load of the sealed calls", &reply));
  auto outputs_it = reply.body.find("outputs");
  if (outputs_it == reply.body.end() || !outputs_it->is_array()) return {};
  for (const Json& slot : *outputs_it) {
    std::vector<OutputPlace> places;
    for (const Json& place : slot) {
      places.push_back({place.value("region", 1), place.value("offset", std::size_t{0})});
    }
    places_.push_back(std::move(places));
  }
  return {};
}

Result<Json> Replayer::profile(const Limits& limits, bool graph) {
  SOLMARK_TRY(protocol::Message reply,
              peer_->request(Json{{"type", "profile"}, {"graph", graph}}, {}, limits.batch));
  if (!reply.is_ok()) return machine_error("profile: " + reply.text("message"));
  return reply.body;
}

}  // namespace solmark::judge
