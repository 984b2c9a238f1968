#include "graph/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "graph/contraction.h"
#include "graph/op_kinds.h"
#include "graph/region.h"

namespace solmark::graph {
namespace {

// Additive masks of at least this size are meant as "minus infinity".
constexpr double kHuge = 1e3;

using Names = std::set<std::string, std::less<>>;

// f(0) is not 0.
const Names kMovesZero = {"exp",         "exp2",        "cos",         "cosh", "sigmoid", "softplus",
                          "erfc",        "acos",        "logical_not", "eq",   "ge",      "le",
                          "ne",          "rsqrt",       "reciprocal",  "log",  "log2",    "log10",
                          "bitwise_not", "hardsigmoid", "isfinite"};
// Results are few distinct numbers, so a kernel may hold them in 8 bits.
const Names kRounds = {"round", "floor", "ceil", "trunc", "sign", "sgn", "fix"};
// Values pass through unchanged (up to a sign, an offset of zero, a place).
const Names kMoves = {"clone",
                      "contiguous",
                      "cat",
                      "stack",
                      "roll",
                      "flip",
                      "repeat",
                      "index",
                      "index_select",
                      "gather",
                      "embedding",
                      "take",
                      "constant_pad_nd",
                      "where",
                      "tril",
                      "triu",
                      "masked_fill",
                      "abs",
                      "neg",
                      "relu",
                      "clamp",
                      "clamp_min",
                      "clamp_max",
                      "copy",
                      "_to_copy",
                      "view_copy",
                      "repeat_interleave",
                      "pixel_shuffle",
                      "diag_embed",
                      "permute_copy",
                      "expand_copy",
                      "transpose_copy",
                      "hardtanh",
                      "slice_scatter",
                      "select_scatter",
                      "index_put",
                      "index_copy",
                      "scatter"};
const Names kRandom = {"rand",       "randn",          "randint",     "randperm",          "rand_like",
                       "randn_like", "randint_like",   "normal",      "uniform",           "random",
                       "bernoulli",  "native_dropout", "multinomial", "exponential",       "empty",
                       "empty_like", "empty_strided",  "new_empty",   "new_empty_strided", "empty_permuted"};

int width(Element element) {
  if (element == Element::kFloat4E2m1fnX2) return 4;
  return static_cast<int>(element_bytes(element)) * 8;
}

std::optional<Element> narrower(std::optional<Element> a, std::optional<Element> b) {
  if (!a) return b;
  if (!b) return a;
  return width(*a) <= width(*b) ? a : b;
}

class Analysis {
 public:
  explicit Analysis(const OpGraph& graph) : graph_(graph), storages_(graph.storages.size()) {
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      storages_[i].version = next_version_++;
      if (graph.storages[i].role == Role::kConstant) storages_[i] = constant_value(static_cast<int>(i));
    }
  }

  Values run() {
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) step(i);
    return std::move(out_);
  }

 private:
  Value constant_value(int storage) {
    Value value;
    value.version = storages_[static_cast<std::size_t>(storage)].version;
    value.constant = value.may_be_known = true;
    value.may_be_zero = value.may_be_huge = true;
    std::int64_t known_bytes = 0;
    bool zero = false;
    bool huge = false;
    for (const auto& tensor : graph_.tensors) {
      if (tensor.storage != storage || !tensor.values) continue;
      known_bytes = std::max(known_bytes, count_bytes(region_of(tensor)).value);
      for (const double number : *tensor.values) {
        zero = zero || number == 0;
        huge = huge || !(std::abs(number) < kHuge);
      }
    }
    if (known_bytes > 0 && known_bytes >= graph_.storage(storage).bytes) {
      value.may_be_zero = zero;
      value.may_be_huge = huge;
      value.solid = !zero;
    }
    return value;
  }

