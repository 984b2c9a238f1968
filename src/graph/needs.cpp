#include "graph/needs.h"

#include <algorithm>
#include <set>

#include "graph/box.h"
#include "graph/op_kinds.h"
#include "graph/operand_needs.h"
#include "graph/region.h"

namespace solmark::graph {
namespace {

// A needed view of a storage, as of some point of the program, going backwards.
struct Entry {
  Tensor view;
  Region region;
  bool from_output = false;        // the declared output itself: what no operation writes need not be read
  std::vector<Region> written;     // parts that operations (later in the pass: earlier in the program) make
  std::int64_t written_bytes = 0;  // and at most so many more bytes, nobody knows where
};

struct StorageState {
  std::vector<Entry> entries;
  std::int64_t least = 0;    // at least so many bytes, nobody knows which
  std::vector<Region> made;  // by live operations, of an input storage
};

// At most so many elements does an in-place scatter overwrite.
std::int64_t overwritten_elements(const OpGraph& graph, const Op& op) {
  const std::string name = base_name(op);
  const auto self = tensor_argument(op, 0);
  if (!self) return 0;
  const Tensor& t = graph.tensor(*self);
  if (name == "index_copy" || name == "scatter") {
    if (const auto source = tensor_argument(op, 3)) return std::min(t.count(), graph.tensor(*source).count());
  }
  const Arg* list = name == "index_put" ? argument(op, 1) : nullptr;
  const auto* indices = list == nullptr ? nullptr : std::get_if<ArgList>(&list->value);
  if (indices == nullptr) return t.count();
  std::int64_t places = 1;  // an upper bound of the broadcast size
  std::int64_t rows = t.count();
  std::size_t d = 0;
  for (const auto& element : *indices) {
    const auto* ref = std::get_if<TensorRef>(&element.value);
    if (ref == nullptr) {
      ++d;
      continue;
    }
    const Tensor& index = graph.tensor(ref->id);
    if (element_class(index.element) == ElementClass::kBool || d >= t.dims.size()) return t.count();
    places *= std::max<std::int64_t>(1, index.count());
    rows /= std::max<std::int64_t>(1, t.dims[d].size);
    ++d;
  }
  return std::min(t.count(), places * rows);
}

class Pass {
 public:
  Pass(const OpGraph& graph, const Values& values, std::int64_t sector)
      : graph_(graph), values_(values), sector_(sector), states_(graph.storages.size()) {}

  Needs run() {
    out_.ops.resize(graph_.ops.size());
    for (const auto& output : graph_.outputs) {
      if (output.tensor) add(graph_.tensor(*output.tensor), true);
    }
    for (std::size_t i = graph_.ops.size(); i-- > 0;) step(i);
    finish();
    return std::move(out_);
  }

 private:
  StorageState& state(const Tensor& tensor) { return states_[static_cast<std::size_t>(tensor.storage)]; }

  void add(const Tensor& view, bool from_output) {
    Region region = region_of(view);
    if (region.empty) return;
    auto& entries = state(view).entries;
    for (const auto& entry : entries) {
      if (entry.region == region && entry.view.element == view.element && entry.written.empty() &&
          entry.written_bytes == 0 && (!entry.from_output || from_output)) {
        return;
      }
    }
    entries.push_back({view, std::move(region), from_output, {}, 0});
  }

  [[nodiscard]] std::vector<int> results(const Op& op) const {
    std::vector<int> out = op.mutates;
    const auto same = [this](int a, int b) {
      const Tensor& x = graph_.tensor(a);
      const Tensor& y = graph_.tensor(b);
      return a == b ||
             (x.storage == y.storage && x.offset == y.offset && x.dims == y.dims && x.element == y.element);
    };
    for (const auto& output : op.outputs) {
      if (!output) continue;
      if (std::none_of(out.begin(), out.end(), [&](int id) { return same(id, *output); }))
        out.push_back(*output);
    }
    return out;
  }

  // What is needed of one result, and the entries that it settles.
  ResultNeed settle(const Op& op, int id) {
    const Tensor& result = graph_.tensor(id);
    const Region region = region_of(result);
    const bool mutated = std::find(op.mutates.begin(), op.mutates.end(), id) != op.mutates.end();
    const bool somewhere = mutated && op_kind(op) == OpKind::kScatter;  // writes an unknown part
    const std::int64_t unknown_bytes =
        somewhere ? overwritten_elements(graph_, op) * element_bytes(result.element) : 0;
    ResultNeed need{id, false, {}, 0};
    std::vector<Region> parts;
    std::vector<Entry> left;
    for (auto& entry : state(result).entries) {
      if (disjoint(region, entry.region)) {
        left.push_back(std::move(entry));
        continue;
      }
      const bool untouched = entry.written_bytes == 0 &&
                             std::all_of(entry.written.begin(), entry.written.end(),
                                         [&](const Region& other) { return disjoint(other, region); });
      const bool within = contains(region, entry.region);
      if (within && entry.written.empty() && entry.written_bytes == 0) {
        need.parts.push_back(entry.view);
        parts.push_back(entry.region);
      } else if (untouched && contains(entry.region, region)) {
        need.parts.push_back(result);
        parts.push_back(region);
      }
      if (somewhere) {
        entry.written_bytes += unknown_bytes;
        left.push_back(std::move(entry));
      } else if (!within) {
        entry.written.push_back(region);
        left.push_back(std::move(entry));
      }
    }
    state(result).entries = std::move(left);
    if (parts.empty()) return need;
    const Count needed = union_bytes(parts);
    const Count all = count_bytes(region);
    need.elements = needed.value / element_bytes(result.element);
    need.whole = needed.exact && all.exact && needed.value == all.value;
    if (need.whole) need.parts = {result};
    if (graph_.storage(result.storage).role == Role::kInput && !somewhere) {
      state(result).made.insert(state(result).made.end(), parts.begin(), parts.end());
    }
    return need;
  }

