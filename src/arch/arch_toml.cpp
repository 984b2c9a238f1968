#include "arch/arch_toml.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <cmath>
#include <set>

#include "arch/arch_fields.h"
#include "base/files.h"

namespace solmark::arch {
namespace {

constexpr std::string_view kFileFormat = "solmark.arch";
constexpr std::int64_t kFileVersion = 1;

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  Result<Arch> read(const toml::table& root) {
    SOLMARK_CHECK_OK(known_keys(root, top_keys(), ""));
    SOLMARK_TRY(const std::string format, text(root, "format"));
    if (format != kFileFormat) {
      return at(root, fmt::format("format is '{}'", format), fmt::format("it must be '{}'", kFileFormat));
    }
    if (root["version"].value_exact<std::int64_t>() != kFileVersion) {
      return at(root, "version is not 1", "this program reads version 1");
    }
    Arch arch;
    SOLMARK_TRY(arch.name, text(root, "name"));
    SOLMARK_TRY(arch.title, text(root, "title"));
    SOLMARK_TRY(const std::string kind, text(root, "kind"));
    if (kind != "gpu" && kind != "cpu")
      return at(*root.get("kind"), "kind is '" + kind + "'", "it is gpu or cpu");
    arch.kind = kind == "gpu" ? Kind::kGpu : Kind::kCpu;
    SOLMARK_CHECK_OK(read_sources(root));
    SOLMARK_CHECK_OK(read_figures(root, arch));
    SOLMARK_CHECK_OK(read_rates(root, arch));
    SOLMARK_CHECK_OK(read_links(root, arch));
    SOLMARK_CHECK_OK(read_printed(root, arch));
    if (auto status = check_arch(arch); !status.ok()) {
      Error error = status.error();
      error.where = source_;
      return error;
    }
    return arch;
  }

 private:
  [[nodiscard]] Error at(const toml::node& node, std::string message, std::string mend = {}) const {
    const auto& begin = node.source().begin;
    return input_error(std::move(message), fmt::format("{}:{}:{}", source_, begin.line, begin.column),
                       std::move(mend));
  }

  static std::set<std::string, std::less<>> top_keys() {
    std::set<std::string, std::less<>> keys = {"format", "version", "name", "title",
                                               "kind",   "sources", "link", "printed"};
    for (const auto& field : kFigureFields) keys.emplace(field.section);
    for (const auto& field : kRateFields) keys.emplace(field.section);
    return keys;
  }

  Status known_keys(const toml::table& table, const std::set<std::string, std::less<>>& keys,
                    const std::string& place) const {
    for (const auto& [key, node] : table) {
      if (!keys.contains(key.str())) {
        return at(node, fmt::format("unknown key '{}{}'", place, key.str()),
                  fmt::format("known keys: {}", fmt::join(keys, ", ")));
      }
    }
    return success();
  }

  Result<std::string> text(const toml::table& table, std::string_view key) const {
    const auto value = table[key].value<std::string>();
    if (!value || value->empty()) return at(table, fmt::format("'{}' must be a text that is not empty", key));
    return *value;
  }

  Status read_sources(const toml::table& root) {
    const auto* sources = root["sources"].as_table();
    if (sources == nullptr) return at(root, "[sources] is missing", "name every source that a figure cites");
    for (const auto& [key, node] : *sources) {
      const auto value = node.value<std::string>();
      if (!value || value->empty()) return at(node, fmt::format("source '{}' must be a text", key.str()));
      sources_.emplace(key.str(), *value);
    }
    return success();
  }

