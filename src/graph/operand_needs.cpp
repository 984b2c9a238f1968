#include "graph/operand_needs.h"

#include <algorithm>
#include <set>
#include <string>

#include "graph/attention.h"
#include "graph/box.h"
#include "graph/contraction.h"
#include "graph/op_kinds.h"
#include "graph/region.h"
#include "graph/windows.h"

namespace solmark::graph {
namespace {

// Triangles are listed row by row up to this many rows; beyond, only their size counts.
constexpr std::int64_t kMaxTriangleRows = 8192;

class Finder {
 public:
  Finder(const OpGraph& graph, std::size_t index, const OpNeed& need, const Values& values)
      : graph_(graph), op_(graph.ops[index]), index_(index), need_(need), values_(values) {}

  OperandNeeds find() {
    operands_ = read_operands();
    for (const auto& result : need_.results) whole_ = whole_ || result.whole;
    switch (op_kind(op_)) {
      case OpKind::kFactory:
        break;
      case OpKind::kPointwise:
        pointwise(operands_);
        break;
      case OpKind::kCopyInto:
        if (const auto source = tensor_argument(op_, 1)) pointwise({*source});
        break;
      case OpKind::kWhole:
        whole(operands_);
        break;
      case OpKind::kRowwise:
        rowwise();
        break;
      case OpKind::kSelect:
        select();
        break;
      case OpKind::kTriangle:
        triangle();
        break;
      case OpKind::kConcatenate:
        concatenate();
        break;
      case OpKind::kPad:
        pad();
        break;
      case OpKind::kGather:
        gather();
        break;
      case OpKind::kScatter:
      case OpKind::kScatterAdd:
        scatter();
        break;
      case OpKind::kSliceScatter:
        slice_scatter();
        break;
      case OpKind::kContraction:
        contraction();
        break;
      case OpKind::kConvolution:
        convolution();
        break;
      case OpKind::kConvolutionBackward:
        convolution_backward();
        break;
      case OpKind::kAttention:
        attention();
        break;
      case OpKind::kPool:
        pool();
        break;
      case OpKind::kLogical:
        if (!operands_.empty()) pointwise({operands_.front()});
        out_.proved = false;
        break;
      case OpKind::kReadsNone:
      case OpKind::kUnknown:
        out_.proved = false;
        break;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const Tensor& tensor(int id) const { return graph_.tensor(id); }

  // Tensor arguments whose old contents are read: not `out=` arguments.
  [[nodiscard]] std::vector<int> read_operands() const {
    std::vector<int> out;
    const auto collect = [&out](const Arg& arg, const auto& self) -> void {
      if (const auto* ref = std::get_if<TensorRef>(&arg.value)) out.push_back(ref->id);
      if (const auto* list = std::get_if<ArgList>(&arg.value)) {
        for (const auto& element : *list) self(element, self);
      }
    };
    for (const auto& arg : op_.args) collect(arg, collect);
    for (const auto& [key, arg] : op_.kwargs) {
      const auto* ref = std::get_if<TensorRef>(&arg.value);
      const bool written =
          ref != nullptr && std::find(op_.mutates.begin(), op_.mutates.end(), ref->id) != op_.mutates.end();
      if (!written) collect(arg, collect);
    }
    return out;
  }

  void take(const Tensor& view) { out_.parts.push_back(view); }
  void take(int id) { out_.parts.push_back(tensor(id)); }

  // All of the operands if all of some result is needed; else what cannot be told.
  void whole(const std::vector<int>& operands) {
    if (!whole_) {
      out_.proved = false;
      return;
    }
    for (const int id : operands) take(id);
  }

  // The part of an operand that a box of the result reads, by broadcasting from the right.
  [[nodiscard]] std::optional<Tensor> broadcast_part(const Tensor& operand, const Tensor& result,
                                                     const Box& box) const {
    if (operand.dims.size() > result.dims.size()) return std::nullopt;
    Box own = whole_box(operand);
    const std::size_t shift = result.dims.size() - operand.dims.size();
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (operand.dims[d].size == result.dims[d + shift].size) {
        own[d] = box[d + shift];
      } else if (operand.dims[d].size != 1) {
        return std::nullopt;
      }
    }
    return part(operand, own);
  }

  // mul and the like: an operand does not matter where another is zero by construction; a huge addend decides
  // alone.
  [[nodiscard]] bool overruled(int id, const std::vector<int>& operands) const {
    const std::string name = base_name(op_);
    const bool product = name == "mul" || name == "addcmul" || name == "div" || name == "true_divide";
    if (name == "mul") {
      const auto scalar = number_argument(op_, 1);
      if (scalar && *scalar == 0) return true;
    }
    for (const int other : operands) {
      if (other == id) continue;
      const Value& value = values_.of(index_, op_, other);
      if (value.may_be_huge) return true;
      if (!product || !value.may_be_zero) continue;
      if (name == "mul") return true;
      if ((name == "div" || name == "true_divide") && other == operands.front()) return true;
      if (name == "addcmul" && other != operands.front() && id != operands.front()) return true;
    }
    return false;
  }

  // add(scores, mask): what the mask leaves of the scores.
  bool left_by_masks(int id, const std::vector<int>& operands) {
    if (base_name(op_) != "add" || operands.size() != 2) return false;
    const int other = operands[0] == id ? operands[1] : operands[0];
    const auto left = left_by_addend(tensor(other), values_.of(index_, op_, other));
    return left && take_triangle(id, *left, true);
  }

  void pointwise(const std::vector<int>& operands) {
    const bool mixes = op_kind(op_) == OpKind::kPointwise && operands.size() > 1;
    if (mixes && number_argument(op_, 2, "alpha").value_or(1) == 0) out_.proved = false;
    if (!out_.proved) return;
    for (const auto& result : need_.results) {
      for (const auto& needed : result.parts) {
        const auto box = box_within(tensor(result.tensor), needed);
        if (!box) {
          out_.proved = false;
          continue;
        }
        for (const int id : operands) {
          if (mixes && overruled(id, operands)) {
            if (!left_by_masks(id, operands)) out_.proved = false;
            continue;
          }
          const auto operand = broadcast_part(tensor(id), tensor(result.tensor), *box);
          if (operand) {
            take(*operand);
          } else {
            out_.proved = false;
          }
        }
      }
    }
    const std::string name = base_name(op_);
    if (operands.size() == 1 && (name == "mul" || name == "pow")) {
      const auto scalar = number_argument(op_, 1);
      if (scalar && *scalar == 0) out_.parts.clear();
    }
  }

  void rowwise() {
    // Normalising one element leaves nothing of it.
    if (operands_.empty() || !over_many()) {
      out_.proved = false;
      return;
    }
    const bool first =
        !op_.outputs.empty() && op_.outputs.front() && need_.result(*op_.outputs.front()) != nullptr;
    // In-place running statistics are operands too; only the first operand is certain then.
    whole(first && op_.mutates.empty() ? operands_ : std::vector<int>{operands_.front()});
  }

  [[nodiscard]] bool over_many() const {
    const std::string name = base_name(op_);
    const Tensor& in = tensor(operands_.front());
    if (name == "native_layer_norm" || name == "layer_norm" || name == "_fused_rms_norm" ||
        name == "rms_norm") {
      const auto shape = ints_argument(op_, 1);
      std::int64_t count = 1;
      for (const std::int64_t size : shape.value_or(std::vector<std::int64_t>{})) count *= size;
      return count > 1;
    }
    if (name == "native_group_norm") {
      // (input, weight, bias, N, C, HxW, groups, eps)
      const auto channels = int_argument(op_, 4);
      const auto pixels = int_argument(op_, 5);
      const auto groups = int_argument(op_, 6);
      return channels && pixels && groups && *groups > 0 && *channels / *groups * *pixels > 1;
    }
    return in.rank() > 0 && in.count() > in.size(std::min<std::int64_t>(1, in.rank() - 1));
  }

  void select() {
    // where(mask, a, b); masked_fill(self, mask, value); threshold_backward(gradient, self, …)
    const std::string name = base_name(op_);
    const bool where = name == "where";
    const auto mask = tensor_argument(op_, where ? 0 : 1);
    const auto self = tensor_argument(op_, where ? 1 : 0);
    if (mask) pointwise({*mask});
    if (mask && self && (where || name == "masked_fill")) {
      const auto left = left_by_mask(tensor(*mask), values_.of(index_, op_, *mask), where);
      if (left && take_triangle(*self, *left, true)) {
        // Of where's other tensor nothing is claimed.
        if (where && tensor_argument(op_, 2)) out_.proved = false;
        return;
      }
    }
    out_.proved = false;
  }

  void triangle() {
    const auto id = tensor_argument(op_, 0);
    const Triangle kept{base_name(op_) == "tril", int_argument(op_, 1).value_or(0), 0, 0, false};
    if (!id || !take_triangle(*id, kept, false)) out_.proved = false;
  }

  // Elements (i, j) of the last two dims with j - i <= diagonal (lower) or >= diagonal, for a result needed
  // whole.
  // A masked row of one score weighs it by 1 whatever it is, so it is not needed.
  bool take_triangle(int id, const Triangle& kept, bool scores) {
    const Tensor& in = tensor(id);
    if (!whole_ || in.rank() < 2 || need_.results.empty()) return false;
    const Tensor& result = tensor(need_.results.front().tensor);
    if (result.rank() != in.rank() || result.count() != in.count()) return false;
    const std::int64_t rows = in.size(in.rank() - 2);
    const std::int64_t columns = in.size(in.rank() - 1);
    std::int64_t elements = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t edge =
          std::clamp<std::int64_t>(i + kept.diagonal + (kept.lower ? 1 : 0), 0, columns);
      const Slice columns_kept = kept.lower ? Slice{0, edge, 1} : Slice{edge, columns - edge, 1};
      if (columns_kept.count <= (scores ? 1 : 0)) continue;
      elements += columns_kept.count;
      if (rows > kMaxTriangleRows) continue;
      Box box = whole_box(in);
      box[box.size() - 2] = {i, 1, 1};
      box[box.size() - 1] = columns_kept;
      take(part(in, box));
    }
    if (rows > kMaxTriangleRows) {
      // Of a broadcast operand several elements may be one.
      const bool broadcast = std::any_of(in.dims.begin(), in.dims.end(),
                                         [](const Dim& dim) { return dim.stride == 0 && dim.size > 1; });
      if (!broadcast) out_.least.push_back({id, elements * element_bytes(in.element)});
    }
    return true;
  }

