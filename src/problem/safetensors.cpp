#include "problem/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "problem/decode.h"
#include "problem/suggestion.h"

namespace solmark::problem {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kMostTensors = 1'000'000;
constexpr std::int64_t kMostBits = std::int64_t{1} << 62;
constexpr std::string_view kLfsMark = "version https://git-lfs";

struct DtypeRow {
  std::string_view name;
  std::int64_t bits;
};
constexpr std::array kDtypes = {
    DtypeRow{"F64", 64}, DtypeRow{"F32", 32},    DtypeRow{"F16", 16},    DtypeRow{"BF16", 16},
    DtypeRow{"I64", 64}, DtypeRow{"I32", 32},    DtypeRow{"I16", 16},    DtypeRow{"I8", 8},
    DtypeRow{"U64", 64}, DtypeRow{"U32", 32},    DtypeRow{"U16", 16},    DtypeRow{"U8", 8},
    DtypeRow{"BOOL", 8}, DtypeRow{"F8_E4M3", 8}, DtypeRow{"F8_E5M2", 8}, DtypeRow{"F8_E8M0", 8},
    DtypeRow{"F4", 4},   DtypeRow{"C64", 64},
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

// The bytes that dtype and shape ask for.
Result<std::uint64_t> wanted_bytes(const Cursor& at, const SafetensorsEntry& entry) {
  auto row = std::find_if(kDtypes.begin(), kDtypes.end(),
                          [&entry](const DtypeRow& r) { return r.name == entry.dtype; });
  if (row == kDtypes.end()) return at.error(fmt::format("unknown dtype \"{}\"", entry.dtype));
  if (std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end()) return std::uint64_t{0};
  std::int64_t bits = row->bits;
  for (std::int64_t dim : entry.shape) {
    if (bits > kMostBits / dim) return at.error("the shape is too large");
    bits *= dim;
  }
  if (bits % 8 != 0) return at.error("the tensor does not end on a byte");
  return static_cast<std::uint64_t>(bits / 8);
}

Result<SafetensorsEntry> decode_entry(const std::string& name, const Cursor& at, std::uint64_t data_begin,
                                      std::uint64_t data_bytes) {
  SafetensorsEntry out;
  out.name = name;
  SOLMARK_TRY(Cursor dtype, at.need("dtype"));
  SOLMARK_TRY(out.dtype, dtype.text());
  SOLMARK_TRY(Cursor shape, at.need("shape"));
  SOLMARK_TRY(auto dims, shape.elements());
  for (const Cursor& dim : dims) {
    SOLMARK_TRY(std::int64_t value, dim.integer(0));
    out.shape.push_back(value);
  }
  SOLMARK_TRY(Cursor offsets, at.need("data_offsets"));
  SOLMARK_TRY(auto ends, offsets.elements());
  if (ends.size() != 2) return offsets.error("must be [begin, end]");
  SOLMARK_TRY(std::int64_t begin, ends[0].integer(0));
  SOLMARK_TRY(std::int64_t end, ends[1].integer(0));
  if (begin > end) return offsets.error(fmt::format("begins at {} after its end at {}", begin, end));
  if (static_cast<std::uint64_t>(end) > data_bytes) {
    return offsets.error(fmt::format("ends at byte {} of {}", end, data_bytes),
                         "the file is cut short: fetch it again");
  }
  SOLMARK_TRY(std::uint64_t wanted, wanted_bytes(at, out));
  if (wanted != static_cast<std::uint64_t>(end - begin)) {
    return offsets.error(
        fmt::format("{} {} needs {} bytes, not {}", out.dtype, shape_text(out.shape), wanted, end - begin));
  }
  out.begin = data_begin + static_cast<std::uint64_t>(begin);
  out.end = data_begin + static_cast<std::uint64_t>(end);
  return out;
}

// Ranges must tile the data: bytes that belong to no tensor could hide anything.
Status check_tiling(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_begin,
                    std::uint64_t file_bytes, const std::string& source) {
  std::uint64_t at = data_begin;
  for (const SafetensorsEntry& e : entries) {
    if (e.begin < at)
      return input_error(fmt::format("tensor \"{}\" overlaps the one before it", e.name), source);
    if (e.begin > at) {
      return input_error(
          fmt::format("{} bytes before tensor \"{}\" belong to no tensor", e.begin - at, e.name), source);
    }
    at = e.end;
  }
  if (at != file_bytes) {
    return input_error(fmt::format("{} bytes after the last tensor belong to no tensor", file_bytes - at),
                       source);
  }
  return success();
}

bool is_stored_as(Dtype dtype, const std::vector<std::int64_t>& shape, const SafetensorsEntry& entry) {
  if (dtype_is_packed(dtype)) {
    if (entry.dtype == "U8" || entry.dtype == "I8") return entry.shape == shape;
    std::vector<std::int64_t> unpacked = shape;
    if (!unpacked.empty()) unpacked.back() *= 2;
    return entry.dtype == "F4" && entry.shape == unpacked;
  }
  return entry.shape == shape;
}

std::string_view stored_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return "F64";
    case Dtype::kFloat32:
      return "F32";
    case Dtype::kFloat16:
      return "F16";
    case Dtype::kBfloat16:
      return "BF16";
    case Dtype::kFloat8E4m3fn:
      return "F8_E4M3";
    case Dtype::kFloat8E5m2:
      return "F8_E5M2";
    case Dtype::kFloat4E2m1:
    case Dtype::kFloat4E2m1x2:
      return "U8";
    case Dtype::kInt64:
      return "I64";
    case Dtype::kInt32:
      return "I32";
    case Dtype::kInt16:
      return "I16";
    case Dtype::kInt8:
      return "I8";
    case Dtype::kUint8:
      return "U8";
    case Dtype::kBool:
      return "BOOL";
  }
  return "";
}

}  // namespace

