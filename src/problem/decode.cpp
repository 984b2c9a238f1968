#include "problem/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "problem/suggestion.h"

namespace solmark::problem {
namespace {

std::string escape_token(std::string_view token) {
  std::string out;
  for (char c : token) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string kind_of(const Json& value) {
  if (value.is_number_float()) return "the number " + value.dump();
  if (value.is_number()) return value.dump();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return value.is_null() ? "null" : "an " + std::string(value.type_name());
}

std::string article(const Json& value) { return value.is_string() ? "a string" : kind_of(value); }

}  // namespace

bool Warnings::is_new(const std::string& key) {
  if (auto it = index_.find(key); it != index_.end()) {
    ++entries_[it->second].count;
    return false;
  }
  if (entries_.size() < kMost) return true;
  ++left_out_;
  return false;
}

void Warnings::add(const std::string& key, const std::string& text) {
  index_[key] = entries_.size();
  entries_.push_back({text, 1});
}

std::vector<std::string> Warnings::take() const {
  std::vector<std::string> out;
  for (const Entry& e : entries_) {
    out.push_back(e.count == 1 ? e.text : fmt::format("{} ({} times; first shown)", e.text, e.count));
  }
  if (left_out_ > 0) out.push_back(fmt::format("{} more warnings left out", left_out_));
  return out;
}

std::string Cursor::where() const {
  std::string place = locate_in_json(document_->text, pointer_, document_->first_line);
  std::string out = document_->source;
  if (!place.empty()) out += ":" + place;
  if (!pointer_.empty()) out += " (" + pointer_ + ")";
  return out;
}

Error Cursor::error(std::string message, std::string mend) const {
  return input_error(std::move(message), where(), std::move(mend));
}

void Cursor::warn(const std::string& key, const std::string& message, const std::string& mend) const {
  if (document_->warnings == nullptr || !document_->warnings->is_new(key)) return;
  document_->warnings->add(key, input_error(message, where(), mend).text());
}

bool Cursor::is_null() const { return value_->is_null(); }
bool Cursor::is_string() const { return value_->is_string(); }
bool Cursor::is_object() const { return value_->is_object(); }
bool Cursor::has(std::string_view key) const { return value_->is_object() && value_->contains(key); }

Cursor Cursor::child(const Json& value, std::string_view token) const {
  return {value, *document_, pointer_ + "/" + escape_token(token)};
}

Error Cursor::wrong_type(std::string_view wanted) const {
  return error(fmt::format("must be {}, not {}", wanted, article(*value_)));
}

Status Cursor::object(std::string_view kind, const std::vector<std::string>& known) const {
  if (!value_->is_object()) return wrong_type("an object");
  for (const auto& [key, value] : value_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    child(value, key)
        .warn(fmt::format("unknown {}/{}", kind, key),
              fmt::format("unknown key \"{}\" of {} is ignored", key, kind), suggest_name(key, known));
  }
  return success();
}

Result<Cursor> Cursor::need(std::string_view key) const {
  if (!value_->is_object()) return wrong_type("an object");
  auto it = value_->find(key);
  if (it == value_->end()) {
    std::vector<std::string> given;
    for (const auto& item : value_->items()) given.push_back(item.key());
    std::string near = nearest_name(key, given);
    return error(fmt::format("key \"{}\" is missing", key),
                 near.empty() ? fmt::format("add \"{}\"", key)
                              : fmt::format("rename \"{}\" to \"{}\" if that is what it is", near, key));
  }
  return child(*it, key);
}

std::optional<Cursor> Cursor::find(std::string_view key) const {
  if (!value_->is_object()) return std::nullopt;
  auto it = value_->find(key);
  if (it == value_->end() || it->is_null()) return std::nullopt;
  return child(*it, key);
}

Result<std::vector<std::pair<std::string, Cursor>>> Cursor::members(std::size_t most) const {
  if (!value_->is_object()) return wrong_type("an object");
  if (value_->size() > most) return error(fmt::format("{} members, more than {}", value_->size(), most));
  std::vector<std::pair<std::string, Cursor>> out;
  for (const auto& [key, value] : value_->items()) out.emplace_back(key, child(value, key));
  return out;
}

Result<std::vector<Cursor>> Cursor::elements(std::size_t most) const {
  if (!value_->is_array()) return wrong_type("a list");
  if (value_->size() > most) return error(fmt::format("{} elements, more than {}", value_->size(), most));
  std::vector<Cursor> out;
  for (std::size_t i = 0; i < value_->size(); ++i) out.push_back(child((*value_)[i], fmt::format("{}", i)));
  return out;
}

Result<std::string> Cursor::text() const {
  if (!value_->is_string()) return wrong_type("a string");
  return value_->get<std::string>();
}

Result<std::string> Cursor::name() const {
  SOLMARK_TRY(std::string out, text());
  if (out.empty()) return error("must not be empty");
  for (char c : out) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return error("must not hold control characters");
  }
  return out;
}

Result<bool> Cursor::boolean() const {
  if (!value_->is_boolean()) return wrong_type("true or false");
  return value_->get<bool>();
}

Result<std::int64_t> Cursor::integer(std::int64_t least, std::int64_t most) const {
  constexpr double kExact = 9007199254740992.0;  // 2^53: above it a float no longer says which integer
  std::int64_t out = 0;
  if (value_->is_number_unsigned()) {
    auto wide = value_->get<std::uint64_t>();
    if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return error(fmt::format("{} is too large", wide), fmt::format("it must be at most {}", most));
    }
    out = static_cast<std::int64_t>(wide);
  } else if (value_->is_number_integer()) {
    out = value_->get<std::int64_t>();
  } else if (value_->is_number_float()) {
    auto real = value_->get<double>();
    if (std::trunc(real) != real) return wrong_type("a whole number");
    if (std::fabs(real) > kExact) return error(fmt::format("{} is too large", value_->dump()));
    out = static_cast<std::int64_t>(real);
  } else {
    return wrong_type("a whole number");
  }
  if (out < least) {
    return error(least == 0 ? fmt::format("must not be negative: {}", out)
                            : fmt::format("must be at least {}: {}", least, out));
  }
  if (out > most) return error(fmt::format("must be at most {}: {}", most, out));
  return out;
}

Result<double> Cursor::number(double least, double most) const {
  if (!value_->is_number()) return wrong_type("a number");
  auto out = value_->get<double>();
  if (std::isnan(out) || (std::isinf(out) && std::isfinite(most))) return error("must be a finite number");
  if (out < least) {
    return error(least == 0 ? fmt::format("must not be negative: {}", value_->dump())
                            : fmt::format("must be at least {}: {}", least, value_->dump()));
  }
  if (!(out <= most)) return error(fmt::format("must be at most {}: {}", most, value_->dump()));
  return out;
}

Result<std::vector<std::string>> Cursor::texts() const {
  SOLMARK_TRY(auto items, elements());
  std::vector<std::string> out;
  for (const Cursor& item : items) {
    SOLMARK_TRY(std::string one, item.text());
    out.push_back(std::move(one));
  }
  return out;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

}  // namespace solmark::problem