  void concatenate() {
    const Arg* list = argument(op_, 0);
    const auto* tensors = list == nullptr ? nullptr : std::get_if<ArgList>(&list->value);
    if (tensors == nullptr || need_.results.empty()) return;
    const ResultNeed& result = need_.results.front();
    if (result.whole) {
      whole(operands_);
      return;
    }
    // Each operand is a box of the result: the needed parts that lie within it are needed of it.
    const Tensor& out = tensor(result.tensor);
    const auto along = out.dim_at(int_argument(op_, 1).value_or(0));
    if (!along) {
      out_.proved = false;
      return;
    }
    const std::int64_t dim = *along;
    const bool stacked = base_name(op_) == "stack";
    std::int64_t at = 0;
    out_.proved = false;
    for (const auto& element : *tensors) {
      const auto* ref = std::get_if<TensorRef>(&element.value);
      if (ref == nullptr) return;
      const Tensor& in = tensor(ref->id);
      if (!stacked && in.rank() != out.rank()) continue;  // legacy empty tensors
      const std::int64_t length = stacked ? 1 : in.size(dim);
      Box place = whole_box(out);
      place[static_cast<std::size_t>(dim)] = {at, length, 1};
      at += length;
      const Tensor window = part(out, place);
      for (const auto& needed : result.parts) {
        auto box = box_within(window, needed);
        if (!box) continue;
        if (stacked) box->erase(box->begin() + dim);
        take(part(in, *box));
      }
    }
  }

