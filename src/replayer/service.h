// The replayer's side of the channel: hello, load, serve, profile, quit, each answered once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
#include "protocol/channel.h"

namespace solmark::replayer {

class LoadedSeal;  // the seal on the device; in a build without the CUDA backend there is never one

class Service {
 public:
  explicit Service(Fd channel);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  // Until `quit` or the end of the channel; the exit code.
  int run();

 private:
  // Errors of `load` and `profile` are of kind "replay" (the Seal's), all others of kind "replayer" (a
  // request that breaks the protocol).
  using Answer = Result<Json>;
  Answer dispatch(const std::string& type, const Json& body, std::vector<Fd>& descriptors, std::string& kind);
  Answer hello(const Json& body);
  Answer load(const Json& body, std::vector<Fd>& descriptors);
  Answer serve(const Json& body, std::vector<Fd>& descriptors);
  Answer profile(const Json& body);

  protocol::Channel channel_;
  std::unique_ptr<LoadedSeal> loaded_;
  bool greeted_ = false;
};

}  // namespace solmark::replayer