  // What is known of a tensor now: its storage's value, and what its own type says.
  [[nodiscard]] Value read(int id) const {
    const Tensor& tensor = graph_.tensor(id);
    Value value = storages_[static_cast<std::size_t>(tensor.storage)];
    switch (element_class(tensor.element)) {
      case ElementClass::kBool:
        value.may_be_zero = true;
        value.narrow = Element::kInt8;
        break;
      case ElementClass::kInteger:
        value.narrow =
            narrower(value.narrow, Element::kInt8);  // packed or small numbers, for all that is known
        break;
      default:
        value.narrow = narrower(value.narrow, tensor.element);
    }
    return value;
  }

  void step(std::size_t index) {
    const Op& op = graph_.ops[index];
    const std::vector<int> arguments = tensor_arguments(op);
    std::vector<Value> values;
    values.reserve(arguments.size());
    for (const int id : arguments) values.push_back(read(id));
    out_.arguments.push_back(values);
    out_.same_as.push_back(index);
    out_.constant_results.push_back(false);
    if (is_view(graph_, op)) return;

    const std::string name = base_name(op);
    const OpKind kind = op_kind(op);
    const bool in_place = !op.mutates.empty();
    Value result = result_of(op, name, kind, arguments, values);
    find_masks(op, name, arguments, values, result);
    find_repeats(op, kind, arguments, values, result);
    if (cancels(op, name, arguments, values)) {
      result = Value{};
      result.constant = result.may_be_known = true;
      result.may_be_zero = name == "sub";
    }
    out_.constant_results[index] = result.constant && kind != OpKind::kFactory;

    std::string key;
    if (!in_place && !kRandom.contains(name) && kind != OpKind::kUnknown) key = op_key(op);
    const auto known = key.empty() ? versions_.end() : versions_.find(key);
    if (known != versions_.end()) out_.same_as[index] = known->second.op;
    std::vector<std::int64_t> made;
    std::size_t position = 0;
    for (const auto& output : op.outputs) {
      const std::size_t at = position++;
      if (!output) {
        made.push_back(-1);
        continue;
      }
      Value& storage = storages_[static_cast<std::size_t>(graph_.tensor(*output).storage)];
      if (in_place && mutates(op, *output)) {
        made.push_back(-1);
        continue;
      }
      storage = result;
      storage.version = known != versions_.end() ? known->second.results[at] : next_version_++;
      if (at == 0 && is_identity(op, name)) storage.version = values.front().version;
      if (storage.version < 0) storage.version = next_version_++;
      made.push_back(storage.version);
    }
    if (!key.empty() && known == versions_.end())
      versions_.emplace(std::move(key), Made{index, std::move(made)});
    for (const int id : op.mutates) write(id, result, kind);
  }

  static bool mutates(const Op& op, int id) {
    return std::find(op.mutates.begin(), op.mutates.end(), id) != op.mutates.end();
  }

  // A write over a part leaves the rest: then both the old and the new may be found.
  void write(int id, const Value& result, OpKind kind) {
    const Tensor& tensor = graph_.tensor(id);
    Value& old = storages_[static_cast<std::size_t>(tensor.storage)];
    const Count written = count_bytes(region_of(tensor));
    const bool everything = kind != OpKind::kScatter && kind != OpKind::kScatterAdd && written.exact &&
                            written.value == graph_.storage(tensor.storage).bytes;
    Value merged = result;
    if (!everything) {
      merged.may_be_zero = old.may_be_zero || result.may_be_zero;
      merged.may_be_huge = old.may_be_huge || result.may_be_huge;
      merged.may_be_known = old.may_be_known || result.may_be_known;
      merged.constant = old.constant && result.constant;
      merged.rows_sum_to_one = false;
      merged.triangle.reset();
      merged.reachable.reset();
      merged.solid = false;
      merged.ramp.reset();
      merged.repeats.insert(merged.repeats.end(), old.repeats.begin(), old.repeats.end());
      merged.narrow = narrower(old.narrow, result.narrow);
    }
    merged.version = next_version_++;
    old = merged;
  }

  static bool is_zero_scalar(const Op& op, std::size_t position) {
    const auto scalar = number_argument(op, position);
    return scalar && *scalar == 0;
  }

