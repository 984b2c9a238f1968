#include "judge/seal_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace solmark::judge {
namespace {

constexpr char kMagic[] = "SLMSEALS";
constexpr std::size_t kMaxHeader = std::size_t{64} << 20;

Json piece_json(const SealFile::Piece& piece) {
  return Json{{"address", piece.address}, {"offset", piece.offset}, {"bytes", piece.bytes}};
}

SealFile::Piece piece_from(const Json& json) {
  return {json.at("address").get<std::uint64_t>(), json.at("offset").get<std::size_t>(),
          json.at("bytes").get<std::size_t>()};
}

Result<SealFile> decode_header(const Json& header, std::size_t file_bytes,
                               const std::filesystem::path& file) {
  SealFile out;
  out.file = file;
  try {
    out.definition = header.at("definition").get<std::string>();
    out.solution = header.at("solution").get<std::string>();
    out.device_name = header.at("device").get<std::string>();
    out.compute_capability = header.at("compute_capability").get<int>();
    for (const auto& [uuid, json] : header.at("workloads").items()) {
      SealFile::Workload w;
      w.slots = json.at("slots").get<std::size_t>();
      w.inputs_address = json.at("inputs_address").get<std::uint64_t>();
      w.outputs_address = json.at("outputs_address").get<std::uint64_t>();
      w.scalars = to_python_json_line(json.at("scalars"));
      w.seal = piece_from(json.at("seal"));
      for (const Json& piece : json.at("scratch")) w.scratch.push_back(piece_from(piece));
      auto inside = [&](const SealFile::Piece& p) {
        return p.offset <= file_bytes && p.bytes <= file_bytes - p.offset;
      };
      bool ok = inside(w.seal) && w.slots > 0 && w.slots < (std::size_t{1} << 20);
      for (const auto& piece : w.scratch) ok = ok && inside(piece);
      if (!ok)
        return input_error("workload " + uuid + " points outside the file", file.string(),
                           "make the Seal anew");
      out.workloads[uuid] = std::move(w);
    }
  } catch (const Json::exception& e) {
    return input_error(fmt::format("is not a Seal file of this version ({})", e.what()), file.string(),
                       "make the Seal anew");
  }
  return out;
}

Result<std::string> read_piece(const std::filesystem::path& file, const SealFile::Piece& piece) {
  std::ifstream in(file, std::ios::binary);
  std::string out(piece.bytes, '\0');
  in.seekg(static_cast<std::streamoff>(piece.offset));
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (!in) return input_error("ends early", file.string(), "make the Seal anew");
  return out;
}

}  // namespace

Result<SealFile> read_seal_file(const std::filesystem::path& file) {
  std::error_code ec;
  std::uintmax_t size = std::filesystem::file_size(file, ec);
  if (ec) return input_error("no such file", file.string(), "write one with `solmark seal`");
  std::ifstream in(file, std::ios::binary);
  char magic[8];
  std::uint64_t length = 0;
  in.read(magic, sizeof magic);
  in.read(reinterpret_cast<char*>(&length), sizeof length);
  if (!in || std::memcmp(magic, kMagic, sizeof magic) != 0)
    return input_error("is not a Seal file", file.string());
  if (length > kMaxHeader || length + 16 > size) return input_error("its header does not fit", file.string());
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  SOLMARK_TRY(Json header, parse_json(text, file.string(), kPythonJson));
  return decode_header(header, size, file);
}

Status check_seal_file(const SealFile& seal, const problem::Definition& definition,
                       const device::DeviceInfo& device) {
  if (seal.definition != definition.name) {
    return input_error(fmt::format("the Seal is for definition \"{}\", the problem is \"{}\"",
                                   seal.definition, definition.name),
                       seal.file.string(), "name the right problem");
  }
  if (device.compute_capability != seal.compute_capability) {
    return machine_error(
        fmt::format("the Seal was made on {} (compute capability {}), this device is {} ({})",
                    seal.device_name, seal.compute_capability, device.name, device.compute_capability),
        "make the Seal anew on this machine");
  }
  return success();
}

