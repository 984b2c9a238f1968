#include "seal/format.h"
#include "targets.h"

namespace solmark::fuzz {

// A Seal comes from a worker: the body is tried without its checksum, which a worker can write as well as we.
void fuzz_seal(std::string_view bytes) {
  const auto whole = seal::decode(bytes);
  if (!whole.ok()) require(!whole.error().message.empty(), "an error says what");
  const auto body = seal::decode_body(bytes);
  if (!body.ok()) {
    require(!body.error().message.empty() && !body.error().where.empty(), "an error says what and where");
    return;
  }
  require(seal::validate(*body).ok(), "what is decoded is whole");
  require(seal::encode_body(*body) == bytes, "there is one way to write a seal");
  require(!seal::summary_json(*body).empty(), "a seal can be summed up");
}

}  // namespace solmark::fuzz