  Value result_of(const Op& op, const std::string& name, OpKind kind, const std::vector<int>& arguments,
                  const std::vector<Value>& values) const {
    Value result;
    if (kind == OpKind::kFactory) return factory(op, name);
    if (kind == OpKind::kUnknown) {
      result.may_be_zero = result.may_be_huge = result.may_be_known = true;
      result.narrow = Element::kInt8;
      return result;
    }
    bool all_constant = true;
    bool all_known = true;
    bool all_zero = true;
    bool any_zero = false;
    bool any_huge = false;
    bool any_known = false;
    std::optional<Element> narrowest;
    std::optional<Element> widest;
    for (const auto& value : values) {
      all_constant = all_constant && value.constant;
      all_known = all_known && value.may_be_known;
      all_zero = all_zero && value.may_be_zero;
      any_zero = any_zero || value.may_be_zero;
      any_huge = any_huge || value.may_be_huge;
      any_known = any_known || value.may_be_known;
      narrowest = narrower(narrowest, value.narrow);
      if (!widest || (value.narrow && width(*value.narrow) > width(*widest))) widest = value.narrow;
    }
    result.constant = all_constant && !values.empty();
    result.may_be_huge = any_huge;
    result.may_be_known = all_known && !values.empty();
    result.may_be_zero = all_zero && !values.empty();

    if (name == "mul" || name == "div" || name == "true_divide" || name == "addcmul") {
      result.may_be_zero = name == "mul" || name == "addcmul" ? any_zero : values.front().may_be_zero;
      if (name == "mul" && is_zero_scalar(op, 1)) result.may_be_zero = result.may_be_known = true;
      result.may_be_known = result.may_be_known || result.may_be_zero;
      result.narrow = narrowest;
    } else if (name == "add" || name == "sub" || name == "rsub") {
      // An offset per group (a zero point) leaves the numbers as few as they were.
      if (values.size() < 2 || graph_.tensor(arguments[0]).count() != graph_.tensor(arguments[1]).count()) {
        result.narrow = narrowest;
      }
      const auto scalar = number_argument(op, 1);
      if (scalar && std::abs(*scalar) >= kHuge) result.may_be_huge = true;
      if (scalar && *scalar != 0) result.may_be_zero = false;
    } else if (kind == OpKind::kSelect) {
      result.constant = all_constant;
      // The first argument of where is the mask itself.
      const std::size_t first = name == "where" ? 1 : 0;
      result.may_be_zero = result.may_be_known = result.may_be_huge = false;
      for (std::size_t i = first; i < values.size(); ++i) {
        if (name == "masked_fill" && i == 1) continue;  // its mask
        result.may_be_zero = result.may_be_zero || values[i].may_be_zero;
        result.may_be_known = result.may_be_known || values[i].may_be_known;
        result.may_be_huge = result.may_be_huge || values[i].may_be_huge;
      }
      if (name != "where") {
        result.may_be_zero = result.may_be_known = true;
        const auto fill = number_argument(op, 2);
        if (!fill || !(std::abs(*fill) < kHuge)) result.may_be_huge = true;
      }
      for (std::size_t i = 1; i < op.args.size(); ++i) {
        if (const auto number = number_argument(op, i)) {
          result.may_be_known = true;
          result.may_be_zero = true;
          result.may_be_huge = result.may_be_huge || !(std::abs(*number) < kHuge);
        }
      }
      result.narrow = widest;
    } else if (kind == OpKind::kTriangle || kind == OpKind::kPad || name == "diag_embed") {
      result.may_be_zero = result.may_be_known = true;
      result.narrow = narrowest;
      if (kind != OpKind::kPad) result.triangle = triangle(op, name);
      result.solid = kind == OpKind::kTriangle && values.front().solid && !values.front().triangle;
    } else if (kind == OpKind::kScatter || kind == OpKind::kScatterAdd || kind == OpKind::kSliceScatter ||
               kind == OpKind::kConcatenate || kind == OpKind::kGather) {
      result.may_be_zero = any_zero;
      result.may_be_known = any_known;
      result.narrow = narrowest;
      if (kind == OpKind::kGather) {
        const Value& table = values.front();
        result.may_be_zero = table.may_be_zero;
        result.may_be_known = table.may_be_known;
        result.may_be_huge = table.may_be_huge;
        result.narrow = table.narrow;
        const std::int64_t entries = graph_.tensor(arguments.front()).count();
        if (entries <= 16) {
          result.narrow = narrower(result.narrow, Element::kFloat4E2m1fnX2);
        } else if (entries <= 256) {
          result.narrow = narrower(result.narrow, Element::kFloat8E4m3fn);
        }
      }
    } else if (name == "_softmax" || name == "softmax" || name == "_safe_softmax") {
      result.may_be_zero = result.may_be_known = any_huge || (any_known && all_constant);
      result.may_be_huge = false;
      const auto dim = int_argument(op, 1);
      const std::int64_t rank = graph_.tensor(arguments.front()).rank();
      result.rows_sum_to_one = dim && (*dim == -1 || *dim == rank - 1);
      if (result.rows_sum_to_one && same_strides(op, arguments.front()))
        result.triangle = values.front().reachable;
      if (result.triangle) result.may_be_zero = result.may_be_known = true;
    } else if (kind == OpKind::kContraction || kind == OpKind::kAttention) {
      result.may_be_zero = result.may_be_known = false;
      for (const auto& value : values) {
        // An operand whose rows may vanish as a whole gives rows of zeros.
        if (value.may_be_zero && !value.rows_sum_to_one) result.may_be_zero = result.may_be_known = true;
      }
    } else if (kind == OpKind::kPointwise && values.size() == 1) {
      if (name == "exp" || name == "exp2" || name == "sigmoid") {
        result.may_be_zero = any_huge;
        result.may_be_known = any_known || any_huge;
      } else if (kMovesZero.contains(name)) {
        result.may_be_zero = result.constant && any_zero && name != "cos" && name != "cosh";
      } else {
        result.may_be_zero = any_zero;
        result.may_be_known = any_known;
      }
      if (kRounds.contains(name)) {
        result.narrow = narrower(narrowest, Element::kInt8);
      } else if (kMoves.contains(name)) {
        result.narrow = narrowest;
      }
      if (name == "_to_copy" || name == "clone") {
        result.rows_sum_to_one = values.front().rows_sum_to_one;
        if (same_strides(op, arguments.front())) {
          result.triangle = values.front().triangle;
          result.reachable = values.front().reachable;
          result.solid = values.front().solid;
        }
      }
      if ((name == "logical_not" || name == "bitwise_not") && values.front().solid &&
          values.front().triangle &&
          element_class(graph_.tensor(arguments.front()).element) == ElementClass::kBool &&
          same_strides(op, arguments.front())) {
        result.triangle = complement(*values.front().triangle);
        result.solid = true;
      }
    } else if (name == "copy") {
      result = values.back();
      result.triangle.reset();
      result.reachable.reset();
      result.solid = false;
      result.ramp.reset();
      result.rows_sum_to_one = false;
    } else if (kind == OpKind::kReadsNone) {
      result.may_be_zero = result.may_be_known = result.may_be_huge = true;
      result.narrow = narrowest;
    } else {
      result.may_be_zero = any_zero;
      result.may_be_known = any_known;
      if (kMoves.contains(name)) result.narrow = narrowest;
    }
    return result;
  }

