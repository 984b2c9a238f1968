#include <nlohmann/json.hpp>

#include "protocol/channel.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_protocol(std::string_view bytes) {
  if (bytes.size() < 8) return;
  auto length = protocol::decode_header(reinterpret_cast<const unsigned char*>(bytes.data()));
  if (length.ok()) require(*length <= protocol::kMaxFrame, "a frame is bounded");
  // the payload is tried even after a bad header: the two checks stand alone
  auto body = protocol::decode_payload(bytes.substr(8));
  if (!body.ok()) {
    require(!body.error().message.empty(), "an error says what");
    return;
  }
  require(body->is_object() && body->at("type").is_string(), "a payload is an object with a type");
  require(!to_json_line(*body).empty(), "a payload can be written again");
}

}  // namespace solmark::fuzz
