#include "graph/graph_json.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/verify.h"

namespace solmark::graph {
namespace {

using Keys = std::set<std::string, std::less<>>;

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  Result<OpGraph> read(const Json& json) const {
    SOLMARK_CHECK_OK(object(json, "",
                            {"format", "version", "storages", "tensors", "ops", "inputs", "outputs", "mode"},
                            {"definition", "axes", "mode_reason", "device", "torch", "warnings"}));
    if (json["format"] != "solmark.opgraph") return at("/format", "not 'solmark.opgraph'");
    if (json["version"] != 1) return at("/version", "not 1", "this program reads version 1");
    OpGraph graph;
    if (json.contains("definition")) {
      SOLMARK_TRY(graph.definition, text(json["definition"], "/definition"));
    }
    SOLMARK_TRY(const std::string mode, text(json["mode"], "/mode"));
    if (mode != "fake" && mode != "real") return at("/mode", "mode is '" + mode + "'", "it is fake or real");
    graph.recorded_on_values = mode == "real";
    SOLMARK_CHECK_OK(each(json, "storages", [&](const Json& item, const std::string& place) -> Status {
      SOLMARK_TRY(Storage storage, read_storage(item, place, graph.storages.size()));
      graph.storages.push_back(std::move(storage));
      return success();
    }));
    SOLMARK_CHECK_OK(each(json, "tensors", [&](const Json& item, const std::string& place) -> Status {
      SOLMARK_TRY(Tensor tensor, read_tensor(item, place, graph.tensors.size()));
      graph.tensors.push_back(std::move(tensor));
      return success();
    }));
    SOLMARK_CHECK_OK(each(json, "ops", [&](const Json& item, const std::string& place) -> Status {
      SOLMARK_TRY(Op op, read_op(item, place));
      graph.ops.push_back(std::move(op));
      return success();
    }));
    SOLMARK_CHECK_OK(read_bindings(json, "inputs", graph.inputs));
    SOLMARK_CHECK_OK(read_bindings(json, "outputs", graph.outputs));
    if (json.contains("warnings")) {
      SOLMARK_CHECK_OK(each(json, "warnings", [&](const Json& item, const std::string& place) -> Status {
        SOLMARK_TRY(std::string warning, text(item, place));
        graph.warnings.push_back(std::move(warning));
        return success();
      }));
    }
    if (auto status = verify(graph); !status.ok()) {
      Error error = status.error();
      error.where = source_ + "#" + error.where;
      return error;
    }
    return graph;
  }

 private:
  [[nodiscard]] Error at(const std::string& place, std::string message, std::string mend = {}) const {
    return input_error(std::move(message), source_ + "#" + place, std::move(mend));
  }

  Status object(const Json& json, const std::string& place, const Keys& needed, const Keys& optional) const {
    if (!json.is_object()) return at(place, "must be an object");
    for (const auto& key : needed) {
      if (!json.contains(key)) return at(place, "'" + key + "' is missing");
    }
    for (const auto& [key, value] : json.items()) {
      if (!needed.contains(key) && !optional.contains(key)) return at(place + "/" + key, "unknown key");
    }
    return success();
  }

  template <class F>
  Status each(const Json& json, const char* key, const F& f) const {
    const std::string place = std::string("/") + key;
    if (!json[key].is_array()) return at(place, "must be an array");
    std::size_t i = 0;
    for (const auto& item : json[key]) {
      SOLMARK_CHECK_OK(f(item, fmt::format("{}/{}", place, i)));
      ++i;
    }
    return success();
  }

  Result<std::string> text(const Json& json, const std::string& place) const {
    if (!json.is_string()) return at(place, "must be a text");
    return json.get<std::string>();
  }

  Result<std::int64_t> natural(const Json& json, const std::string& place) const {
    if (!json.is_number_integer() || (!json.is_number_unsigned() && json.get<std::int64_t>() < 0)) {
      return at(place, "must be an integer of at least 0");
    }
    if (json.is_number_unsigned() &&
        json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return at(place, "is too large");
    }
    return json.get<std::int64_t>();
  }

