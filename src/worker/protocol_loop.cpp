#include "worker/protocol_loop.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "protocol/message.h"
#include "worker/cpu_session.h"
#include "worker/cuda_session.h"
#include "worker/current_session.h"
#include "worker/request.h"

namespace solmark::worker {
namespace {

Outcome refuse(std::string message) { return Failure{"worker", std::move(message)}; }

Result<std::unique_ptr<Session>> open_session(const LoadRequest& request, Candidate& candidate) {
  if (!request.cuda) return std::unique_ptr<Session>(std::make_unique<CpuSession>(candidate));
  return open_cuda_session(request.open, candidate);
}

}  // namespace

struct ProtocolLoop::Reply {
  Json body = Json::object();
  SealReply seal;  // owns the descriptors until the reply is sent
  std::vector<int> descriptors;
};

ProtocolLoop::ProtocolLoop(Fd channel, const solmark_host_hooks& hooks)
    : channel_(std::move(channel)), candidate_(hooks) {}
ProtocolLoop::~ProtocolLoop() { set_current_session(nullptr); }

int ProtocolLoop::run() {
  for (;;) {
    auto message = channel_.receive(std::chrono::hours(24));
    if (!message) {
      if (message.error().code == ErrorCode::kTimeout) continue;
      bool closed = message.error().message.find("closed") != std::string::npos;
      if (!closed) std::fprintf(stderr, "solmark worker: %s\n", message.error().text().c_str());
      return closed ? 0 : 1;
    }
    std::string type = message->text("type");
    Reply reply;
    Outcome failed;
    try {
      failed = dispatch(type, message->body, message->descriptors, reply);
    } catch (const std::exception& error) {
      failed = refuse(fmt::format("{}: {}", type, error.what()));
    }
    Json answer = failed ? Json{{"type", "error"}, {"kind", failed->kind}, {"message", failed->message}}
                         : std::move(reply.body);
    if (!failed) answer["type"] = "ok";
    if (failed) reply.descriptors.clear();
    answer["id"] = message->integer("id", 0);
    if (auto sent = channel_.send(answer, reply.descriptors); !sent) return 1;
    if (type == "quit" && !failed) return 0;
  }
}

Outcome ProtocolLoop::dispatch(const std::string& type, const Json& body, std::vector<Fd>& descriptors,
                               Reply& reply) {
  if (type != "bind" && type != "serve" && !descriptors.empty()) {
    return refuse(fmt::format("request `{}` came with descriptors", type));
  }
  if (type == "hello") return hello(body, reply);
  if (type == "quit") return {};
  if (!greeted_) return refuse(fmt::format("request `{}` came before `hello`", type));
  if (type == "load") return load(body);
  bool known = type == "bind" || type == "call" || type == "seal" || type == "serve";
  if (!known) return refuse(fmt::format("request `{}` is unknown", type));
  if (!loaded_) return refuse(fmt::format("request `{}` came before `load`", type));
  if (type == "bind") return bind(body, descriptors);
  if (!bound_) return refuse(fmt::format("request `{}` came before `bind`", type));
  if (type == "call") return call(body);
  if (type == "seal") return seal(body, reply);
  return serve(body, descriptors);
}

Outcome ProtocolLoop::hello(const Json& body, Reply& reply) {
  auto version = decode_count(body, "version");
  if (!version) return refuse(version.error().text());
  if (*version != protocol::kVersion) {
    return refuse(fmt::format("the judge speaks version {}, this worker {}", *version, protocol::kVersion));
  }
  greeted_ = true;
  reply.body["version"] = protocol::kVersion;
  return {};
}

Outcome ProtocolLoop::load(const Json& body) {
  if (session_ != nullptr) return refuse("a worker loads one candidate only");
  auto request = decode_load(body);
  if (!request) return refuse(request.error().text());
  auto session = open_session(*request, candidate_);
  if (!session) return refuse(session.error().text());
  set_current_session(session->get());
  session_ = std::move(*session);
  Outcome failed = candidate_.load(to_python_json_line(body));
  loaded_ = !failed;
  return failed;
}

Outcome ProtocolLoop::bind(const Json& body, std::vector<Fd>& descriptors) {
  auto binding = decode_bind(body, descriptors);
  if (!binding) return refuse(binding.error().text());
  bound_ = false;
  if (Outcome failed = session_->bind(std::move(*binding))) return failed;
  Json request = body;
  const auto& regions = session_->binding().regions;
  for (std::size_t i = 0; i < regions.size(); ++i) request["regions"][i]["mapped"] = regions[i].mapped;
  if (Outcome failed = candidate_.bind(to_python_json_line(request))) return failed;
  bound_ = true;
  return {};
}

Outcome ProtocolLoop::call(const Json& body) {
  auto slot = decode_count(body, "slot");
  if (!slot) return refuse(slot.error().text());
  if (*slot >= session_->binding().slots) return refuse(fmt::format("slot {} is not bound", *slot));
  return session_->call(*slot);
}

Outcome ProtocolLoop::seal(const Json& body, Reply& reply) {
  auto slots = decode_count(body, "slots");
  if (!slots) return refuse(slots.error().text());
  if (*slots == 0 || *slots > session_->binding().slots)
    return refuse(fmt::format("{} slots are not bound", *slots));
  if (Outcome failed = session_->seal(*slots, reply.seal)) return failed;
  auto summary = parse_json(reply.seal.summary_json, "summary of a seal");
  if (!summary) return refuse(summary.error().text());
  reply.body["bytes"] = reply.seal.bytes;
  reply.body["summary"] = std::move(*summary);
  reply.descriptors.push_back(reply.seal.seal.get());
  Json scratch = Json::array();
  for (const ScratchRegion& region : reply.seal.scratch) {
    scratch.push_back(
        {{"fd", reply.descriptors.size()}, {"address", region.address}, {"bytes", region.bytes}});
    reply.descriptors.push_back(region.fd.get());
  }
  reply.body["scratch"] = std::move(scratch);
  if (reply.descriptors.size() > protocol::kMaxDescriptors) {
    return Failure{"unsealable",
                   fmt::format("the call holds {} pieces of memory, more than the {} that can be passed",
                               reply.seal.scratch.size(), protocol::kMaxDescriptors - 1)};
  }
  return {};
}

Outcome ProtocolLoop::serve(const Json& body, std::vector<Fd>& descriptors) {
  auto slots = decode_count(body, "slots");
  if (!slots) return refuse(slots.error().text());
  if (*slots == 0 || *slots > session_->binding().slots)
    return refuse(fmt::format("{} slots are not bound", *slots));
  if (descriptors.size() != 1) return refuse("request `serve` needs one descriptor: the doorbell page");
  auto page = Mapping::map(descriptors[0], protocol::kDoorbellBytes, Mapping::Access::kReadWrite);
  if (!page) return refuse(page.error().text());
  auto& bell = *reinterpret_cast<protocol::Doorbell*>(page->data());
  auto as_graph = body.find("graph");
  return session_->serve(bell, *slots, channel_.fd(), as_graph != body.end() && *as_graph == true);
}

}  // namespace solmark::worker
