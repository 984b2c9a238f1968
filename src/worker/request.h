// Decodes the requests of the judge (docs/architecture.md, "judge → worker") and checks every number in them,
// so that sessions and hosts need not.
#pragma once

#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
#include "worker/session.h"

namespace solmark::worker {

struct LoadRequest {
  bool cuda = false;
  OpenRequest open;
};
Result<LoadRequest> decode_load(const Json& body);

// Takes the descriptors it uses out of `descriptors`; each must be used exactly once.
Result<Binding> decode_bind(const Json& body, std::vector<Fd>& descriptors);

// A non-negative integer member.
Result<std::int64_t> decode_count(const Json& body, const char* key);

}  // namespace solmark::worker