  Result<int> id(const Json& json, const std::string& place) const {
    SOLMARK_TRY(const std::int64_t value, natural(json, place));
    if (value > std::numeric_limits<int>::max()) return at(place, "is too large");
    return static_cast<int>(value);
  }

  Status own_id(const Json& json, const std::string& place, std::size_t position) const {
    SOLMARK_TRY(const std::int64_t value, natural(json["id"], place + "/id"));
    if (static_cast<std::size_t>(value) != position)
      return at(place + "/id", "is not the position in the array");
    return success();
  }

  Result<Storage> read_storage(const Json& json, const std::string& place, std::size_t position) const {
    SOLMARK_CHECK_OK(object(json, place, {"id", "bytes", "role"}, {"name", "device"}));
    SOLMARK_CHECK_OK(own_id(json, place, position));
    Storage storage;
    SOLMARK_TRY(storage.bytes, natural(json["bytes"], place + "/bytes"));
    SOLMARK_TRY(const std::string role, text(json["role"], place + "/role"));
    if (role == "input") {
      storage.role = Role::kInput;
    } else if (role == "constant") {
      storage.role = Role::kConstant;
    } else if (role != "intermediate") {
      return at(place + "/role", "role is '" + role + "'", "it is input, constant or intermediate");
    }
    if (json.contains("name")) {
      SOLMARK_TRY(storage.name, text(json["name"], place + "/name"));
    }
    return storage;
  }

  Result<Tensor> read_tensor(const Json& json, const std::string& place, std::size_t position) const {
    SOLMARK_CHECK_OK(
        object(json, place, {"id", "storage", "dtype", "shape", "strides", "offset"}, {"values"}));
    SOLMARK_CHECK_OK(own_id(json, place, position));
    Tensor tensor;
    SOLMARK_TRY(tensor.storage, id(json["storage"], place + "/storage"));
    SOLMARK_TRY(const std::string dtype, text(json["dtype"], place + "/dtype"));
    const auto element = element_from_name(dtype);
    if (!element) return at(place + "/dtype", "unknown dtype '" + dtype + "'");
    tensor.element = *element;
    SOLMARK_TRY(tensor.offset, natural(json["offset"], place + "/offset"));
    const Json& shape = json["shape"];
    const Json& strides = json["strides"];
    if (!shape.is_array() || !strides.is_array() || shape.size() != strides.size()) {
      return at(place, "shape and strides must be arrays of one length");
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      SOLMARK_TRY(const std::int64_t size, natural(shape[i], fmt::format("{}/shape/{}", place, i)));
      SOLMARK_TRY(const std::int64_t stride, natural(strides[i], fmt::format("{}/strides/{}", place, i)));
      tensor.dims.push_back({size, stride});
    }
    if (json.contains("values")) {
      if (!json["values"].is_array()) return at(place + "/values", "must be an array");
      std::vector<double> values;
      for (const auto& value : json["values"]) {
        const auto number = read_number(value);
        if (!number) {
          values.clear();  // complex: no pass uses the values
          break;
        }
        values.push_back(*number);
      }
      if (!values.empty()) tensor.values = std::move(values);
    }
    return tensor;
  }

  static std::optional<double> read_number(const Json& json) {
    if (json.is_number()) return json.get<double>();
    if (json.is_boolean()) return json.get<bool>() ? 1.0 : 0.0;
    if (json.is_object() && json.size() == 1 && json.contains("float")) {
      if (json["float"] == "inf") return std::numeric_limits<double>::infinity();
      if (json["float"] == "-inf") return -std::numeric_limits<double>::infinity();
      if (json["float"] == "nan") return std::numeric_limits<double>::quiet_NaN();
    }
    return std::nullopt;
  }