  void pad() {
    const auto id = tensor_argument(op_, 0);
    const auto pads = ints_argument(op_, 1);
    if (!id || !pads || !whole_) {
      out_.proved = false;
      return;
    }
    // Pairs (before, after) from the last dim on; a negative one crops.
    Box box = whole_box(tensor(*id));
    for (std::size_t i = 0; i + 1 < pads->size() && i / 2 < box.size(); i += 2) {
      Slice& slice = box[box.size() - 1 - i / 2];
      const std::int64_t before = std::max<std::int64_t>(0, -(*pads)[i]);
      const std::int64_t after = std::max<std::int64_t>(0, -(*pads)[i + 1]);
      slice = {std::min(before, slice.count), std::max<std::int64_t>(0, slice.count - before - after), 1};
    }
    take(part(tensor(*id), box));
  }

  static std::int64_t bytes_of(const Tensor& t) { return count_bytes(region_of(t)).value; }

  // Rows that constant indices name; nothing when the indices are not known.
  static std::optional<std::vector<Tensor>> named_rows(const Tensor& table, std::size_t dim,
                                                       const Tensor& index) {
    constexpr std::size_t kMaxRows = 4096;
    if (!index.values) return std::nullopt;
    std::set<std::int64_t> rows;
    for (const double value : *index.values) {
      const auto row = static_cast<std::int64_t>(value);
      rows.insert(row < 0 ? row + table.dims[dim].size : row);
    }
    if (rows.size() > kMaxRows) return std::nullopt;
    std::vector<Tensor> parts;
    for (const std::int64_t row : rows) {
      if (row < 0 || row >= table.dims[dim].size) return std::nullopt;
      Box box = whole_box(table);
      box[dim] = {row, 1, 1};
      parts.push_back(part(table, box));
    }
    return parts;
  }