  // clone may lay a tensor out anew; the triangle is known by strides.
  [[nodiscard]] bool same_strides(const Op& op, int argument) const {
    if (op.outputs.empty() || !op.outputs.front()) return false;
    return graph_.tensor(*op.outputs.front()).dims == graph_.tensor(argument).dims;
  }

  [[nodiscard]] std::optional<Triangle> triangle(const Op& op, const std::string& name) const {
    if (op.outputs.empty() || !op.outputs.front()) return std::nullopt;
    const Tensor& out = graph_.tensor(*op.outputs.front());
    if (out.rank() < 2) return std::nullopt;
    const auto rank = out.dims.size();
    const std::int64_t diagonal = int_argument(op, 1).value_or(0);
    if (name == "diag_embed") {
      const auto on_last = [&](std::size_t position, std::int64_t from_right) {
        const auto dim = int_argument(op, position);
        return dim && (*dim == -from_right || *dim == out.rank() - from_right);
      };
      if (!on_last(2, 2) || !on_last(3, 1)) return std::nullopt;
    }
    return Triangle{name != "triu", diagonal, out.dims[rank - 2].stride, out.dims[rank - 1].stride,
                    name == "diag_embed"};
  }

  static Value factory(const Op& op, const std::string& name) {
    Value value;
    if (kRandom.contains(name)) return value;
    value.constant = value.may_be_known = true;
    value.solid = name.find("ones") != std::string::npos;
    if (name.find("zero") != std::string::npos || name == "eye" || name == "arange") {
      value.may_be_zero = true;
      if (name == "arange") value.ramp = ramp(op);
    } else if (name.find("ones") == std::string::npos) {
      std::optional<double> fill;
      if (name == "full" || name == "full_like" || name == "fill") fill = number_argument(op, 1);
      if (name == "new_full") fill = number_argument(op, 2);
      if (name == "scalar_tensor") fill = number_argument(op, 0);
      value.may_be_zero = !fill || *fill == 0;
      value.may_be_huge = !fill || !(std::abs(*fill) < kHuge);
      value.solid = fill && *fill != 0;
    }
    return value;
  }