Result<std::vector<SafetensorsEntry>> decode_safetensors_header(std::string_view prefix,
                                                                std::uint64_t file_bytes,
                                                                const std::string& source) {
  if (prefix.substr(0, kLfsMark.size()) == kLfsMark) {
    return input_error("a Git LFS pointer, not the tensors", source, "fetch the data with `git lfs pull`");
  }
  if (prefix.size() < kLengthBytes) return input_error("too short for a safetensors file", source);
  std::uint64_t length = little_endian(prefix);
  if (length > kMaxHeader) {
    return input_error(fmt::format("announces a header of {} bytes, more than {}", length, kMaxHeader),
                       source, "is it a safetensors file?");
  }
  std::uint64_t data_begin = kLengthBytes + length;
  if (data_begin > file_bytes || prefix.size() < data_begin) {
    return input_error(fmt::format("the header of {} bytes is cut short", length), source,
                       "fetch the file again");
  }
  std::string_view header = prefix.substr(kLengthBytes, length);
  if (header.empty() || header[0] != '{') {
    return input_error("the header does not start with \"{\"", source, "is it a safetensors file?");
  }
  std::string place = source + " (header)";
  SOLMARK_TRY(Json json, parse_json(header, place, {kMaxHeader, 16}));
  DocumentText document{header, place, 1, nullptr};
  SOLMARK_TRY(auto members, Cursor(json, document).members(kMostTensors));
  std::vector<SafetensorsEntry> out;
  for (const auto& [name, at] : members) {
    if (name == "__metadata__") continue;
    SOLMARK_TRY(SafetensorsEntry entry, decode_entry(name, at, data_begin, file_bytes - data_begin));
    out.push_back(std::move(entry));
  }
  std::sort(out.begin(), out.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  SOLMARK_CHECK_OK(check_tiling(out, data_begin, file_bytes, source));
  return out;
}

Result<std::vector<SafetensorsEntry>> read_safetensors_header(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return input_error("no such file", path.string());
  std::uint64_t file_bytes = fs::file_size(path, ec);
  std::ifstream in(path, std::ios::binary);
  if (ec || !in) return input_error("cannot be opened for reading", path.string());
  auto read = [&in](std::string& out, std::uint64_t bytes) {
    std::size_t have = out.size();
    out.resize(have + bytes);
    in.read(out.data() + have, static_cast<std::streamsize>(bytes));
    out.resize(have + static_cast<std::size_t>(in.gcount()));
  };
  std::string prefix;
  read(prefix, kLfsMark.size());  // longer than the length field, so that a pointer file is known as one
  if (prefix.size() >= kLengthBytes && prefix.substr(0, kLfsMark.size()) != kLfsMark) {
    std::uint64_t wanted = kLengthBytes + std::min({little_endian(prefix), kMaxHeader, file_bytes});
    if (wanted > prefix.size()) read(prefix, wanted - prefix.size());
  }
  return decode_safetensors_header(prefix, file_bytes, path.string());
}

Status check_blob(const fs::path& path, const std::string& tensor_key, Dtype dtype,
                  const std::vector<std::int64_t>& shape) {
  SOLMARK_TRY(auto entries, read_safetensors_header(path));
  auto entry = std::find_if(entries.begin(), entries.end(),
                            [&tensor_key](const SafetensorsEntry& e) { return e.name == tensor_key; });
  if (entry == entries.end()) {
    std::vector<std::string> names;
    for (const SafetensorsEntry& e : entries) names.push_back(e.name);
    return input_error(fmt::format("no tensor \"{}\" in the file", tensor_key), path.string(),
                       suggest_name(tensor_key, names));
  }
  bool dtype_fits = dtype_is_packed(dtype)
                        ? entry->dtype == "U8" || entry->dtype == "I8" || entry->dtype == "F4"
                        : entry->dtype == stored_name(dtype);
  if (!dtype_fits) {
    return input_error(fmt::format("tensor \"{}\" is {}, the definition says {} ({})", tensor_key,
                                   entry->dtype, dtype_name(dtype), stored_name(dtype)),
                       path.string(), "use another file, or mend the definition");
  }
  if (!is_stored_as(dtype, shape, *entry)) {
    return input_error(fmt::format("tensor \"{}\" has shape {}, the workload says {}", tensor_key,
                                   shape_text(entry->shape), shape_text(shape)),
                       path.string(), "use another file, or mend the workload's axes");
  }
  return success();
}

}  // namespace solmark::problem
