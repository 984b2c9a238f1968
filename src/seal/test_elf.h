// For tests: builds a small cubin by hand, section by section, so that each field's place is known and can be
// broken.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace solmark::seal {

class TestElf {
 public:
  enum Section {
    kNull,
    kNames,
    kStrings,
    kSymbols,
    kText,
    kOther,
    kGlobal,
    kConstant,
    kZero,
    kRelocations,
    kCodeRelocations,
    kCount
  };
  std::string kernel_name = "kernel";
  std::string kernel_text = "0123456789abcdef";
  std::string other_text = "device code";
  std::string global_content = "ABCDEFGHIJKLMNOPQRSTUVWX";
  std::vector<std::uint64_t> patch_global_at = {0};
  std::string extra_symbol = "extra";
  bool kernel_calls = false;

  [[nodiscard]] std::string build() const { return layout().image; }
  [[nodiscard]] std::size_t section_table_at() const { return layout().table; }
  [[nodiscard]] std::size_t symbols_at() const { return layout().offsets[kSymbols]; }
  [[nodiscard]] std::size_t relocations_at() const { return layout().offsets[kRelocations]; }

 private:
  struct Layout {
    std::string image;
    std::size_t table = 0;
    std::size_t offsets[kCount] = {};
  };

  template <class Integer>
  static void put(std::string& out, Integer value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::uint32_t name(std::string& table, const std::string& text) {
    const auto at = static_cast<std::uint32_t>(table.size());
    table += text;
    table += '\0';
    return at;
  }

  [[nodiscard]] Layout layout() const {
    std::string names(1, '\0');
    std::string strings(1, '\0');
    std::string symbols(24, '\0');
    const auto symbol = [&](const std::string& text, std::uint8_t info, std::uint8_t other,
                            std::uint16_t section, std::uint64_t value, std::uint64_t size) {
      put(symbols, name(strings, text));
      put(symbols, info);
      put(symbols, other);
      put(symbols, section);
      put(symbols, value);
      put(symbols, size);
    };
    symbol(kernel_name, 0x12, 0x10, kText, 0, kernel_text.size());
    symbol("device_function", 0x12, 0, kOther, 0, other_text.size());
    symbol("g_set", 1, 0, kGlobal, 0, global_content.size());
    symbol("c_set", 1, 0, kConstant, 4, 8);
    symbol("g_zero", 1, 0, kZero, 0, 64);
    symbol(extra_symbol, 0x12, 0, 0, 0, 0);
    std::string relocations;
    for (const std::uint64_t at : patch_global_at) {
      put(relocations, at);
      put(relocations, (std::uint64_t{3} << 32) | 4);
      put(relocations, std::int64_t{0});
    }
    std::string code_relocations;
    if (kernel_calls) {
      put(code_relocations, std::uint64_t{0});
      put(code_relocations, (std::uint64_t{2} << 32) | 1);
    }
    const std::string text_name = ".text." + kernel_name;
    struct Part {
      const char* name;
      std::uint32_t type, link, info;
      std::string content;
      std::uint64_t size;
    };
    std::vector<Part> parts(kCount);
    parts[kNull] = {"", 0, 0, 0, "", 0};
    parts[kNames] = {".shstrtab", 3, 0, 0, "", 0};
    parts[kStrings] = {".strtab", 3, 0, 0, strings, 0};
    parts[kSymbols] = {".symtab", 2, kStrings, 0, symbols, 0};
    parts[kText] = {text_name.c_str(), 1, 0, 0, kernel_text, 0};
    parts[kOther] = {".text.device_function", 1, 0, 0, other_text, 0};
    parts[kGlobal] = {".nv.global.init", 1, 0, 0, global_content, 0};
    parts[kConstant] = {".nv.constant3", 1, 0, 0, "constant-bank", 0};
    parts[kZero] = {".nv.global", 8, 0, 0, "", 64};
    parts[kRelocations] = {".rela.nv.global.init", 4, kSymbols, kGlobal, relocations, 0};
    parts[kCodeRelocations] = {".rel.text.kernel", 9, kSymbols, kText, code_relocations, 0};
    std::vector<std::uint32_t> name_at;
    for (const Part& part : parts) name_at.push_back(name(names, part.name));
    parts[kNames].content = names;

    Layout layout;
    std::string body;
    for (int i = 0; i < kCount; ++i) {
      while (body.size() % 8 != 0) body += '\0';
      layout.offsets[i] = 64 + body.size();
      body += parts[static_cast<std::size_t>(i)].content;
    }
    while (body.size() % 8 != 0) body += '\0';
    layout.table = 64 + body.size();
    std::string header("\177ELF\2\1\1\x41\x8", 9);
    header.resize(16, '\0');
    put<std::uint16_t>(header, 2);
    put<std::uint16_t>(header, 190);
    put<std::uint32_t>(header, 1);
    put<std::uint64_t>(header, 0);
    put<std::uint64_t>(header, 0);
    put<std::uint64_t>(header, layout.table);
    put<std::uint32_t>(header, 0x6005a04);
    for (const int field : {64, 0, 0, 64, int{kCount}, int{kNames}})
      put<std::uint16_t>(header, static_cast<std::uint16_t>(field));
    std::string table;
    for (std::size_t i = 0; i < kCount; ++i) {
      const Part& part = parts[i];
      put(table, name_at[i]);
      put(table, part.type);
      put<std::uint64_t>(table, 0);
      put<std::uint64_t>(table, 0);
      put<std::uint64_t>(table, layout.offsets[i]);
      put<std::uint64_t>(table, part.size != 0 ? part.size : part.content.size());
      put(table, part.link);
      put(table, part.info);
      put<std::uint64_t>(table, 1);
      put<std::uint64_t>(table, 0);
    }
    layout.image = header + body + table;
    return layout;
  }
};

}  // namespace solmark::seal