  void gather() {
    const std::string name = base_name(op_);
    if (!whole_ || operands_.size() < 2 || need_.results.empty() || need_.results.front().elements == 0) {
      out_.proved = false;
      return;
    }
    const Tensor& table = tensor(operands_.front());
    std::size_t dims_indexed = 0;
    std::size_t dim = 0;
    for (std::size_t i = 1; i < operands_.size(); ++i) {
      take(operands_[i]);  // the indices
      dims_indexed += element_class(tensor(operands_[i]).element) == ElementClass::kBool
                          ? tensor(operands_[i]).dims.size()
                          : 1;
    }
    const int index = operands_[1];
    std::int64_t least = element_bytes(table.element);
    if (name == "gather") {
      // Positions along the other dims are certain, and distinct.
      const Tensor& where = tensor(index);
      const auto axis = where.dim_at(int_argument(op_, 1).value_or(0));
      if (where.rank() != table.rank()) return;
      std::int64_t lines = 1;
      for (std::int64_t d = 0; d < where.rank(); ++d) {
        // A broadcast table repeats its elements.
        if (d != axis.value_or(0) && table.dims[static_cast<std::size_t>(d)].stride != 0)
          lines *= where.size(d);
      }
      least *= lines;
    } else if (name == "index_select" || name == "embedding") {
      const auto axis = table.dim_at(name == "embedding" ? 0 : int_argument(op_, 1).value_or(0));
      if (!axis) return;
      dim = static_cast<std::size_t>(*axis);
      if (const auto rows = named_rows(table, dim, tensor(index))) {
        for (const auto& row : *rows) take(row);
        return;
      }
      Box box = whole_box(table);
      box[dim] = {0, 1, 1};
      least = bytes_of(part(table, box));
    } else if (name == "index" || name == "_unsafe_index") {
      const Arg* list = argument(op_, 1);
      const auto* indices = list == nullptr ? nullptr : std::get_if<ArgList>(&list->value);
      if (indices == nullptr || dims_indexed > table.dims.size()) return;
      // One element of the indexed dims, all of the others.
      Box box = whole_box(table);
      std::size_t d = 0;
      for (const auto& element : *indices) {
        const auto* ref = std::get_if<TensorRef>(&element.value);
        if (ref == nullptr) {
          ++d;
          continue;
        }
        const Tensor& where = tensor(ref->id);
        const bool mask = element_class(where.element) == ElementClass::kBool;
        if (!mask && operands_.size() == 2) {
          if (const auto rows = named_rows(table, d, where)) {
            for (const auto& row : *rows) take(row);
            return;
          }
        }
        for (std::size_t n = mask ? where.dims.size() : 1; n > 0 && d < box.size(); --n) box[d++] = {0, 1, 1};
      }
      least = bytes_of(part(table, box));
    }
    out_.least.push_back({operands_.front(), least});
  }

