#include "json_mutations.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"

namespace solmark::fuzz {
namespace {

struct Place {
  Json* value;
  Json* parent;
  std::string key;  // of the nearest member above: elements of a list have the list's
};

struct Document {
  std::vector<Place> places;
  std::map<std::string, std::vector<std::string>> texts;
};

void collect(Json& value, Json* parent, const std::string& key, Document& out) {
  out.places.push_back({&value, parent, key});
  if (value.is_string()) out.texts[key].push_back(value.get<std::string>());
  if (value.is_object()) {
    for (auto& [name, member] : value.get_ref<Json::object_t&>()) collect(member, &value, name, out);
  } else if (value.is_array()) {
    for (Json& element : value) collect(element, &value, key, out);
  }
}

template <class List>
const auto& any(const List& list, std::mt19937& random) {
  return list[random() % list.size()];
}

void mutate_list(Json& list, std::mt19937& random) {
  const std::size_t at = random() % list.size();
  switch (random() % 3) {
    case 0:
      list.erase(at);
      break;
    case 1: {
      Json copy = list[at];
      list.push_back(std::move(copy));
      break;
    }
    default:
      std::swap(list[at], list[random() % list.size()]);
  }
}

void mutate_value(const Place& place, const Document& document, std::mt19937& random) {
  static constexpr std::array<std::int64_t, 10> kNumbers = {
      0, 1, 2, 3, -1, 4, 8, 1 << 20, std::int64_t{1} << 40, std::int64_t{1} << 62};
  Json& value = *place.value;
  if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_number_integer()) {
    const auto number = static_cast<std::uint64_t>(value.get<std::int64_t>());
    value = random() % 2 == 0 ? any(kNumbers, random)
                              : static_cast<std::int64_t>(random() % 2 == 0 ? number + 1 : number - 1);
  } else if (value.is_number()) {
    value = value.get<double>() * (random() % 2 == 0 ? -1 : 2);
  } else if (value.is_string()) {
    value = any(document.texts.at(place.key), random);
  } else if (value.is_array() && !value.empty()) {
    mutate_list(value, random);
  } else if (value.is_object() && !value.empty()) {
    auto& members = value.get_ref<Json::object_t&>();
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(random() % members.size()));
  } else if (place.parent != nullptr) {
    value = static_cast<std::int64_t>(random() % 3);
  }
}

}  // namespace

std::string mutate_json(const std::string& text, std::mt19937& random) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return text;
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    Document document;
    collect(json, nullptr, "", document);
    mutate_value(any(document.places, random), document, random);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace solmark::fuzz
