// A Seal as bytes: "SLMSEAL1", a checksum (XXH3, 64 bits) of everything after it, then the body. All integers
// are little-endian; every list and string is its length and its content. A reader of version 1 reads version
// 1 only. Decoding checks every length against what is left and against a limit before it allocates, then
// calls validate().
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "seal/seal.h"

namespace solmark::seal {

// The body alone, without magic and checksum. Errors give the offset in the body.
std::string encode_body(const Seal& seal);
Result<Seal> decode_body(std::string_view body);

// The whole file. encode() refuses a Seal that decode() would refuse.
Result<std::string> encode(const Seal& seal);
Result<Seal> decode(std::string_view bytes);

Status save(const Seal& seal, const std::filesystem::path& file);
Result<Seal> load(const std::filesystem::path& file);
// By descriptor: a memfd with exactly the encoded bytes.
Result<Fd> to_memfd(const Seal& seal, std::size_t& bytes);
Result<Seal> from_memfd(const Fd& fd);

}  // namespace solmark::seal