  void scatter() {
    if (!whole_ || operands_.empty()) {
      out_.proved = false;
      return;
    }
    const bool adds = op_kind(op_) == OpKind::kScatterAdd || bool_argument(op_, 3).value_or(false);
    const Tensor& self = tensor(operands_.front());
    if (adds) {
      for (std::size_t i = 1; i < operands_.size(); ++i) take(operands_[i]);  // indices and what is added
    } else {
      out_.proved = false;  // of several writes to one place only the last counts
    }
    if (adds) {
      take(operands_.front());
    } else {
      // index_copy, index_put with rows: at most as many elements as the source has are overwritten.
      std::int64_t source = -1;
      for (std::size_t i = 1; i < operands_.size(); ++i) {
        if (tensor(operands_[i]).element == self.element)
          source = std::max(source, tensor(operands_[i]).count());
      }
      const std::string name = base_name(op_);
      const bool bounded = name == "index_copy" || name == "scatter" || name == "masked_scatter";
      if (bounded && source >= 0) {
        const std::int64_t kept = bytes_of(self) - source * element_bytes(self.element);
        if (kept > 0) out_.least.push_back({operands_.front(), kept});
      }
    }
  }

  void slice_scatter() {
    const auto self = tensor_argument(op_, 0);
    const auto source = tensor_argument(op_, 1);
    if (!self || !source || !whole_) {
      out_.proved = false;
      return;
    }
    take(*source);
    const Tensor& t = tensor(*self);
    const std::int64_t kept = bytes_of(t) - tensor(*source).count() * element_bytes(t.element);
    if (kept > 0) out_.least.push_back({*self, kept});
  }

  // Operands of a product matter where no other operand may be zero by construction.
  void contraction() {
    const auto product = contraction_of(graph_, op_);
    if (!product || need_.results.empty()) {
      out_.proved = false;
      return;
    }
    const ResultNeed& result = need_.results.front();
    for (const auto& needed : result.parts) {
      const auto result_box = box_within(tensor(result.tensor), needed);
      if (!result_box) {
        out_.proved = false;
        continue;
      }
      if (result.whole) {
        for (const int id : product->added) take(id);
      } else {
        for (const int id : product->added) {
          // Scales have shapes of their own; only what broadcasts like an addend is carried through.
          const auto added = broadcast_part(tensor(id), tensor(result.tensor), *result_box);
          if (added && base_name(op_) != "_scaled_mm") take(*added);
        }
      }
      const auto box = box_within(product->output, needed);
      if (!box) continue;
      std::vector<Slice> by_label;
      for (const std::int64_t size : product->sizes) by_label.push_back({0, size, 1});
      for (std::size_t d = 0; d < box->size(); ++d) {
        by_label[static_cast<std::size_t>(product->output_labels[d])] = (*box)[d];
      }
      for (const auto& operand : product->operands) {
        const bool masked =
            std::any_of(product->operands.begin(), product->operands.end(), [&](const auto& other) {
              const Value& value = values_.of(index_, op_, other.tensor);
              return &other != &operand && value.may_be_zero && !covers_all(value, other.view);
            });
        if (masked) {
          out_.proved = false;
          continue;
        }
        Box own;
        for (const int label : operand.labels) own.push_back(by_label[static_cast<std::size_t>(label)]);
        take(part(operand.view, own));
      }
    }
  }

  // A square triangle with its main diagonal has something in every row and column.
  static bool covers_all(const Value& value, const Tensor& view) {
    if (!value.triangle) return false;
    const Triangle& t = *value.triangle;
    std::int64_t rows = -1;
    std::int64_t columns = -2;
    for (const auto& dim : view.dims) {
      if (dim.stride == t.row_stride) rows = dim.size;
      if (dim.stride == t.column_stride) columns = dim.size;
    }
    if (t.only_diagonal) return rows == columns && t.diagonal == 0;
    return rows == columns && (t.lower ? t.diagonal >= 0 : t.diagonal <= 0);
  }