  // arange(end), arange(start, end), arange(start, end, step) with a step of 1.
  static std::optional<std::int64_t> ramp(const Op& op) {
    if (op.op == "aten.arange.default") return 0;
    const auto start = int_argument(op, 0);
    if (!start || (op.op == "aten.arange.start_step" && int_argument(op, 2).value_or(1) != 1))
      return std::nullopt;
    return op.op == "aten.arange.start" || op.op == "aten.arange.start_step" ? start : std::nullopt;
  }

  // Triangular masks: made by comparing ramps, applied by masked_fill, where or an addend.
  void find_masks(const Op& op, const std::string& name, const std::vector<int>& arguments,
                  const std::vector<Value>& values, Value& result) const {
    if (op.outputs.empty() || !op.outputs.front() || arguments.empty()) return;
    const Tensor& out = graph_.tensor(*op.outputs.front());
    if (out.rank() < 2) return;
    const auto laid_out = [&out](std::optional<Triangle> triangle) {
      if (triangle) {
        triangle->row_stride = out.dims[out.dims.size() - 2].stride;
        triangle->column_stride = out.dims[out.dims.size() - 1].stride;
      }
      return triangle;
    };
    const auto view = [&](std::size_t i) -> const Tensor& { return graph_.tensor(arguments[i]); };
    const bool compares = name == "le" || name == "lt" || name == "ge" || name == "gt";
    if (compares && arguments.size() == 2 && values[0].ramp && values[1].ramp) {
      if (const auto found = compared_ramps(name, view(0), *values[0].ramp, view(1), *values[1].ramp, out)) {
        result.triangle = laid_out(found);
        result.solid = true;
      }
    } else if (name == "masked_fill" && arguments.size() >= 2) {
      const auto left = laid_out(left_by_mask(view(1), values[1], false));
      const auto fill = number_argument(op, 2);
      if (left && fill && *fill == 0) result.triangle = left;
      if (left && fill && *fill <= -kHuge && !values[0].may_be_huge) result.reachable = left;
      // A mask made of zeros and one huge number.
      result.solid = false;
    } else if (name == "where" && arguments.size() >= 2) {
      const auto left = laid_out(left_by_mask(view(0), values[0], true));
      const auto other = number_argument(op, 2);
      const bool huge =
          (other && *other <= -kHuge) || (arguments.size() == 3 && values[2].constant && values[2].solid &&
                                          values[2].may_be_huge && !values[2].triangle);
      if (left && other && *other == 0) result.triangle = left;
      if (left && huge) result.reachable = left;
    } else if ((name == "add" || name == "sub") && arguments.size() == 2) {
      for (std::size_t i = 0; i < 2 && name == "add"; ++i) {
        if (const auto left = left_by_addend(view(i), values[i])) result.reachable = laid_out(left);
      }
    } else if ((name == "mul" || name == "div") && arguments.size() == 1) {
      const auto scale = number_argument(op, 1);
      if (scale && *scale > 0 && same_strides(op, arguments.front())) result.reachable = values[0].reachable;
    }
  }