  Result<Figure> figure(const toml::node& node, const std::string& place) const {
    const auto* table = node.as_table();
    if (table == nullptr) return at(node, place + " must be { value = …, source = …, certainty = … }");
    SOLMARK_CHECK_OK(known_keys(*table, {"value", "source", "certainty"}, place + "."));
    const auto value = (*table)["value"].value<double>();
    if (!value || !std::isfinite(*value) || !(*value > 0))
      return at(node, place + ".value must be a positive number");
    SOLMARK_TRY(const std::string cited, text(*table, "source"));
    const auto found = sources_.find(cited);
    if (found == sources_.end()) {
      return at(node, fmt::format("{} cites '{}', which [sources] does not have", place, cited));
    }
    SOLMARK_TRY(const std::string word, text(*table, "certainty"));
    const auto certainty = certainty_from_name(word);
    if (!certainty) {
      return at(node, fmt::format("{}.certainty is '{}'", place, word),
                "it is vendor, derived, measured, reported or assumed");
    }
    return Figure{*value, found->second, *certainty};
  }

  Status read_figures(const toml::table& root, Arch& arch) const {
    for (const auto& field : kFigureFields) {
      const auto* node = root.get(field.section);
      if (node == nullptr) continue;
      const auto* section = node->as_table();
      if (section == nullptr) return at(*node, fmt::format("'{}' must be a table", field.section));
      std::set<std::string, std::less<>> keys;
      for (const auto& other : kFigureFields) {
        if (other.section == field.section) keys.emplace(other.key);
      }
      SOLMARK_CHECK_OK(known_keys(*section, keys, std::string(field.section) + "."));
      if (const auto* value = section->get(field.key)) {
        SOLMARK_TRY(arch.*field.member, figure(*value, fmt::format("{}.{}", field.section, field.key)));
      }
    }
    return success();
  }

  Status read_rates(const toml::table& root, Arch& arch) const {
    for (const auto& field : kRateFields) {
      const auto* node = root.get(field.section);
      if (node == nullptr) continue;
      const auto* section = node->as_table();
      if (section == nullptr) return at(*node, fmt::format("'{}' must be a table", field.section));
      for (const auto& [key, value] : *section) {
        const auto format = format_from_name(key.str());
        if (!format) return at(value, fmt::format("unknown number format '{}.{}'", field.section, key.str()));
        SOLMARK_TRY(Figure rate, figure(value, fmt::format("{}.{}", field.section, key.str())));
        (arch.*field.member).emplace(*format, std::move(rate));
      }
    }
    return success();
  }

  Status read_links(const toml::table& root, Arch& arch) const {
    const auto* node = root.get("link");
    if (node == nullptr) return success();
    const auto* array = node->as_array();
    if (array == nullptr) return at(*node, "links are written [[link]]");
    for (const auto& element : *array) {
      const auto* table = element.as_table();
      if (table == nullptr) return at(element, "links are written [[link]]");
      SOLMARK_CHECK_OK(known_keys(*table, {"name", "bytes_per_s", "reduces_in_fabric"}, "link."));
      Link link;
      SOLMARK_TRY(link.name, text(*table, "name"));
      const auto* rate = table->get("bytes_per_s");
      if (rate == nullptr) return at(element, "link.bytes_per_s is missing");
      SOLMARK_TRY(link.bytes_per_s, figure(*rate, "link.bytes_per_s"));
      const auto reduces = (*table)["reduces_in_fabric"].value_exact<bool>();
      if (!reduces) return at(element, "link.reduces_in_fabric must be true or false");
      link.reduces_in_fabric = *reduces;
      arch.links.push_back(std::move(link));
    }
    return success();
  }

  Status read_printed(const toml::table& root, Arch& arch) const {
    const auto* node = root.get("printed");
    if (node == nullptr) return success();
    const auto* array = node->as_array();
    if (array == nullptr) return at(*node, "printed peaks are written [[printed]]");
    for (const auto& element : *array) {
      const auto* table = element.as_table();
      if (table == nullptr) return at(element, "printed peaks are written [[printed]]");
      SOLMARK_CHECK_OK(known_keys(*table, {"pipe", "format", "clock", "flop_per_s"}, "printed."));
      SOLMARK_TRY(const std::string pipe, text(*table, "pipe"));
      SOLMARK_TRY(const std::string format, text(*table, "format"));
      SOLMARK_TRY(const std::string clock, text(*table, "clock"));
      PrintedPeak peak;
      const auto pipe_value = pipe_from_name(pipe);
      const auto format_value = format_from_name(format);
      const auto clock_value = clock_policy_from_name(clock);
      if (!pipe_value || !format_value || !clock_value) {
        return at(element, fmt::format("printed peak of unknown pipe, format or clock: {} {} {}", pipe,
                                       format, clock));
      }
      peak.pipe = *pipe_value;
      peak.format = *format_value;
      peak.clock = *clock_value;
      const auto* rate = table->get("flop_per_s");
      if (rate == nullptr) return at(element, "printed.flop_per_s is missing");
      SOLMARK_TRY(peak.flop_per_s, figure(*rate, "printed.flop_per_s"));
      arch.printed_peaks.push_back(std::move(peak));
    }
    return success();
  }

