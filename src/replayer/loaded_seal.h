// A Seal that is ready to run on a device: its regions mapped, its graph instantiated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "protocol/serve.h"
#include "replayer/load_request.h"

namespace solmark::replayer {

class LoadedSeal {
 public:
  static Result<std::unique_ptr<LoadedSeal>> load(LoadRequest request);
  ~LoadedSeal();
  LoadedSeal(const LoadedSeal&) = delete;
  LoadedSeal& operator=(const LoadedSeal&) = delete;

  [[nodiscard]] std::size_t slots() const;
  [[nodiscard]] const std::string& summary_json() const;
  // Where each output of each slot lies.
  [[nodiscard]] const std::vector<std::vector<RegionPlace>>& outputs() const;
  // A batch or an empty graph, then device idle.
  protocol::RingResult ring(protocol::Ring ring);
  // {"calls", "span_ns", "kernels":[{"name","kind","start_ns","ns", …}]} of one replay under CUPTI.
  Result<Json> profile(bool nodes);

 private:
  struct State;
  explicit LoadedSeal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace solmark::replayer
