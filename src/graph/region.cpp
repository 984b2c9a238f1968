#include "graph/region.h"

#include <algorithm>

namespace solmark::graph {
namespace {

// Runs of bytes are listed one by one up to this many; beyond it only lower bounds are given.
constexpr std::int64_t kMaxRuns = std::int64_t{1} << 20;

struct Run {
  std::int64_t begin;
  std::int64_t end;
};

std::int64_t extent(const std::vector<Dim>& dims, std::size_t from) {
  std::int64_t reach = 1;
  for (std::size_t i = from; i < dims.size(); ++i) reach += (dims[i].size - 1) * dims[i].stride;
  return reach;
}

// No two index tuples meet at one byte: every stride steps over all that lies within it.
bool nested(const std::vector<Dim>& dims) {
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    if (dims[i].stride < extent(dims, i + 1)) return false;
  }
  return true;
}

std::int64_t product(const std::vector<Dim>& dims) {
  std::int64_t count = 1;
  for (const auto& dim : dims) count *= dim.size;
  return count;
}

// {i*m*s + j*s} with j < n and m <= n leaves no gap, so the two dims are one of stride s.
void merge(std::vector<Dim>& dims) {
  bool changed = true;
  while (changed) {
    changed = false;
    std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
      return a.stride != b.stride ? a.stride > b.stride : a.size > b.size;
    });
    for (std::size_t i = 0; i + 1 < dims.size() && !changed; ++i) {
      const Dim outer = dims[i];
      const Dim inner = dims[i + 1];
      if (outer.stride % inner.stride != 0 || outer.stride / inner.stride > inner.size) continue;
      dims[i] = {outer.stride / inner.stride * (outer.size - 1) + inner.size, inner.stride};
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      changed = true;
    }
  }
}

std::int64_t run_count(const Region& region) {
  std::int64_t runs = 1;
  for (std::size_t i = 0; i + 1 < region.dims.size(); ++i) {
    if (region.dims[i].size > kMaxRuns) return kMaxRuns + 1;
    runs *= region.dims[i].size;
    if (runs > kMaxRuns) return kMaxRuns + 1;
  }
  return runs;
}

