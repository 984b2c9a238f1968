#include "problem/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "problem/decode.h"
#include "problem/number.h"
#include "problem/suggestion.h"

namespace solmark::problem {
namespace {

constexpr std::size_t kMaxWorkloadBytes = std::size_t{256} << 20;

const std::vector<std::string> kWorkloadKeys = {"uuid", "axes", "inputs", "tolerance"};
const std::vector<std::string> kTraceKeys = {"definition", "workload", "solution", "evaluation"};
const std::vector<std::string> kInputKeys = {"type", "value", "path", "tensor_key"};
const std::vector<std::string> kToleranceKeys = {
    "max_atol",      "max_rtol",           "required_matched_ratio",
    "max_error_cap", "allow_negative_inf", "required_match_ratio"};

Result<Tolerance> decode_tolerance(const Cursor& at) {
  SOLMARK_CHECK_OK(at.object("a tolerance", kToleranceKeys));
  Tolerance out;
  if (auto c = at.find("max_atol")) {
    SOLMARK_TRY(out.max_atol, c->number(0));
  }
  if (auto c = at.find("max_rtol")) {
    SOLMARK_TRY(out.max_rtol, c->number(0));
  }
  if (auto misspelt = at.find("required_match_ratio")) {
    SOLMARK_TRY(out.required_matched_ratio, misspelt->number(0, 1));
    bool both = at.find("required_matched_ratio").has_value();
    misspelt->warn(fmt::format("match ratio {}", both),
                   both ? "\"required_match_ratio\" is ignored, for \"required_matched_ratio\" is there too"
                        : "\"required_match_ratio\" is read as \"required_matched_ratio\"",
                   both ? "remove it" : "rename it");
  }
  if (auto c = at.find("required_matched_ratio")) {
    SOLMARK_TRY(out.required_matched_ratio, c->number(0, 1));
  }
  if (auto c = at.find("max_error_cap")) {
    SOLMARK_TRY(out.max_error_cap, c->number(0, std::numeric_limits<double>::infinity()));
  }
  if (auto c = at.find("allow_negative_inf")) {
    SOLMARK_TRY(out.allow_negative_inf, c->boolean());
  }
  return out;
}

Error misfit(const Cursor& value, const TensorSpec& tensor, const std::string& mend) {
  return value.error(fmt::format("input \"{}\" is {}, but its value is {}", tensor.name,
                                 dtype_name(tensor.dtype), to_python_json_line(value.value())),
                     mend);
}

Result<ScalarInput> decode_whole_scalar(const Cursor& value, const TensorSpec& tensor) {
  const Json& json = value.value();
  if (json.is_boolean()) return ScalarInput{std::int64_t{json.get<bool>() ? 1 : 0}};
  if (json.is_number_float() && !to_integer(json.get<double>()).ok()) {
    return misfit(value, tensor, "write a whole number, or declare it float32 in the definition");
  }
  SOLMARK_TRY(std::int64_t whole, value.integer(std::numeric_limits<std::int64_t>::min()));
  std::size_t bits = dtype_bits(tensor.dtype);
  bool is_signed = tensor.dtype != Dtype::kUint8;
  std::int64_t most = bits == 64 ? std::numeric_limits<std::int64_t>::max()
                                 : (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  std::int64_t least = is_signed ? -most - 1 : 0;
  if (whole < least || whole > most) {
    return value.error(
        fmt::format("input \"{}\": {} does not fit in {}", tensor.name, whole, dtype_name(tensor.dtype)),
        fmt::format("write a number from {} to {}, or declare a wider dtype", least, most));
  }
  return ScalarInput{whole};
}

// What an integer or bool input is given is made one here, so that the reference and every candidate see the
// same; the value of a float input stays as it is written.
Result<ScalarInput> decode_scalar(const Cursor& at, const TensorSpec& tensor) {
  SOLMARK_TRY(Cursor value, at.need("value"));
  const Json& json = value.value();
  if (!json.is_boolean() && !json.is_number()) {
    return value.error("a scalar's value must be a number, true or false");
  }
  if (tensor.dtype == Dtype::kBool && !json.is_boolean()) {
    if (json != 0 && json != 1) return misfit(value, tensor, "write true or false");
    return ScalarInput{json == 1};
  }
  if (tensor.dtype != Dtype::kBool && !dtype_is_float(tensor.dtype))
    return decode_whole_scalar(value, tensor);
  if (json.is_boolean()) return ScalarInput{json.get<bool>()};
  if (json.is_number_float()) return ScalarInput{json.get<double>()};
  SOLMARK_TRY(std::int64_t whole, value.integer(std::numeric_limits<std::int64_t>::min()));
  return ScalarInput{whole};
}

Result<SafetensorsInput> decode_blob(const Cursor& at) {
  SafetensorsInput out;
  SOLMARK_TRY(Cursor path, at.need("path"));
  SOLMARK_TRY(out.path, path.name());
  std::filesystem::path parsed(out.path);
  if (std::find(parsed.begin(), parsed.end(), "..") != parsed.end()) {
    return path.error(fmt::format("path \"{}\" climbs out of its folder", out.path), "remove the \"..\"");
  }
  SOLMARK_TRY(Cursor key, at.need("tensor_key"));
  SOLMARK_TRY(out.tensor_key, key.name());
  return out;
}

Result<InputSource> decode_input(const Cursor& at, const TensorSpec& tensor, const Definition& definition) {
  SOLMARK_CHECK_OK(at.object("an input", kInputKeys));
  SOLMARK_TRY(Cursor type, at.need("type"));
  SOLMARK_TRY(std::string kind, type.text());
  if (kind == "random") return InputSource(RandomInput{});
  if (kind == "custom") {
    if (definition.custom_inputs_entrypoint.empty()) {
      return type.error(
          fmt::format("input \"{}\" is custom, but the definition has no generator", tensor.name),
          "name one in the definition's custom_inputs_entrypoint");
    }
    return InputSource(CustomInput{});
  }
  if (kind == "scalar") {
    if (!tensor.is_scalar()) {
      return at.error(fmt::format("input \"{}\" is a tensor, but a scalar is given", tensor.name),
                      "only inputs with shape null take a scalar");
    }
    SOLMARK_TRY(ScalarInput scalar, decode_scalar(at, tensor));
    return InputSource(scalar);
  }
  if (kind == "safetensors") {
    if (tensor.is_scalar()) {
      return at.error(fmt::format("input \"{}\" is a scalar, but a tensor file is given", tensor.name),
                      "inputs with shape null take random, scalar or custom");
    }
    SOLMARK_TRY(SafetensorsInput blob, decode_blob(at));
    return InputSource(std::move(blob));
  }
  return type.error(fmt::format("unknown input type \"{}\"", kind),
                    suggest_name(kind, {"random", "scalar", "safetensors", "custom"}));
}

Status decode_axes(const Cursor& at, const Definition& definition, Workload& out) {
  SOLMARK_TRY(auto members, at.members());
  std::vector<std::string> names;
  for (const Axis& axis : definition.axes) names.push_back(axis.name);
  for (const auto& [name, value] : members) {
    SOLMARK_TRY(out.axes[name], value.integer(0));
    auto axis = std::find_if(definition.axes.begin(), definition.axes.end(),
                             [&n = name](const Axis& a) { return a.name == n; });
    if (axis == definition.axes.end()) {
      value.warn("axis " + name, fmt::format("axis \"{}\" is not declared by the definition", name),
                 suggest_name(name, names));
    } else if (axis->kind == Axis::Kind::kExpression) {
      value.warn("axis " + name,
                 fmt::format("axis \"{}\" is computed: the workload's value is not used", name), "remove it");
    } else if (axis->kind == Axis::Kind::kConst && axis->value != out.axes[name]) {
      value.warn("axis " + name, fmt::format("the workload overrides constant axis \"{}\": {} for {}", name,
                                             out.axes[name], axis->value));
    }
  }
  return success();
}

Status decode_inputs(const Cursor& at, const Definition& definition, Workload& out) {
  SOLMARK_TRY(auto members, at.members());
  for (const auto& [name, spec] : members) {
    auto tensor = std::find_if(definition.inputs.begin(), definition.inputs.end(),
                               [&n = name](const TensorSpec& t) { return t.name == n; });
    if (tensor == definition.inputs.end()) {
      std::vector<std::string> names;
      for (const TensorSpec& t : definition.inputs) names.push_back(t.name);
      spec.warn("input " + name,
                fmt::format("the definition has no input \"{}\": its entry is ignored", name),
                suggest_name(name, names));
      continue;
    }
    SOLMARK_TRY(InputSource source, decode_input(spec, *tensor, definition));
    out.inputs.insert_or_assign(name, std::move(source));
  }
  return success();
}

Result<Workload> decode_workload(const Cursor& at, const Definition& definition) {
  SOLMARK_CHECK_OK(at.object("a workload", kWorkloadKeys));
  Workload out;
  SOLMARK_TRY(Cursor uuid, at.need("uuid"));
  SOLMARK_TRY(out.uuid, uuid.name());
  SOLMARK_TRY(Cursor axes, at.need("axes"));
  SOLMARK_CHECK_OK(decode_axes(axes, definition, out));
  if (auto inputs = at.find("inputs")) SOLMARK_CHECK_OK(decode_inputs(*inputs, definition, out));
  if (auto tolerance = at.find("tolerance")) {
    SOLMARK_TRY(out.tolerance, decode_tolerance(*tolerance));
  }
  out.json = to_python_json_line(at.value());
  return out;
}

// A FlashInfer-Trace line holds the workload one level down.
Result<Workload> decode_line(const Cursor& root, const Definition& definition) {
  if (!root.has("workload")) return decode_workload(root, definition);
  SOLMARK_CHECK_OK(root.object("a workload trace", kTraceKeys));
  SOLMARK_TRY(Cursor nested, root.need("workload"));
  if (auto name = root.find("definition")) {
    SOLMARK_TRY(std::string text, name->text());
    if (text != definition.name) {
      name->warn("definition " + text,
                 fmt::format("the workload is for definition \"{}\", not \"{}\"", text, definition.name));
    }
  }
  return decode_workload(nested, definition);
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

Result<LoadedWorkloads> decode_workloads(std::string_view text, const std::string& source,
                                         const Definition& definition) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  Warnings warnings;
  LoadedWorkloads out;
  struct First {
    std::size_t line;
    std::size_t index;
  };
  std::map<std::string, First> first;
  std::size_t line_number = 0;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (is_blank(line)) continue;
    std::string place = fmt::format("{}:{}", source, line_number);
    auto json = parse_json(line, source, {kMaxWorkloadBytes, 64, true}, line_number);
    if (!json.ok()) {
      Error error = json.error();
      if (error.where == source) error.where = place;
      if (error.mend.empty()) error.mend = "every line must be one whole JSON object (JSONL)";
      return error;
    }
    if (json->is_array()) {
      return input_error("a list of workloads", place,
                         "write one workload a line, without the brackets (JSONL)");
    }
    DocumentText document{line, source, line_number, &warnings};
    Cursor root(*json, document);
    SOLMARK_TRY(Workload workload, decode_line(root, definition));
    workload.where = place;
    auto [known, fresh] = first.try_emplace(workload.uuid, First{line_number, out.workloads.size()});
    // Traces name a workload once for every solution that was run on it.
    const bool trace = root.find("solution").has_value();
    if (!fresh && trace && out.workloads[known->second.index].json == workload.json) continue;
    if (!fresh) {
      return input_error(
          fmt::format("uuid \"{}\" was used on line {} already", workload.uuid, known->second.line), place,
          "give every workload its own uuid");
    }
    out.workloads.push_back(std::move(workload));
  }
  if (out.workloads.empty()) return input_error("no workloads", source, "write at least one, one a line");
  out.warnings = warnings.take();
  return out;
}

Result<LoadedWorkloads> load_workloads(const std::filesystem::path& file, const Definition& definition) {
  SOLMARK_TRY(std::string text, read_file(file, kMaxWorkloadBytes));
  return decode_workloads(text, file.string(), definition);
}

}  // namespace solmark::problem