  std::string source_;
  std::map<std::string, std::string, std::less<>> sources_;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

// Source texts become numbered entries of [sources], in order of first use.
class Writer {
 public:
  std::string figure(const Figure& figure) {
    auto [place, fresh] = ids_.try_emplace(figure.source, fmt::format("s{}", ids_.size() + 1));
    if (fresh) order_.push_back(figure.source);
    // A whole number is written as one; else the shortest digits that read back the same.
    const bool whole = std::floor(figure.value) == figure.value && figure.value < 9e15;
    const std::string number = whole ? fmt::format("{:.0f}", figure.value) : fmt::format("{}", figure.value);
    return fmt::format("{{ value = {}, source = \"{}\", certainty = \"{}\" }}", number, place->second,
                       certainty_name(figure.certainty));
  }
  [[nodiscard]] std::string sources() const {
    std::string out = "[sources]\n";
    for (const auto& source : order_) out += fmt::format("{} = {}\n", ids_.at(source), quoted(source));
    return out;
  }

 private:
  std::map<std::string, std::string> ids_;
  std::vector<std::string> order_;
};

}  // namespace

Result<Arch> parse_arch(std::string_view text, const std::string& source) {
  try {
    const toml::table root = toml::parse(text, source);
    return Reader(source).read(root);
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    return input_error(std::string(error.description()),
                       fmt::format("{}:{}:{}", source, begin.line, begin.column));
  }
}

Result<Arch> read_arch(const std::filesystem::path& file) {
  SOLMARK_TRY(const std::string text, read_file(file, std::size_t{1} << 20));
  return parse_arch(text, file.string());
}

std::string arch_to_toml(const Arch& arch) {
  Writer writer;
  std::string body;
  std::string_view section;
  for (const auto& field : kFigureFields) {
    const auto& figure = arch.*field.member;
    if (!figure) continue;
    if (section != field.section) body += fmt::format("\n[{}]\n", field.section);
    section = field.section;
    body += fmt::format("{} = {}\n", field.key, writer.figure(*figure));
  }
  for (const auto& field : kRateFields) {
    const auto& rates = arch.*field.member;
    if (rates.empty()) continue;
    body += fmt::format("\n[{}]\n", field.section);
    for (const auto& [format, rate] : rates) {
      body += fmt::format("{} = {}\n", format_name(format), writer.figure(rate));
    }
  }
  for (const auto& link : arch.links) {
    body += fmt::format("\n[[link]]\nname = {}\nbytes_per_s = {}\nreduces_in_fabric = {}\n",
                        quoted(link.name), writer.figure(link.bytes_per_s), link.reduces_in_fabric);
  }
  for (const auto& printed : arch.printed_peaks) {
    body += fmt::format("\n[[printed]]\npipe = \"{}\"\nformat = \"{}\"\nclock = \"{}\"\nflop_per_s = {}\n",
                        pipe_name(printed.pipe), format_name(printed.format),
                        clock_policy_name(printed.clock), writer.figure(printed.flop_per_s));
  }
  return fmt::format("format = \"{}\"\nversion = {}\nname = {}\ntitle = {}\nkind = \"{}\"\n\n", kFileFormat,
                     kFileVersion, quoted(arch.name), quoted(arch.title), kind_name(arch.kind)) +
         writer.sources() + body;
}

}  // namespace solmark::arch
