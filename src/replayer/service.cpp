#include "replayer/service.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "protocol/doorbell.h"
#include "protocol/message.h"
#include "replayer/load_request.h"
#include "replayer/loaded_seal.h"

namespace solmark::replayer {
namespace {
Error refused(const std::string& what) { return machine_error(what); }
}  // namespace

Service::Service(Fd channel) : channel_(std::move(channel)) {}
Service::~Service() = default;

int Service::run() {
  for (;;) {
    auto message = channel_.receive(std::chrono::hours(24));
    if (!message.ok()) {
      if (message.error().code == ErrorCode::kTimeout) continue;
      const bool closed = message.error().message.find("closed") != std::string::npos;
      if (!closed) std::fprintf(stderr, "solmark-replayer: %s\n", message.error().text().c_str());
      return closed ? 0 : 1;
    }
    const std::string type = message->text("type");
    std::string kind = "replayer";
    Json answer = Json::object();
    try {
      auto done = dispatch(type, message->body, message->descriptors, kind);
      if (done.ok()) {
        answer = std::move(*done);
        answer["type"] = "ok";
      } else {
        answer = Json{{"type", "error"}, {"kind", kind}, {"message", done.error().text()}};
      }
    } catch (const std::exception& error) {
      // Out of memory, most likely.
      answer =
          Json{{"type", "error"}, {"kind", kind}, {"message", fmt::format("{}: {}", type, error.what())}};
    }
    answer["id"] = message->integer("id", 0);
    const bool ok = answer["type"] == "ok";
    if (const auto sent = channel_.send(answer); !sent.ok()) return 1;
    if (type == "quit" && ok) return 0;
  }
}

Service::Answer Service::dispatch(const std::string& type, const Json& body, std::vector<Fd>& descriptors,
                                  std::string& kind) {
  if (type == "hello") return hello(body);
  if (type == "quit") return Json::object();
  if (!greeted_) return refused(fmt::format("request `{}` came before `hello`", type));
  if (type == "load") {
    kind = "replay";
    return load(body, descriptors);
  }
  if (type != "serve" && type != "profile") return refused(fmt::format("request `{}` is unknown", type));
  if (loaded_ == nullptr) return refused(fmt::format("request `{}` came before `load`", type));
  if (type == "serve") return serve(body, descriptors);
  kind = "replay";
  return profile(body);
}

Service::Answer Service::hello(const Json& body) {
  const auto version = body.find("version");
  if (version == body.end() || *version != protocol::kVersion)
    return refused(fmt::format("the judge speaks another version than {}", protocol::kVersion));
  greeted_ = true;
  return Json{{"version", protocol::kVersion}};
}

Service::Answer Service::load(const Json& body, std::vector<Fd>& descriptors) {
  loaded_.reset();  // its memory lies where the next one's will
  SOLMARK_TRY(LoadRequest request, decode_load(body, descriptors));
  SOLMARK_TRY(loaded_, LoadedSeal::load(std::move(request)));
  SOLMARK_TRY(Json summary, parse_json(loaded_->summary_json(), "summary of the seal"));
  Json reply = Json::object();
  reply["summary"] = std::move(summary);
  Json outputs = Json::array();
  for (const auto& slot : loaded_->outputs()) {
    Json places = Json::array();
    for (const RegionPlace& place : slot)
      places.push_back(Json{{"region", place.region}, {"offset", place.offset}});
    outputs.push_back(std::move(places));
  }
  reply["outputs"] = std::move(outputs);
  return reply;
}

Service::Answer Service::serve(const Json& body, std::vector<Fd>& descriptors) {
  const auto slots = body.find("slots");
  if (slots == body.end() || *slots != loaded_->slots())
    return refused(fmt::format("request `serve` is not for the {} slots of the seal", loaded_->slots()));
  if (descriptors.size() != 1) return refused("request `serve` needs one descriptor: the doorbell page");
  SOLMARK_TRY(const Mapping page,
              Mapping::map(descriptors[0], protocol::kDoorbellBytes, Mapping::Access::kReadWrite));
  auto& bell = *reinterpret_cast<protocol::Doorbell*>(page.data());
  protocol::serve_doorbell(bell, channel_.fd(), [&](protocol::Ring ring) { return loaded_->ring(ring); });
  return Json::object();
}

// {"graph": true}: the batch as a whole, undisturbed by records of its nodes.
Service::Answer Service::profile(const Json& body) {
  const auto graph = body.find("graph");
  return loaded_->profile(graph == body.end() || *graph != true);
}

}  // namespace solmark::replayer