  void step(std::size_t index) {
    const Op& op = graph_.ops[index];
    if (is_view(graph_, op)) return;
    OpNeed& need = out_.ops[index];
    for (const int id : results(op)) {
      ResultNeed result = settle(op, id);
      if (!result.parts.empty()) need.results.push_back(std::move(result));
    }
    need.live = !need.results.empty();
    if (!need.live || values_.constant_results[index]) return;
    const bool somewhere = op_kind(op) == OpKind::kScatter && !op.mutates.empty();
    const OperandNeeds operands = operand_needs(graph_, index, need, values_);
    for (const auto& view : operands.parts) add(view, false);
    for (const auto& least : operands.least) {
      // An in-place scatter leaves its own entries standing: they say more.
      if (!somewhere)
        state(graph_.tensor(least.tensor)).least =
            std::max(state(graph_.tensor(least.tensor)).least, least.bytes);
    }
    if (!operands.proved) out_.unproved.push_back(index);
  }

  [[nodiscard]] StorageTraffic read(int id) const {
    const StorageState& state = states_[static_cast<std::size_t>(id)];
    std::vector<Region> clean;
    std::vector<Region> all;
    std::vector<Region> written;
    std::int64_t written_bytes = 0;
    for (const auto& entry : state.entries) {
      if (entry.from_output) continue;
      all.push_back(entry.region);
      if (entry.written.empty() && entry.written_bytes == 0) {
        clean.push_back(entry.region);
      } else {
        written.insert(written.end(), entry.written.begin(), entry.written.end());
        written_bytes += entry.written_bytes;
      }
    }
    const Count certain = union_bytes(clean);
    StorageTraffic traffic{id, certain.value, 0, certain.exact && written.empty() && written_bytes == 0,
                           clean};
    traffic.sector_bytes = std::max(traffic.bytes, union_bytes(clean, sector_).value);
    std::int64_t other = state.least;
    const Count taken = union_bytes(written);
    if (taken.exact) other = std::max(other, union_bytes(all).value - taken.value - written_bytes);
    if (other > traffic.bytes) {
      traffic.bytes = other;
      traffic.exact = false;
    }
    traffic.sector_bytes = std::max(traffic.sector_bytes, traffic.bytes);
    return traffic;
  }

  void finish() {
    std::sort(out_.unproved.begin(), out_.unproved.end());
    for (std::size_t i = 0; i < graph_.storages.size(); ++i) {
      if (graph_.storages[i].role != Role::kInput) continue;
      const StorageTraffic traffic = read(static_cast<int>(i));
      if (traffic.bytes > 0) out_.reads.push_back(traffic);
    }
    for (std::size_t i = 0; i < graph_.storages.size(); ++i) {
      std::vector<Region> regions;
      const Storage& storage = graph_.storages[i];
      if (storage.role == Role::kIntermediate) {
        for (const auto& output : graph_.outputs) {
          if (!output.tensor || graph_.tensor(*output.tensor).storage != static_cast<int>(i)) continue;
          regions.push_back(region_of(graph_.tensor(*output.tensor)));
        }
      } else {
        // An input handed back costs what was changed in it; a constant costs nothing.
        for (const auto& region : states_[i].made) {
          const bool returned =
              std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const Binding& output) {
                return output.tensor && graph_.tensor(*output.tensor).storage == static_cast<int>(i) &&
                       contains(region_of(graph_.tensor(*output.tensor)), region);
              });
          if (returned) regions.push_back(region);
        }
      }
      if (regions.empty()) continue;
      const Count bytes = union_bytes(regions);
      if (bytes.value == 0) continue;
      StorageTraffic traffic{static_cast<int>(i), bytes.value, 0, bytes.exact, std::move(regions)};
      traffic.sector_bytes = bytes.value;  // a write of part of a sector may be joined to its neighbour's
      out_.writes.push_back(traffic);
    }
  }

  const OpGraph& graph_;
  const Values& values_;
  std::int64_t sector_;
  std::vector<StorageState> states_;
  Needs out_;
};

}  // namespace

const ResultNeed* OpNeed::result(int tensor) const {
  for (const auto& need : results) {
    if (need.tensor == tensor) return &need;
  }
  return nullptr;
}

Needs analyse_needs(const OpGraph& graph, const Values& values, std::int64_t sector) {
  return Pass(graph, values, std::max<std::int64_t>(1, sector)).run();
}

}  // namespace solmark::graph
