#include "problem/safetensors.h"
#include "targets.h"

namespace solmark::fuzz {

void fuzz_safetensors(std::string_view bytes) {
  auto entries = problem::decode_safetensors_header(bytes, bytes.size(), "fuzz");
  if (!entries.ok()) {
    require(entries.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!entries.error().message.empty() && !entries.error().where.empty(),
            "an error says what and where");
    return;
  }
  std::uint64_t at = 0;
  for (const auto& entry : *entries) {
    require(entry.begin <= entry.end && entry.end <= bytes.size(), "tensors lie in the file");
    require(at == 0 || entry.begin == at, "tensors tile the data");
    at = entry.end;
  }
  require(entries->empty() || at == bytes.size(), "the last tensor ends the file");
}

}  // namespace solmark::fuzz
