// One received frame. Kept apart from channel.h because it needs nlohmann's full header.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "protocol/channel.h"

namespace solmark::protocol {

struct Message {
  Json body;
  std::vector<Fd> descriptors;

  [[nodiscard]] bool is_ok() const { return body.value("type", std::string()) == "ok"; }
  // The member as a string or integer when it has that type, else the fallback: children's words are claims.
  [[nodiscard]] std::string text(const char* key, const std::string& fallback = {}) const {
    auto it = body.find(key);
    return it != body.end() && it->is_string() ? it->get<std::string>() : fallback;
  }
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t fallback = 0) const {
    auto it = body.find(key);
    return it != body.end() && it->is_number_integer() ? it->get<std::int64_t>() : fallback;
  }
};

}  // namespace solmark::protocol
