// Headers of safetensors files, checked before anything is loaded: names, types and byte ranges must add up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/dtype.h"

namespace solmark::problem {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // as written: F32, BF16, …
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // bytes from the start of the file
  std::uint64_t end = 0;
};

// Entries in order of their bytes.
Result<std::vector<SafetensorsEntry>> read_safetensors_header(const std::filesystem::path& path);
// The same for bytes at hand: `prefix` holds at least the 8 length bytes and the header of a file of
// `file_bytes`.
Result<std::vector<SafetensorsEntry>> decode_safetensors_header(std::string_view prefix,
                                                                std::uint64_t file_bytes,
                                                                const std::string& source);

// Whether the file holds this tensor with this dtype and (packed) shape. Packed fp4 may lie there as U8 or
// I8, or as F4 with its last dimension counted in elements.
Status check_blob(const std::filesystem::path& path, const std::string& tensor_key, Dtype dtype,
                  const std::vector<std::int64_t>& shape);

}  // namespace solmark::problem
