#include "seal/cubin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace solmark::seal {
namespace {

// ELF64 as fixed-size records; only the fields that are read have names.
struct Header {
  unsigned char identity[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, program_headers, section_headers;
  std::uint32_t flags;
  std::uint16_t header_size, program_size, program_count, section_size, section_count, names;
};
static_assert(sizeof(Header) == 64);
struct SectionHeader {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, size;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_size;
};
static_assert(sizeof(SectionHeader) == 64);
struct SymbolEntry {
  std::uint32_t name;
  std::uint8_t info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};
static_assert(sizeof(SymbolEntry) == 24);

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint32_t kSymbolTable = 2, kRelaTable = 4, kNoBits = 8, kRelTable = 9;
constexpr std::uint16_t kExtendedIndex = 0xffff;
constexpr std::uint8_t kObjectType = 1, kFunctionType = 2;
constexpr std::uint8_t kEntryBit = 0x10;  // in st_other
constexpr std::uint64_t kPointerBytes = 8;

Error broken_cubin(std::uint64_t offset, const std::string& what) {
  return input_error("the cubin is broken: " + what, fmt::format("offset {:#x}", offset));
}

bool inside(std::uint64_t offset, std::uint64_t length, std::uint64_t limit) {
  return offset <= limit && length <= limit - offset;
}

// A record at a place that is already known to lie inside.
template <class Record>
Record record_at(std::string_view bytes, std::uint64_t offset) {
  Record record;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return record;
}

// The NUL-terminated string at an offset of a string table.
Result<std::string_view> text_at(std::string_view table, std::uint32_t offset) {
  if (offset >= table.size()) return broken_cubin(offset, "a name lies outside the string table");
  const std::string_view rest = table.substr(offset);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return broken_cubin(offset, "a name has no end");
  return rest.substr(0, end);
}

std::string_view object_section_prefix(CubinObject::Kind kind) {
  return kind == CubinObject::Kind::kGlobal ? ".nv.global" : ".nv.constant3";
}

}  // namespace

Result<Cubin> Cubin::parse(std::string_view bytes) {
  Cubin cubin;
  cubin.bytes_ = bytes;
  SOLMARK_CHECK_OK(cubin.read_sections());
  SOLMARK_CHECK_OK(cubin.read_symbols());
  for (std::uint32_t i = 0; i < cubin.sections_.size(); ++i) SOLMARK_CHECK_OK(cubin.read_relocations(i));
  std::stable_sort(cubin.patches_.begin(), cubin.patches_.end(),
                   [](const Patch& a, const Patch& b) { return a.target < b.target; });
  return cubin;
}

Status Cubin::read_sections() {
  if (bytes_.size() < sizeof(Header)) return broken_cubin(bytes_.size(), "it is shorter than an ELF header");
  const auto header = record_at<Header>(bytes_, 0);
  if (std::memcmp(header.identity, "\177ELF\2\1\1", 7) != 0)
    return broken_cubin(0, "it is not a little-endian ELF64 file");
  if (header.machine != kMachineCuda)
    return broken_cubin(18, fmt::format("it is for machine {}, not CUDA", header.machine));
  if (header.section_size != sizeof(SectionHeader))
    return broken_cubin(58, "the section headers have another size");
  std::uint64_t count = header.section_count;
  std::uint64_t names = header.names;
  if (!inside(header.section_headers, sizeof(SectionHeader), bytes_.size()))
    return broken_cubin(40, "there is no section table");
  const auto first = record_at<SectionHeader>(bytes_, header.section_headers);
  // More than 65279 sections: the real numbers stand in the first section header.
  if (count == 0) count = first.size;
  if (names == kExtendedIndex) names = first.link;
  if (count > bytes_.size() / sizeof(SectionHeader) ||
      !inside(header.section_headers, count * sizeof(SectionHeader), bytes_.size()))
    return broken_cubin(40, fmt::format("{} section headers reach beyond its end", count));
  if (names >= count) return broken_cubin(62, "the section names are in no section");

  std::vector<SectionHeader> headers(count);
  for (std::uint64_t i = 0; i < count; ++i)
    headers[i] = record_at<SectionHeader>(bytes_, header.section_headers + i * sizeof(SectionHeader));
  for (std::uint64_t i = 0; i < count; ++i) {
    const SectionHeader& from = headers[i];
    CubinSection section;
    section.type = from.type;
    section.flags = from.flags;
    section.link = from.link;
    section.info = from.info;
    section.size = from.size;
    if (i != 0 && from.type != kNoBits && from.type != 0) {
      if (!inside(from.offset, from.size, bytes_.size()))
        return broken_cubin(from.offset, fmt::format("section {} reaches beyond its end", i));
      section.content = bytes_.substr(from.offset, from.size);
    }
    sections_.push_back(section);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    SOLMARK_TRY(sections_[i].name, text_at(sections_[names].content, headers[i].name));
  }
  return success();
}

Status Cubin::read_symbols() {
  const auto table = std::find_if(sections_.begin(), sections_.end(),
                                  [](const CubinSection& section) { return section.type == kSymbolTable; });
  if (table == sections_.end()) return broken_cubin(0, "it has no symbol table");
  if (table->content.size() % sizeof(SymbolEntry) != 0)
    return broken_cubin(0, "the symbol table has a broken length");
  if (table->link >= sections_.size()) return broken_cubin(0, "the symbol names are in no section");
  // Very large images keep section numbers beyond 65279 in a table beside the symbols.
  constexpr std::uint32_t kIndexTable = 18;
  const auto indices = std::find_if(sections_.begin(), sections_.end(),
                                    [](const CubinSection& section) { return section.type == kIndexTable; });
  for (std::uint64_t at = 0; at < table->content.size(); at += sizeof(SymbolEntry)) {
    const auto entry = record_at<SymbolEntry>(table->content, at);
    Symbol symbol;
    SOLMARK_TRY(symbol.name, text_at(sections_[table->link].content, entry.name));
    symbol.type = entry.info & 0xf;
    symbol.section = entry.section;
    if (entry.section == kExtendedIndex) {
      const std::uint64_t place = at / sizeof(SymbolEntry) * sizeof(std::uint32_t);
      if (indices == sections_.end() || !inside(place, sizeof(std::uint32_t), indices->content.size()))
        return broken_cubin(at, fmt::format("symbol {} has no section number", symbol.name));
      symbol.section = record_at<std::uint32_t>(indices->content, place);
    }
    symbols_.push_back(symbol);
    if (symbol.name.starts_with("__cudaCDP2LaunchDevice") || symbol.name.starts_with("cudaLaunchDevice"))
      launches_from_device_ = true;
    const bool reserved = entry.section >= 0xff00 && entry.section != kExtendedIndex;
    if (symbol.section == 0 || reserved) continue;
    if (symbol.section >= sections_.size())
      return broken_cubin(at, fmt::format("symbol {} is in no section", symbol.name));
    const CubinSection& section = sections_[symbol.section];
    if (symbol.type == kFunctionType) {
      functions_.push_back({symbol.name, symbol.section, entry.size, (entry.other & kEntryBit) != 0});
    } else if (symbol.type == kObjectType) {
      for (const auto kind : {CubinObject::Kind::kGlobal, CubinObject::Kind::kConstant}) {
        if (!section.name.starts_with(object_section_prefix(kind)) || entry.size == 0) continue;
        if (!inside(entry.value, entry.size, section.size))
          return broken_cubin(at, fmt::format("variable {} reaches beyond its section", symbol.name));
        objects_.push_back(
            {symbol.name, kind, symbol.section, entry.value, entry.size, !section.content.empty()});
      }
    }
  }
  return success();
}

Status Cubin::read_relocations(std::uint32_t index) {
  const CubinSection& section = sections_[index];
  const bool addends = section.type == kRelaTable;
  if (!addends && section.type != kRelTable) return success();
  const std::size_t size = addends ? 24 : 16;
  if (section.content.size() % size != 0)
    return broken_cubin(0, fmt::format("{} has a broken length", section.name));
  if (section.info >= sections_.size())
    return broken_cubin(0, fmt::format("{} patches no section", section.name));
  for (std::uint64_t at = 0; at < section.content.size(); at += size) {
    Patch patch{section.info, {}};
    patch.relocation.offset = record_at<std::uint64_t>(section.content, at);
    const auto info = record_at<std::uint64_t>(section.content, at + 8);
    patch.relocation.type = static_cast<std::uint32_t>(info);
    patch.relocation.symbol = static_cast<std::uint32_t>(info >> 32);
    if (addends) patch.relocation.addend = record_at<std::int64_t>(section.content, at + 16);
    if (patch.relocation.symbol >= symbols_.size())
      return broken_cubin(at, fmt::format("{} names a symbol that is not there", section.name));
    patches_.push_back(patch);
  }
  return success();
}

bool Cubin::has_kernel(std::string_view name) const {
  return std::any_of(functions_.begin(), functions_.end(),
                     [&](const CubinFunction& function) { return function.entry && function.name == name; });
}

std::span<const Cubin::Patch> Cubin::patches_of(std::uint32_t section) const {
  const auto first = std::partition_point(patches_.begin(), patches_.end(),
                                          [&](const Patch& patch) { return patch.target < section; });
  const auto last = std::partition_point(first, patches_.end(),
                                         [&](const Patch& patch) { return patch.target == section; });
  return {first, last};
}

std::string_view Cubin::initial_bytes(const CubinObject& object) const {
  if (!object.initialised) return {};
  return sections_[object.section].content.substr(object.offset, object.size);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> Cubin::patched_ranges(const CubinObject& object) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Patch& patch : patches_of(object.section)) {
    // The widest relocation of data is a pointer; a narrower one inside it only protects a few bytes too
    // many.
    const std::uint64_t first = patch.relocation.offset;
    const std::uint64_t last = first > UINT64_MAX - kPointerBytes ? UINT64_MAX : first + kPointerBytes;
    if (last <= object.offset || first >= object.offset + object.size) continue;
    ranges.emplace_back(std::max(first, object.offset) - object.offset,
                        std::min(last, object.offset + object.size) - object.offset);
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

std::string Cubin::kernel_digest(std::string_view name) const {
  if (!has_kernel(name)) return {};
  std::uint32_t code = 0;
  for (const CubinFunction& function : functions_)
    if (function.entry && function.name == name) code = function.section;
  // A kernel that calls device functions depends on code elsewhere in the image: then the image as a whole
  // counts.
  bool calls = false;
  for (const Patch& patch : patches_of(code))
    if (symbols_[patch.relocation.symbol].type == kFunctionType) calls = true;
  if (calls) return sha256_hex(bytes_);

  Sha256 digest;
  const std::string own = "." + std::string(name);
  for (std::uint32_t i = 0; i < sections_.size(); ++i) {
    const CubinSection& section = sections_[i];
    const bool of_kernel = i == code || section.name.ends_with(own);
    const bool of_module = section.name.starts_with(".nv.global") ||
                           section.name.starts_with(".nv.constant3") || section.name == ".nv.constant4";
    if ((!of_kernel && !of_module) || section.type == kRelaTable || section.type == kRelTable) continue;
    digest.add(section.name).add(section.content).add(std::to_string(section.size));
    for (const Patch& patch : patches_of(i)) {
      const Relocation& relocation = patch.relocation;
      digest.add(fmt::format("{} {} {}", relocation.offset, relocation.type, relocation.addend));
      digest.add(symbols_[relocation.symbol].name);
    }
  }
  return digest.hex();
}

}  // namespace solmark::seal