  // Where one ramp runs along the rows' index and the other along the columns'.
  static std::optional<Triangle> compared_ramps(const std::string& name, const Tensor& a,
                                                std::int64_t a_start, const Tensor& b, std::int64_t b_start,
                                                const Tensor& out) {
    // 0: constant along both of the last dims, 1: runs along the rows' index, 2: along the columns'.
    const auto along = [&out](const Tensor& t) {
      int which = 0;
      for (std::size_t d = 0; d < t.dims.size(); ++d) {
        if (t.dims[d].size == 1 || t.dims[d].stride == 0) continue;
        const std::size_t from_right = t.dims.size() - d;
        if (t.dims[d].stride != 1 || from_right > 2 || which != 0) return -1;
        which = from_right == 2 ? 1 : 2;
      }
      return out.dims.size() >= t.dims.size() ? which : -1;
    };
    const int along_a = along(a);
    const int along_b = along(b);
    if (along_a * along_b != 2 || along_a < 0) return std::nullopt;
    // (column + c) op (row + r), turned so that the column stands on the left.
    const bool turned = along_a == 1;
    const std::int64_t c = turned ? b_start + b.offset : a_start + a.offset;
    const std::int64_t r = turned ? a_start + a.offset : b_start + b.offset;
    const bool less = (name == "le" || name == "lt") != turned;
    const bool equal = name == "le" || name == "ge";
    if (less) return Triangle{true, r - c - (equal ? 0 : 1), 0, 0, false};
    return Triangle{false, r - c + (equal ? 0 : 1), 0, 0, false};
  }

  // x - x; softmax over one element.
  [[nodiscard]] bool cancels(const Op& op, const std::string& name, const std::vector<int>& arguments,
                             const std::vector<Value>& values) const {
    if (!op.mutates.empty() || arguments.empty()) return false;
    if (name == "sub" && arguments.size() == 2 && number_argument(op, 2, "alpha").value_or(1) == 1) {
      return values[0].version == values[1].version &&
             same_view(graph_.tensor(arguments[0]), graph_.tensor(arguments[1]));
    }
    if (name == "_softmax" || name == "_log_softmax" || name == "softmax" || name == "log_softmax") {
      const Tensor& in = graph_.tensor(arguments.front());
      const auto dim = int_argument(op, 1);
      const auto at = dim ? in.dim_at(*dim) : std::nullopt;
      return at && in.size(*at) == 1;
    }
    return false;
  }

  static bool same_view(const Tensor& a, const Tensor& b) {
    const auto moving = [](const Tensor& t) {
      std::vector<Dim> dims;
      for (const auto& dim : t.dims) {
        if (dim.size != 1) dims.push_back(dim);
      }
      return dims;
    };
    return a.element == b.element && a.offset == b.offset && moving(a) == moving(b);
  }

  // A reduction over dims of size 1 gives its operand back.
  [[nodiscard]] bool is_identity(const Op& op, const std::string& name) const {
    static const Names kReductions = {"mean", "sum",  "amax",      "amin",   "max",
                                      "min",  "prod", "logsumexp", "cumsum", "clone"};
    const auto in = tensor_argument(op, 0);
    if (!kReductions.contains(name) || !in || op.outputs.empty() || !op.outputs.front()) return false;
    const Tensor& a = graph_.tensor(*in);
    const Tensor& b = graph_.tensor(*op.outputs.front());
    if (name == "cumsum") {
      const auto dim = int_argument(op, 1);
      const auto at = dim ? a.dim_at(*dim) : std::nullopt;
      if (!at || a.size(*at) != 1) return false;
    }
    return a.count() == b.count() && same_view(a, b);
  }