  void convolution() {
    const auto conv = convolution_of(graph_, op_);
    if (!conv || !whole_) {
      out_.proved = false;
      return;
    }
    std::vector<std::vector<Slice>> inputs;
    std::vector<std::vector<Slice>> taps;
    for (const auto& dim : conv->dims) {
      inputs.push_back(conv->transposed ? touching_outputs(dim) : touched_inputs(dim));
      taps.push_back(touched_taps(dim));
    }
    if (conv->bias) take(*conv->bias);
    const bool input_masked = values_.of(index_, op_, conv->weight).may_be_zero;
    const bool weight_masked = values_.of(index_, op_, conv->input).may_be_zero;
    // Zero padding made by an operation of its own leaves every tap in use somewhere, as long as there is an
    // inside.
    const auto parts = parts_of(tensor(conv->input), inputs);
    const auto weights = parts_of(tensor(conv->weight), taps);
    if (parts && !input_masked) {
      for (const auto& view : *parts) take(view);
    }
    if (weights && !weight_masked) {
      for (const auto& view : *weights) take(view);
    }
    if (!parts || !weights || input_masked || weight_masked) out_.proved = false;
  }

  void convolution_backward() {
    const auto needed = [this](std::size_t output) {
      if (output >= op_.outputs.size() || !op_.outputs[output]) return false;
      const ResultNeed* result = need_.result(*op_.outputs[output]);
      return result != nullptr && result->whole;
    };
    // Positions touched are those of the forward pass; only whole operands are claimed, where all is touched.
    const auto conv = convolution_of_backward(graph_, op_);
    const auto gradient = tensor_argument(op_, 0);
    if (!conv || !gradient) {
      out_.proved = false;
      return;
    }
    for (const auto& dim : conv->dims) {
      if (touched_inputs(dim) != std::vector<Slice>{{0, dim.input, 1}} ||
          touched_taps(dim) != std::vector<Slice>{{0, dim.kernel, 1}} ||
          touching_outputs(dim) != std::vector<Slice>{{0, dim.output, 1}}) {
        out_.proved = false;
        return;
      }
    }
    for (const int id : {*gradient, conv->input, conv->weight}) {
      if (values_.of(index_, op_, id).may_be_zero) {
        out_.proved = false;
        return;
      }
    }
    if (needed(0) || needed(1) || needed(2)) take(*gradient);
    if (needed(0)) take(conv->weight);
    if (needed(1)) take(conv->input);
  }

  void attention() {
    const auto found = attention_of(graph_, op_);
    if (!found || !whole_) {
      out_.proved = false;
      return;
    }
    if (found->mask) {
      take(*found->mask);
      out_.proved = false;  // a mask may hide any key from every query
      return;
    }
    bool masked = found->dropout;
    for (const int id : {found->query, found->key, found->value}) {
      masked = masked || values_.of(index_, op_, id).may_be_zero || values_.of(index_, op_, id).may_be_huge;
    }
    if (masked) {
      out_.proved = false;
      return;
    }
    const auto rows = [this](int id, std::int64_t start, std::int64_t count) {
      const Tensor& t = tensor(id);
      Box box = whole_box(t);
      Slice& slice = box[box.size() - 2];
      slice = {start, std::max<std::int64_t>(0, std::min(count, slice.count - start)), 1};
      take(part(t, box));
    };
    const std::int64_t keys = found->causal ? std::min(found->keys, found->queries) : found->keys;
    rows(found->value, 0, keys);
    if (found->keys < 2) return;  // one key weighs 1 whatever its score
    rows(found->query, found->causal ? 1 : 0, found->queries);
    if (!found->causal || found->queries > 1) rows(found->key, 0, keys);
  }

  void pool() {
    const auto parts = whole_ ? pooled_parts(graph_, op_) : std::nullopt;
    if (!parts) {
      out_.proved = false;
      return;
    }
    for (const auto& view : *parts) take(view);
  }

  const OpGraph& graph_;
  const Op& op_;
  std::size_t index_;
  const OpNeed& need_;
  const Values& values_;
  std::vector<int> operands_;
  bool whole_ = false;  // some result is needed whole
  OperandNeeds out_;
};

}  // namespace

OperandNeeds operand_needs(const OpGraph& graph, std::size_t index, const OpNeed& need,
                           const Values& values) {
  return Finder(graph, index, need, values).find();
}

}  // namespace solmark::graph