Step restore_sealed(const SealFile& seal, device::Device& device, Case& c) {
  auto it = seal.workloads.find(c.workload.uuid);
  if (it == seal.workloads.end()) {
    return Fault{TraceStatus::kRuntimeError, "the Seal file has no calls for this workload", false};
  }
  const SealFile::Workload& w = it->second;
  SOLMARK_STEP_TRY(Json scalars, parse_json(w.scalars, seal.file.string(), kPythonJson));
  c.scalars = std::make_shared<Json>(std::move(scalars));
  c.slots.count = w.slots;
  auto bytes = [&](const device::Layout& layout) {
    return std::max<std::size_t>(device::kTensorAlignment, layout.slot_stride * w.slots);
  };
  SOLMARK_STEP_TRY(c.slots.inputs, device.allocate_at("inputs", w.inputs_address, bytes(c.inputs)));
  SOLMARK_STEP_TRY(c.slots.outputs, device.allocate_at("outputs", w.outputs_address, bytes(c.outputs)));
  SealedCalls sealed;
  SOLMARK_STEP_TRY(std::string image, read_piece(seal.file, w.seal));
  SOLMARK_STEP_TRY(sealed.seal, make_memfd("solmark-seal", image.size()));
  SOLMARK_STEP_TRY(Mapping page, Mapping::map(sealed.seal, image.size(), Mapping::Access::kReadWrite));
  std::memcpy(page.data(), image.data(), image.size());
  sealed.bytes = image.size();
  for (const SealFile::Piece& piece : w.scratch) {
    SOLMARK_STEP_TRY(std::string contents, read_piece(seal.file, piece));
    SOLMARK_STEP_TRY(auto region, device.allocate_at("scratch", piece.address, piece.bytes));
    SOLMARK_STEP_OK(device.write(*region, 0, contents.data(), contents.size()));
    SOLMARK_STEP_OK(device.idle());
    SOLMARK_STEP_TRY(Fd fd, region->share(device::Access::kReadWrite));
    sealed.scratch.push_back({std::move(fd), piece.address, piece.bytes});
  }
  c.sealed = std::move(sealed);
  return {};
}

Status SealFileWriter::add(device::Device& device, const Case& c) {
  Entry entry;
  entry.uuid = c.workload.uuid;
  entry.workload.slots = c.slots.count;
  entry.workload.inputs_address = c.slots.inputs->address();
  entry.workload.outputs_address = c.slots.outputs->address();
  entry.workload.scalars = to_json_line(*c.scalars);
  SOLMARK_TRY(Mapping page, Mapping::map(c.sealed->seal, c.sealed->bytes, Mapping::Access::kRead));
  entry.seal.assign(reinterpret_cast<const char*>(page.data()), c.sealed->bytes);
  for (const ScratchRegion& piece : c.sealed->scratch) {
    SOLMARK_TRY(Fd copy, piece.fd.duplicate());
    SOLMARK_TRY(auto region, device.import(std::move(copy), piece.address, piece.bytes));
    std::string contents(piece.bytes, '\0');
    SOLMARK_CHECK_OK(device.read(contents.data(), *region, 0, piece.bytes));
    entry.workload.scratch.push_back({piece.address, 0, piece.bytes});
    entry.scratch.push_back(std::move(contents));
  }
  entries_.push_back(std::move(entry));
  return success();
}

Status SealFileWriter::write(const std::filesystem::path& file, const std::string& definition,
                             const std::string& solution, const device::DeviceInfo& device) const {
  // Offsets depend on the header's length: blobs start at the next multiple of 4 KiB after a header of fixed
  // size.
  auto header_with = [&](std::size_t first) {
    std::size_t at = first;
    auto place = [&](SealFile::Piece piece) {
      piece.offset = at;
      at += piece.bytes;
      return piece_json(piece);
    };
    Json workloads = Json::object();
    for (const Entry& e : entries_) {
      Json scratch = Json::array();
      Json seal = place({0, 0, e.seal.size()});
      for (const auto& piece : e.workload.scratch) scratch.push_back(place(piece));
      auto scalars = parse_json(e.workload.scalars, "scalars", kPythonJson);
      workloads[e.uuid] = Json{{"slots", e.workload.slots},
                               {"inputs_address", e.workload.inputs_address},
                               {"outputs_address", e.workload.outputs_address},
                               {"scalars", scalars.ok() ? *scalars : Json::object()},
                               {"seal", std::move(seal)},
                               {"scratch", std::move(scratch)}};
    }
    return to_python_json_line(Json{{"definition", definition},
                                    {"solution", solution},
                                    {"device", device.name},
                                    {"compute_capability", device.compute_capability},
                                    {"workloads", std::move(workloads)}});
  };
  std::size_t first = (16 + header_with(std::size_t{1} << 40).size() + 4095) / 4096 * 4096;
  std::string header = header_with(first);
  header.resize(first - 16, ' ');
  std::uint64_t length = header.size();
  std::string out(kMagic, 8);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out += header;
  for (const Entry& e : entries_) {
    out += e.seal;
    for (const std::string& piece : e.scratch) out += piece;
  }
  return write_file(file, out);
}

}  // namespace solmark::judge