  // Dims of the result along which no operand varies.
  void find_repeats(const Op& op, OpKind kind, const std::vector<int>& arguments,
                    const std::vector<Value>& values, Value& result) const {
    result.repeats.clear();
    std::optional<int> made = op.outputs.empty() ? std::nullopt : op.outputs.front();
    if (!op.mutates.empty()) made = op.mutates.front();
    if (!made || kind == OpKind::kFactory) return;
    const Tensor& out = graph_.tensor(*made);
    const auto varies = [&](std::size_t i, std::size_t from_right) {
      const Tensor& t = graph_.tensor(arguments[i]);
      if (from_right > t.dims.size()) return false;
      const Dim& dim = t.dims[t.dims.size() - from_right];
      return dim.size > 1 && !repeats_along(dim, values[i]);
    };
    const auto any_repeats = [&](std::size_t i) {
      const Tensor& t = graph_.tensor(arguments[i]);
      return std::any_of(t.dims.begin(), t.dims.end(),
                         [&](const Dim& dim) { return dim.size > 1 && repeats_along(dim, values[i]); });
    };
    const std::string name = base_name(op);
    bool by_position = kind == OpKind::kPointwise || kind == OpKind::kSelect || kind == OpKind::kLogical ||
                       kind == OpKind::kCopyInto;
    std::size_t first = kind == OpKind::kCopyInto && arguments.size() > 1 ? 1 : 0;
    std::size_t last = arguments.size();
    if ((kind == OpKind::kWhole || kind == OpKind::kRowwise) && !arguments.empty() &&
        graph_.tensor(arguments.front()).count() == out.count() &&
        graph_.tensor(arguments.front()).rank() == out.rank()) {
      by_position = true;
      last = 1;
    }
    if (by_position) {
      for (std::size_t d = 0; d < out.dims.size(); ++d) {
        bool moves = out.dims[d].size == 1;
        for (std::size_t i = first; i < last && !moves; ++i) moves = varies(i, out.dims.size() - d);
        if (!moves) result.repeats.push_back(out.dims[d]);
      }
      return;
    }
    if (const auto product = contraction_of(graph_, op)) {
      for (std::size_t d = 0; d < product->output_labels.size(); ++d) {
        bool moves = product->operands.empty();
        for (const auto& operand : product->operands) {
          const auto at = std::find(operand.labels.begin(), operand.labels.end(), product->output_labels[d]);
          if (at == operand.labels.end()) continue;
          const auto i = static_cast<std::size_t>(
              std::find(arguments.begin(), arguments.end(), operand.tensor) - arguments.begin());
          const Dim& dim = operand.view.dims[static_cast<std::size_t>(at - operand.labels.begin())];
          moves = moves || !repeats_along(dim, values[i]);
        }
        if (!moves) result.repeats.push_back(product->output.dims[d]);
      }
      return;
    }
    // Elsewhere repetition may come out along any dim.
    bool repeated =
        name == "repeat" || name == "repeat_interleave" || name == "expand_copy" || kind == OpKind::kUnknown;
    for (std::size_t i = 0; i < arguments.size() && !repeated; ++i) repeated = any_repeats(i);
    if (repeated) result.repeats = out.dims;
  }

  [[nodiscard]] std::string op_key(const Op& op) const {
    std::string key = fmt::format("{}/{}", op.op, op.outputs.size());
    for (const auto& arg : op.args) append(arg, key);
    for (const auto& [name, arg] : op.kwargs) {
      key += ";" + name + "=";
      append(arg, key);
    }
    return key;
  }

  void append(const Arg& arg, std::string& key) const {
    key += '|';
    if (const auto* ref = std::get_if<TensorRef>(&arg.value)) {
      const Tensor& tensor = graph_.tensor(ref->id);
      key += fmt::format("v{}:{}:{}", storages_[static_cast<std::size_t>(tensor.storage)].version,
                         static_cast<int>(tensor.element), tensor.offset);
      for (const auto& dim : tensor.dims) key += fmt::format(",{}*{}", dim.size, dim.stride);
    } else if (const auto* list = std::get_if<ArgList>(&arg.value)) {
      key += '[';
      for (const auto& element : *list) append(element, key);
      key += ']';
    } else if (const auto* flag = std::get_if<bool>(&arg.value)) {
      key += *flag ? "true" : "false";
    } else if (const auto* integer = std::get_if<std::int64_t>(&arg.value)) {
      key += fmt::format("{}", *integer);
    } else if (const auto* number = std::get_if<double>(&arg.value)) {
      key += fmt::format("{}f", *number);
    } else if (const auto* text = std::get_if<std::string>(&arg.value)) {
      key += "'" + *text + "'";
    } else if (const auto* name = std::get_if<NameArg>(&arg.value)) {
      key += name->kind + ":" + name->name;
    }
  }

