#include "graph/graph.h"

namespace solmark::graph {

std::int64_t Tensor::count() const {
  std::int64_t count = 1;
  for (const auto& dim : dims) count *= dim.size;
  return count;
}

std::string Op::name() const {
  constexpr std::string_view kAten = "aten.";
  if (op.rfind(kAten, 0) != 0) return op;
  const auto end = op.find('.', kAten.size());
  return op.substr(kAten.size(), end == std::string::npos ? std::string::npos : end - kAten.size());
}

const Arg* argument(const Op& op, std::size_t position, const char* keyword) {
  if (position < op.args.size()) return &op.args[position];
  if (keyword != nullptr) {
    for (const auto& [name, arg] : op.kwargs) {
      if (name == keyword) return &arg;
    }
  }
  return nullptr;
}

std::optional<int> tensor_argument(const Op& op, std::size_t position, const char* keyword) {
  const Arg* arg = argument(op, position, keyword);
  if (arg == nullptr) return std::nullopt;
  if (const auto* ref = std::get_if<TensorRef>(&arg->value)) return ref->id;
  return std::nullopt;
}

std::optional<std::int64_t> int_argument(const Op& op, std::size_t position, const char* keyword) {
  const Arg* arg = argument(op, position, keyword);
  if (arg == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&arg->value)) return *value;
  return std::nullopt;
}

std::optional<double> number_argument(const Op& op, std::size_t position, const char* keyword) {
  const Arg* arg = argument(op, position, keyword);
  if (arg == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&arg->value)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&arg->value)) return *value;
  if (const auto* value = std::get_if<bool>(&arg->value)) return *value ? 1.0 : 0.0;
  return std::nullopt;
}

std::optional<bool> bool_argument(const Op& op, std::size_t position, const char* keyword) {
  const Arg* arg = argument(op, position, keyword);
  if (arg == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<bool>(&arg->value)) return *value;
  return std::nullopt;
}

std::optional<std::string> string_argument(const Op& op, std::size_t position, const char* keyword) {
  const Arg* arg = argument(op, position, keyword);
  if (arg == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::string>(&arg->value)) return *value;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> ints_argument(const Op& op, std::size_t position,
                                                       const char* keyword) {
  const Arg* arg = argument(op, position, keyword);
  if (arg == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&arg->value)) return std::vector<std::int64_t>{*value};
  const auto* list = std::get_if<ArgList>(&arg->value);
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const auto& element : *list) {
    const auto* value = std::get_if<std::int64_t>(&element.value);
    if (value == nullptr) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

namespace {
void collect(const Arg& arg, std::vector<int>& out) {
  if (const auto* ref = std::get_if<TensorRef>(&arg.value)) out.push_back(ref->id);
  if (const auto* list = std::get_if<ArgList>(&arg.value)) {
    for (const auto& element : *list) collect(element, out);
  }
}
}  // namespace

std::vector<int> tensor_arguments(const Op& op) {
  std::vector<int> out;
  for (const auto& arg : op.args) collect(arg, out);
  for (const auto& [name, arg] : op.kwargs) collect(arg, out);
  return out;
}

}  // namespace solmark::graph