  Result<Op> read_op(const Json& json, const std::string& place) const {
    SOLMARK_CHECK_OK(object(json, place, {"op", "args", "outputs", "mutates"}, {"kwargs", "value"}));
    Op op;
    SOLMARK_TRY(op.op, text(json["op"], place + "/op"));
    if (!json["args"].is_array()) return at(place + "/args", "must be an array");
    for (std::size_t i = 0; i < json["args"].size(); ++i) {
      SOLMARK_TRY(Arg arg, read_arg(json["args"][i], fmt::format("{}/args/{}", place, i)));
      op.args.push_back(std::move(arg));
    }
    if (json.contains("kwargs")) {
      if (!json["kwargs"].is_object()) return at(place + "/kwargs", "must be an object");
      for (const auto& [key, value] : json["kwargs"].items()) {
        SOLMARK_TRY(Arg arg, read_arg(value, place + "/kwargs/" + key));
        op.kwargs.emplace_back(key, std::move(arg));
      }
    }
    for (const char* key : {"outputs", "mutates"}) {
      if (!json[key].is_array()) return at(place + "/" + key, "must be an array");
      for (std::size_t i = 0; i < json[key].size(); ++i) {
        const std::string item = fmt::format("{}/{}/{}", place, key, i);
        const bool output = key == std::string_view("outputs");
        if (output && json[key][i].is_null()) {
          op.outputs.emplace_back(std::nullopt);
          continue;
        }
        SOLMARK_TRY(const int tensor, id(json[key][i], item));
        if (output) {
          op.outputs.emplace_back(tensor);
        } else {
          op.mutates.push_back(tensor);
        }
      }
    }
    return op;
  }

  Result<Arg> read_arg(const Json& json, const std::string& place) const {
    if (json.is_null()) return Arg{};
    if (json.is_boolean()) return Arg{json.get<bool>()};
    if (json.is_number_integer()) return Arg{json.get<std::int64_t>()};
    if (json.is_number()) return Arg{json.get<double>()};
    if (json.is_string()) return Arg{json.get<std::string>()};
    if (json.is_array()) {
      ArgList list;
      for (std::size_t i = 0; i < json.size(); ++i) {
        SOLMARK_TRY(Arg arg, read_arg(json[i], fmt::format("{}/{}", place, i)));
        list.push_back(std::move(arg));
      }
      return Arg{std::move(list)};
    }
    if (json.size() != 1) return at(place, "an argument object has exactly one key");
    const auto& key = json.begin().key();
    const Json& value = json.begin().value();
    if (key == "t") {
      SOLMARK_TRY(const int tensor, id(value, place + "/t"));
      return Arg{TensorRef{tensor}};
    }
    if (key == "float") {
      if (const auto number = read_number(json)) return Arg{*number};
      return at(place + "/float", "must be inf, -inf or nan");
    }
    if (key == "complex") return Arg{NameArg{"complex", value.dump()}};
    if (key == "dtype" || key == "device" || key == "other") {
      SOLMARK_TRY(std::string name, text(value, place + "/" + key));
      return Arg{NameArg{key, std::move(name)}};
    }
    return at(place + "/" + key, "unknown kind of argument");
  }

  Status read_bindings(const Json& json, const char* key, std::vector<Binding>& out) const {
    return each(json, key, [&](const Json& item, const std::string& place) -> Status {
      SOLMARK_CHECK_OK(object(item, place, {"name"}, {"tensor", "scalar"}));
      if (item.contains("tensor") == item.contains("scalar"))
        return at(place, "needs either tensor or scalar");
      Binding binding;
      SOLMARK_TRY(binding.name, text(item["name"], place + "/name"));
      if (item.contains("tensor")) {
        SOLMARK_TRY(binding.tensor, id(item["tensor"], place + "/tensor"));
      }
      out.push_back(std::move(binding));
      return success();
    });
  }

  std::string source_;
};

}  // namespace

Result<OpGraph> graph_from_json(const Json& json, const std::string& source) {
  return Reader(source).read(json);
}

Result<OpGraph> read_graph(const std::filesystem::path& file) {
  SOLMARK_TRY(const Json json, read_json(file));
  return graph_from_json(json, file.string());
}

}  // namespace solmark::graph
