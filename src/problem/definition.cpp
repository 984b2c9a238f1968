#include "problem/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "problem/decode.h"
#include "problem/expression.h"
#include "problem/suggestion.h"

namespace solmark::problem {
namespace {

constexpr std::size_t kMaxDefinitionBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxRank = 64;

const std::vector<std::string> kDefinitionKeys = {
    "name",   "op_type", "description", "hf_id",       "axes",
    "inputs", "outputs", "reference",   "constraints", "custom_inputs_entrypoint",
    "tags"};
const std::vector<std::string> kAxisKeys = {"type", "value", "expression", "description", "parent"};
const std::vector<std::string> kTensorKeys = {"shape", "dtype", "description"};

std::vector<std::string> dtype_names() {
  std::vector<std::string> out;
  for (auto d = static_cast<int>(Dtype::kFloat64); d <= static_cast<int>(Dtype::kBool); ++d) {
    out.emplace_back(dtype_name(static_cast<Dtype>(d)));
  }
  return out;
}

Result<std::string> optional_text(const Cursor& object, std::string_view key) {
  auto member = object.find(key);
  return member ? member->text() : Result<std::string>(std::string());
}

Result<Axis> decode_axis(const std::string& name, const Cursor& at) {
  SOLMARK_CHECK_OK(at.object("an axis", kAxisKeys));
  if (!is_identifier(name)) {
    return at.error(fmt::format("\"{}\" cannot be an axis name", name), "use letters, digits and _");
  }
  SOLMARK_TRY(Cursor type, at.need("type"));
  SOLMARK_TRY(std::string kind, type.text());
  Axis axis;
  axis.name = name;
  if (kind == "const") {
    axis.kind = Axis::Kind::kConst;
    SOLMARK_TRY(Cursor value, at.need("value"));
    SOLMARK_TRY(axis.value, value.integer(0));
  } else if (kind == "var") {
    axis.kind = Axis::Kind::kVar;
  } else if (kind == "expr") {
    axis.kind = Axis::Kind::kExpression;
    SOLMARK_TRY(Cursor expression, at.need("expression"));
    SOLMARK_TRY(axis.expression, expression.text());
  } else {
    return type.error(fmt::format("unknown axis type \"{}\"", kind),
                      suggest_name(kind, {"const", "var", "expr"}));
  }
  return axis;
}

std::vector<std::string> axis_names(const Definition& definition) {
  std::vector<std::string> out;
  for (const Axis& axis : definition.axes) out.push_back(axis.name);
  return out;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// An expression may name an axis that only the workloads bring, so an unknown name is a warning here and an
// error where it is evaluated; a syntax error is one at once.
Status check_axis_expressions(const Definition& definition, const Cursor& axes) {
  std::vector<std::string> names = axis_names(definition);
  for (const Axis& axis : definition.axes) {
    if (axis.kind != Axis::Kind::kExpression) continue;
    SOLMARK_TRY(Cursor entry, axes.need(axis.name));
    SOLMARK_TRY(Cursor at, entry.need("expression"));
    auto parsed = Expression::parse(axis.expression, Expression::Grammar::kArithmetic);
    if (!parsed.ok()) {
      return at.error(fmt::format("`{}` cannot be read: {}", axis.expression, parsed.error().message),
                      "use + - * / // % **, brackets, numbers and axis names");
    }
    for (const std::string& name : parsed->names()) {
      if (has_name(names, name)) continue;
      at.warn("expression name " + name,
              fmt::format("`{}` uses \"{}\", which is no axis: every workload must give it", axis.expression,
                          name),
              suggest_name(name, names));
    }
  }
  return success();
}

Result<std::vector<std::string>> decode_shape(const Cursor& at, const std::vector<std::string>& axes) {
  SOLMARK_TRY(auto items, at.elements(kMaxRank));
  std::vector<std::string> out;
  for (const Cursor& item : items) {
    if (item.value().is_number()) {
      return item.error("a dimension must be a string", fmt::format("write \"{}\"", item.value().dump()));
    }
    SOLMARK_TRY(std::string token, item.text());
    bool digits = !token.empty() && token.find_first_not_of("0123456789") == std::string::npos;
    if (digits && token.size() > 18) return item.error(fmt::format("dimension {} is too large", token));
    if (!digits && !has_name(axes, token)) {
      return item.error(fmt::format("\"{}\" is neither an axis nor a number", token),
                        suggest_name(token, axes));
    }
    out.push_back(std::move(token));
  }
  return out;
}

Result<TensorSpec> decode_tensor(const std::string& name, const Cursor& at,
                                 const std::vector<std::string>& axes) {
  SOLMARK_CHECK_OK(at.object("a tensor", kTensorKeys));
  TensorSpec tensor;
  tensor.name = name;
  SOLMARK_TRY(Cursor shape, at.need("shape"));
  if (!shape.is_null()) {
    SOLMARK_TRY(tensor.shape, decode_shape(shape, axes));
  }
  SOLMARK_TRY(Cursor dtype, at.need("dtype"));
  SOLMARK_TRY(std::string dtype_text, dtype.text());
  auto known = dtype_from_name(dtype_text);
  if (!known)
    return dtype.error(fmt::format("unknown dtype \"{}\"", dtype_text),
                       suggest_name(dtype_text, dtype_names()));
  tensor.dtype = *known;
  if (dtype_is_packed(*known) && tensor.shape && tensor.shape->empty()) {
    return shape.error("a packed fp4 tensor needs a dimension to pack along");
  }
  SOLMARK_TRY(tensor.description, optional_text(at, "description"));
  return tensor;
}

Status decode_inputs(const Cursor& root, Definition& out) {
  SOLMARK_TRY(Cursor inputs, root.need("inputs"));
  SOLMARK_TRY(auto members, inputs.members());
  std::vector<std::string> axes = axis_names(out);
  for (const auto& [name, at] : members) {
    if (!is_identifier(name)) {
      return at.error(fmt::format("\"{}\" cannot be an input name", name), "inputs are parameters of run()");
    }
    if (has_name(axes, name)) {
      return at.error(fmt::format("input \"{}\" has the name of an axis", name),
                      "rename the input or the axis");
    }
    SOLMARK_TRY(TensorSpec tensor, decode_tensor(name, at, axes));
    out.inputs.push_back(std::move(tensor));
  }
  return success();
}

Status decode_outputs(const Cursor& root, Definition& out) {
  SOLMARK_TRY(Cursor outputs, root.need("outputs"));
  SOLMARK_TRY(auto members, outputs.members());
  if (members.empty())
    return outputs.error("no outputs: there would be nothing to compare", "declare at least one");
  std::vector<std::string> axes = axis_names(out);
  for (const auto& [name, at] : members) {
    if (!is_identifier(name)) {
      return at.error(fmt::format("\"{}\" cannot be an output name", name), "use letters, digits and _");
    }
    bool taken =
        std::any_of(out.inputs.begin(), out.inputs.end(), [&n = name](const auto& t) { return t.name == n; });
    if (taken) {
      return at.error(fmt::format("output \"{}\" has the name of an input", name),
                      "give it a name of its own");
    }
    SOLMARK_TRY(TensorSpec tensor, decode_tensor(name, at, axes));
    // A number that is returned, or written by a candidate in destination-passing style, needs a place in
    // memory.
    if (!tensor.shape) tensor.shape.emplace();
    out.outputs.push_back(std::move(tensor));
  }
  return success();
}

// A light check of the text; the oracle imports the reference and checks the signature.
bool has_top_level_function(std::string_view code, std::string_view name) {
  constexpr std::string_view kDef = "def";
  auto skip_spaces = [&code](std::size_t at) {
    return std::min(code.find_first_not_of(" \t\\\r\n", at), code.size());
  };
  for (std::size_t at = code.find(kDef); at != std::string_view::npos; at = code.find(kDef, at + 1)) {
    if (at != 0 && code[at - 1] != '\n') continue;
    std::size_t start = skip_spaces(at + kDef.size());
    if (start == at + kDef.size() || code.substr(start, name.size()) != name) continue;
    std::size_t bracket = skip_spaces(start + name.size());
    if (bracket < code.size() && code[bracket] == '(') return true;
  }
  return false;
}

Status decode_reference(const Cursor& root, Definition& out) {
  SOLMARK_TRY(Cursor reference, root.need("reference"));
  SOLMARK_TRY(out.reference, reference.text());
  if (!has_top_level_function(out.reference, "run")) {
    return reference.error("the reference has no top-level function `run`",
                           "define `def run(…):` at column 1");
  }
  auto entry = root.find("custom_inputs_entrypoint");
  if (!entry) return success();
  SOLMARK_TRY(out.custom_inputs_entrypoint, entry->text());
  const std::string& name = out.custom_inputs_entrypoint;
  if (name.empty()) return success();
  if (!is_identifier(name)) return entry->error(fmt::format("\"{}\" is not a function name", name));
  if (!has_top_level_function(out.reference, name)) {
    return entry->error(fmt::format("the reference has no top-level function `{}`", name),
                        fmt::format("define `def {}(axes_and_scalars, device):` in the reference", name));
  }
  return success();
}

// FlashInfer-Trace also writes constraints over the contents of tensors (`n == indptr[-1].item()`). Those
// cannot be checked from axes; they are reported, never dropped in silence.
Status decode_constraints(const Cursor& root, Definition& out) {
  auto constraints = root.find("constraints");
  if (!constraints) return success();
  SOLMARK_TRY(auto items, constraints->elements());
  std::vector<std::string> names = axis_names(out);
  for (const Cursor& item : items) {
    SOLMARK_TRY(std::string text, item.name());
    auto parsed = Expression::parse(text, Expression::Grammar::kCondition);
    if (!parsed.ok()) {
      item.warn("constraint " + text,
                fmt::format("constraint `{}` is not checked, it is no comparison of axes: {}", text,
                            parsed.error().message));
      continue;
    }
    auto unknown = std::find_if_not(parsed->names().begin(), parsed->names().end(),
                                    [&names](const std::string& n) { return has_name(names, n); });
    if (unknown != parsed->names().end()) {
      item.warn("constraint " + text,
                fmt::format("constraint `{}` is not checked: \"{}\" is no axis", text, *unknown),
                nearest_name(*unknown, names).empty() ? std::string() : suggest_name(*unknown, names));
      continue;
    }
    out.constraints.push_back(std::move(text));
  }
  return success();
}

Status decode_texts(const Cursor& root, Definition& out) {
  SOLMARK_TRY(Cursor name, root.need("name"));
  SOLMARK_TRY(out.name, name.name());
  SOLMARK_TRY(out.op_type, optional_text(root, "op_type"));
  SOLMARK_TRY(out.description, optional_text(root, "description"));
  if (auto hf_id = root.find("hf_id")) {
    SOLMARK_TRY(std::string id, hf_id->text());
    if (!id.empty()) out.hf_id = std::move(id);
  }
  if (auto tags = root.find("tags")) SOLMARK_CHECK_OK(tags->texts());
  return success();
}

Status decode_axes(const Cursor& root, Definition& out) {
  SOLMARK_TRY(Cursor axes, root.need("axes"));
  SOLMARK_TRY(auto members, axes.members());
  for (const auto& [name, at] : members) {
    SOLMARK_TRY(Axis axis, decode_axis(name, at));
    out.axes.push_back(std::move(axis));
  }
  return check_axis_expressions(out, axes);
}

}  // namespace

Result<LoadedDefinition> decode_definition(std::string_view text, const std::string& source) {
  SOLMARK_TRY(Json json, parse_json(text, source, {kMaxDefinitionBytes, 64}));
  Warnings warnings;
  DocumentText document{text, source, 1, &warnings};
  Cursor root(json, document);
  SOLMARK_CHECK_OK(root.object("a definition", kDefinitionKeys));
  LoadedDefinition out;
  out.definition.file = source;
  SOLMARK_CHECK_OK(decode_texts(root, out.definition));
  SOLMARK_CHECK_OK(decode_axes(root, out.definition));
  SOLMARK_CHECK_OK(decode_inputs(root, out.definition));
  SOLMARK_CHECK_OK(decode_outputs(root, out.definition));
  SOLMARK_CHECK_OK(decode_reference(root, out.definition));
  SOLMARK_CHECK_OK(decode_constraints(root, out.definition));
  out.warnings = warnings.take();
  return out;
}

Result<LoadedDefinition> load_definition(const std::filesystem::path& file) {
  SOLMARK_TRY(std::string text, read_file(file, kMaxDefinitionBytes));
  return decode_definition(text, file.string());
}

}  // namespace solmark::problem