void list_runs(const Region& region, std::vector<Run>& out) {
  if (region.empty) return;
  const std::int64_t length = region.dims.empty() ? 1 : region.dims.back().size;
  const std::size_t outer = region.dims.empty() ? 0 : region.dims.size() - 1;
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t at = region.offset;
  for (;;) {
    out.push_back({at, at + length});
    std::size_t d = outer;
    while (d > 0) {
      --d;
      at += region.dims[d].stride;
      if (++index[d] < region.dims[d].size) break;
      at -= region.dims[d].stride * region.dims[d].size;
      index[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

std::int64_t merged_length(std::vector<Run>& runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  std::int64_t total = 0;
  std::int64_t reached = -1;
  for (const auto& run : runs) {
    const std::int64_t begin = std::max(run.begin, reached);
    if (run.end > begin) {
      total += run.end - begin;
      reached = run.end;
    }
  }
  return total;
}

// Takes a common outermost dim out: when all regions repeat with one period, inside it, from the same block
// on.
std::int64_t take_common_period(std::vector<Region>& regions) {
  std::int64_t factor = 1;
  while (regions.front().dims.size() > 1) {
    const Dim period = regions.front().dims.front();
    const std::int64_t block = regions.front().offset / period.stride;
    const bool common = std::all_of(regions.begin(), regions.end(), [&](const Region& region) {
      return region.dims.size() > 1 && region.dims.front() == period &&
             region.offset / period.stride == block &&
             region.offset % period.stride + extent(region.dims, 1) <= period.stride;
    });
    if (!common) break;
    factor *= period.size;
    for (auto& region : regions) region.dims.erase(region.dims.begin());
  }
  return factor;
}

// Regions whose hulls overlap form a cluster; each cluster counts at least its largest member.
std::int64_t clustered_count(std::vector<Region> regions) {
  std::sort(regions.begin(), regions.end(),
            [](const Region& a, const Region& b) { return a.offset < b.offset; });
  std::int64_t total = 0;
  std::int64_t best = 0;
  std::int64_t reached = -1;
  for (const auto& region : regions) {
    if (region.offset >= reached) {
      total += best;
      best = 0;
    }
    best = std::max(best, count_bytes(region).value);
    reached = std::max(reached, region.end());
  }
  return total + best;
}

}  // namespace

std::int64_t Region::end() const { return empty ? offset : offset + extent(dims, 0); }

Region region_of(const Tensor& tensor) {
  const std::int64_t bytes = element_bytes(tensor.element);
  Region region;
  region.offset = tensor.offset * bytes;
  for (const auto& dim : tensor.dims) {
    if (dim.size == 0) return {region.offset, {}, true};
    if (dim.size > 1 && dim.stride > 0) region.dims.push_back({dim.size, dim.stride * bytes});
  }
  region.dims.push_back({bytes, 1});
  merge(region.dims);
  return region;
}

Count count_bytes(const Region& region) {
  if (region.empty) return {0, true};
  if (nested(region.dims)) return {product(region.dims), true};
  if (run_count(region) <= kMaxRuns) {
    std::vector<Run> runs;
    list_runs(region, runs);
    return {merged_length(runs), true};
  }
  // Fixing an index leaves a subset; dims are fixed, outermost first, until the rest is countable.
  std::vector<Dim> rest(region.dims.begin() + 1, region.dims.end());
  return {count_bytes(Region{region.offset, std::move(rest), false}).value, false};
}

Count union_bytes(const std::vector<Region>& given, std::int64_t sector) {
  std::vector<Region> regions;
  for (const auto& region : given) {
    if (!region.empty) regions.push_back(region);
  }
  const auto strides = [](const Region& region) {
    std::vector<std::int64_t> key = {region.offset};
    for (const auto& dim : region.dims) key.insert(key.end(), {dim.stride, dim.size});
    return key;
  };
  std::sort(regions.begin(), regions.end(), [&](const Region& a, const Region& b) {
    return a.offset != b.offset ? a.offset < b.offset : strides(a) < strides(b);
  });
  regions.erase(std::unique(regions.begin(), regions.end()), regions.end());
  // A plain run swallows what lies within it. (Among many regions, such as rows of a triangle, not worth the
  // search.)
  constexpr std::size_t kFew = 64;
  if (regions.size() <= kFew) {
    std::vector<Region> kept;
    for (const auto& region : regions) {
      const bool swallowed = std::any_of(regions.begin(), regions.end(), [&region](const Region& other) {
        return !(other == region) && other.dims.size() <= 1 && other.offset <= region.offset &&
               region.end() <= other.end();
      });
      if (!swallowed) kept.push_back(region);
    }
    regions = std::move(kept);
  }
  if (regions.empty()) return {0, true};

  if (sector > 1) {
    std::int64_t total_runs = 0;
    for (const auto& region : regions) total_runs = std::min(total_runs + run_count(region), kMaxRuns + 1);
    if (total_runs <= kMaxRuns) {
      std::vector<Run> runs;
      for (const auto& region : regions) list_runs(region, runs);
      for (auto& run : runs) run = {run.begin / sector * sector, (run.end + sector - 1) / sector * sector};
      return {merged_length(runs), true};
    }
    return union_bytes(regions, 1);
  }
  if (regions.size() == 1) return count_bytes(regions.front());
  const std::int64_t factor = take_common_period(regions);
  std::int64_t total_runs = 0;
  for (const auto& region : regions) total_runs = std::min(total_runs + run_count(region), kMaxRuns + 1);
  if (total_runs <= kMaxRuns) {
    std::vector<Run> runs;
    for (const auto& region : regions) list_runs(region, runs);
    return {factor * merged_length(runs), true};
  }
  return {factor * clustered_count(regions), false};
}

bool contains(const Region& outer, const Region& inner) {
  if (inner.empty) return true;
  if (outer.empty || inner.offset < outer.offset || inner.end() > outer.end()) return false;
  if (outer == inner || outer.dims.size() <= 1) return true;
  const Count whole = count_bytes(outer);
  const Count both = union_bytes({outer, inner});
  return whole.exact && both.exact && whole.value == both.value;
}

bool disjoint(const Region& a, const Region& b) {
  if (a.empty || b.empty || a.end() <= b.offset || b.end() <= a.offset) return true;
  const Count count_a = count_bytes(a);
  const Count count_b = count_bytes(b);
  const Count both = union_bytes({a, b});
  return count_a.exact && count_b.exact && both.exact && both.value == count_a.value + count_b.value;
}

}  // namespace solmark::graph