  struct Made {
    std::size_t op;
    std::vector<std::int64_t> results;
  };

  const OpGraph& graph_;
  std::vector<Value> storages_;
  std::int64_t next_version_ = 0;
  std::map<std::string, Made> versions_;
  Values out_;
};

}  // namespace

bool repeats_along(const Dim& dim, const Value& value) {
  if (dim.stride == 0) return dim.size > 1;
  const std::int64_t reach = dim.stride * dim.size;
  return std::any_of(value.repeats.begin(), value.repeats.end(), [&](const Dim& repeat) {
    // The view's dim runs over addresses that the repeating dim of the layout runs over too.
    return dim.size > 1 && repeat.stride < reach && dim.stride < repeat.stride * repeat.size;
  });
}

std::optional<Triangle> triangle_in_view(const Tensor& view, const std::optional<Triangle>& triangle) {
  if (!triangle || view.dims.size() < 2) return std::nullopt;
  const Dim& row = view.dims[view.dims.size() - 2];
  const Dim& column = view.dims[view.dims.size() - 1];
  Triangle seen = *triangle;
  if (row.stride == triangle->column_stride && column.stride == triangle->row_stride) {
    seen = {!triangle->lower, -triangle->diagonal, row.stride, column.stride, triangle->only_diagonal};
  } else if (row.stride != triangle->row_stride || column.stride != triangle->column_stride) {
    return std::nullopt;
  }
  if (view.offset == 0) return seen;
  // A slice that begins at row a, column b.
  const std::int64_t larger = std::max(row.stride, column.stride);
  const std::int64_t smaller = std::min(row.stride, column.stride);
  if (smaller <= 0 || larger % smaller != 0 || view.offset % smaller != 0) return std::nullopt;
  std::int64_t a = view.offset / larger;
  std::int64_t b = view.offset % larger / smaller;
  if (row.stride < column.stride) std::swap(a, b);
  seen.diagonal += a - b;
  return seen;
}

Triangle complement(const Triangle& triangle) {
  Triangle out = triangle;
  out.lower = !triangle.lower;
  out.diagonal += triangle.lower ? 1 : -1;
  return out;
}

std::optional<Triangle> left_by_mask(const Tensor& view, const Value& mask, bool kept_where_true) {
  if (!mask.constant || !mask.solid) return std::nullopt;
  const auto seen = triangle_in_view(view, mask.triangle);
  if (!seen || seen->only_diagonal) return std::nullopt;
  return kept_where_true ? *seen : complement(*seen);
}

std::optional<Triangle> left_by_addend(const Tensor& view, const Value& mask) {
  if (!mask.constant) return std::nullopt;
  // Zeros with huge numbers outside of `reachable`, or huge numbers inside of a solid triangle.
  if (mask.reachable) return triangle_in_view(view, mask.reachable);
  if (!mask.may_be_huge || !mask.solid) return std::nullopt;
  const auto seen = triangle_in_view(view, mask.triangle);
  if (!seen || seen->only_diagonal) return std::nullopt;
  return complement(*seen);
}

const Value& Values::of(std::size_t op, const Op& the_op, int tensor) const {
  const std::vector<int> ids = tensor_arguments(the_op);
  const auto at = std::find(ids.begin(), ids.end(), tensor) - ids.begin();
  return arguments[op][static_cast<std::size_t>(at)];
}

Values analyse_values(const OpGraph& graph) { return Analysis(graph).run(); }

}  // namespace solmark::graph
