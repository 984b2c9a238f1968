#include "bound/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bound/memory.h"
#include "bound/resource_lp.h"
#include "bound/work.h"
#include "graph/needs.h"
#include "graph/op_kinds.h"
#include "graph/values.h"
#include "graph/verify.h"

namespace solmark::bound {
namespace {

using graph::OpGraph;

void finish(Level& level) {
  level.t_s = 0;
  level.limiter = "nothing";
  for (const auto& term : level.terms) {
    if (term.t_s > level.t_s) {
      level.t_s = term.t_s;
      level.limiter = term.resource;
    }
  }
}

// One note per operator name and reason, in order of first use.
template <class Items, class Name, class Why>
std::vector<OpNote> notes(const Items& items, const Name& name, const Why& why) {
  std::vector<OpNote> out;
  for (const auto& item : items) {
    const std::string op = name(item);
    const std::string reason = why(item);
    const auto found = std::find_if(out.begin(), out.end(),
                                    [&](const OpNote& note) { return note.op == op && note.why == reason; });
    if (found == out.end()) {
      out.push_back({op, 1, reason});
    } else {
      ++found->times;
    }
  }
  return out;
}

std::string listed(const std::vector<OpNote>& list) {
  std::string out;
  for (const auto& note : list) {
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", note.op,
                       note.times > 1 ? fmt::format(" x{}", note.times) : "");
  }
  return out;
}

// Names of the inputs or outputs that live in a storage.
std::string names_of(const OpGraph& graph, int storage, bool write) {
  std::string out;
  for (const auto& binding : write ? graph.outputs : graph.inputs) {
    if (!binding.tensor || graph.tensor(*binding.tensor).storage != storage) continue;
    out += (out.empty() ? "" : "+") + binding.name;
  }
  return out.empty() ? graph.storage(storage).name : out;
}

void take_traffic(const OpGraph& graph, const graph::Needs& needs, Bound& bound) {
  const auto take = [&](const std::vector<graph::StorageTraffic>& list, bool write, std::int64_t& total) {
    for (const auto& item : list) {
      bound.traffic.push_back({names_of(graph, item.storage, write), write, item.bytes, item.sector_bytes,
                               graph.storage(item.storage).bytes, item.exact});
      total += item.sector_bytes;
    }
  };
  take(needs.reads, false, bound.read_bytes);
  take(needs.writes, true, bound.write_bytes);
}

// The compute terms of L2: one for the resource programme as a whole, with prices as operands.
void take_work(const WorkCount& count, const arch::Arch& arch, Bound& bound, Level& level,
               std::vector<OpNote>& no_rate) {
  std::map<Precision, double> classes;
  for (const auto& work : count.work) {
    bound.work.push_back(work.item);
    classes[work.precision] += work.item.multiplies;
  }
  std::vector<LpClass> programme;
  std::vector<Precision> order;
  std::vector<std::vector<Method>> methods;
  for (const auto& [precision, multiplies] : classes) {
    auto ways = methods_for(precision, arch, bound.options);
    if (ways.empty()) {
      no_rate.push_back(
          {fmt::format("{} multiplies", precision_name(precision)), 1, "the arch gives no rate for them"});
      continue;
    }
    LpClass work{multiplies, {}};
    for (const auto& way : ways)
      work.methods.push_back({static_cast<std::size_t>(way.resource), way.seconds_per_multiply});
    programme.push_back(std::move(work));
    order.push_back(precision);
    methods.push_back(std::move(ways));
  }
  if (programme.empty()) return;
  const LpSolution solution = solve_resources(programme, kResources);
  Term term;
  term.rule = "compute.resource-programme";
  term.t_s = solution.t_s;
  double highest = 0;
  for (std::size_t r = 0; r < solution.prices.size(); ++r) {
    if (solution.prices[r] > highest) {
      highest = solution.prices[r];
      term.resource = resource_name(static_cast<Resource>(r));
    }
    if (solution.prices[r] > 0) {
      term.operands.push_back(
          {fmt::format("price_{}", resource_name(static_cast<Resource>(r))), solution.prices[r]});
    }
  }
  for (std::size_t w = 0; w < programme.size(); ++w) {
    term.operands.push_back({fmt::format("{}_multiplies", precision_name(order[w])), programme[w].units});
    std::size_t cheapest = 0;
    const auto price = [&](std::size_t m) {
      return solution.prices[static_cast<std::size_t>(methods[w][m].resource)] *
             methods[w][m].seconds_per_multiply;
    };
    // At the optimum several cost the same: the fastest of them is named.
    for (std::size_t m = 1; m < methods[w].size(); ++m) {
      const bool cheaper = price(m) < price(cheapest) * (1 - 1e-9);
      const bool alike = price(m) <= price(cheapest) * (1 + 1e-9);
      if (cheaper ||
          (alike && methods[w][m].seconds_per_multiply < methods[w][cheapest].seconds_per_multiply)) {
        cheapest = m;
      }
    }
    const Method& best = methods[w][cheapest];
    term.arithmetic += fmt::format("{}{:.6g} {} multiplies x price {:.4g} x 2 FLOP as {}",
                                   w == 0 ? "" : " + ", programme[w].units, precision_name(order[w]),
                                   solution.prices[static_cast<std::size_t>(best.resource)], best.arithmetic);
  }
  level.terms.push_back(std::move(term));
}

void take_assumptions(const OpGraph& graph, const arch::Arch& arch, Bound& bound) {
  auto& list = bound.assumptions;
  list.push_back(
      "every element that a live operation reads matters: no cancellation between operations, finite inputs");
  list.push_back("outputs are written by the call; a constant is read for free");
  list.push_back("memory holds data uncompressed");
  if (bound.options.cache == CacheState::kWarm) {
    list.push_back("warm: all of the cache may hold the call's own data from the call before");
  } else if (bound.options.slots) {
    list.push_back(fmt::format("cold: {} distinct slots a batch", *bound.options.slots));
  } else {
    list.push_back("cold: so many slots a batch that what the cache keeps between batches does not matter");
  }
  list.push_back(
      "classical (L2): every surviving multiply of the stated contractions, no Strassen, Winograd or FFT, "
      "dense tensor pipe rates");
  list.push_back(
      fmt::format("float32 multiplies may be done as: {}", fp32_matmul_name(bound.options.fp32_matmul)));
  if (graph.recorded_on_values) {
    list.push_back("shapes and control flow as recorded on one set of input values");
  }
  if (arch.kind == arch::Kind::kGpu) {
    list.push_back(fmt::format("clock {} ({:g} GHz)", clock_policy_name(bound.options.clock.policy),
                               bound.clock_hz / 1e9));
  }
  for (const auto* figure : {&arch.memory_bytes_per_s, &arch.cache_bytes, &arch.units}) {
    if (*figure && (*figure)->certainty >= arch::Certainty::kReported) {
      list.push_back(
          fmt::format("{} figure of the arch: {}", certainty_name((*figure)->certainty), (*figure)->source));
    }
  }
  for (const auto& warning : graph.warnings) list.push_back("recorder: " + warning);
}

}  // namespace

const char* cache_state_name(CacheState state) { return state == CacheState::kCold ? "cold" : "warm"; }

const char* fp32_matmul_name(Fp32Matmul policy) {
  constexpr std::array<const char*, 4> kNames = {"ieee", "emulated", "tf32", "half"};
  return kNames[static_cast<std::size_t>(policy)];
}

std::optional<CacheState> cache_state_from_name(const std::string& name) {
  if (name == "cold") return CacheState::kCold;
  if (name == "warm") return CacheState::kWarm;
  return std::nullopt;
}

std::optional<Fp32Matmul> fp32_matmul_from_name(const std::string& name) {
  for (const auto policy : {Fp32Matmul::kIeee, Fp32Matmul::kEmulated, Fp32Matmul::kTf32, Fp32Matmul::kHalf}) {
    if (name == fp32_matmul_name(policy)) return policy;
  }
  return std::nullopt;
}

Result<Bound> compute_bound(const OpGraph& graph, const arch::Arch& arch, const BoundOptions& options) {
  if (options.slots && *options.slots < 1) return usage_error("slots must be at least 1");
  SOLMARK_CHECK_OK(graph::verify(graph));
  SOLMARK_CHECK_OK(arch::check_arch(arch));
  Bound bound;
  SOLMARK_TRY(bound.clock_hz, arch::clock_hz(arch, options.clock));
  bound.definition = graph.definition;
  bound.arch = arch.name;
  bound.options = options;

  const graph::Values values = graph::analyse_values(graph);
  const std::int64_t sector =
      arch.memory_sector_bytes ? static_cast<std::int64_t>(arch.memory_sector_bytes->value) : 1;
  const graph::Needs needs = graph::analyse_needs(graph, values, sector);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (!graph::is_view(graph, graph.ops[i])) ++(needs.ops[i].live ? bound.live_ops : bound.dead_ops);
  }
  take_traffic(graph, needs, bound);

  Level io;
  io.level = 0;
  if (bound.write_bytes > 0 && bound.read_bytes > 0 && arch.latency_floor_s) {
    const double floor = arch.latency_floor_s->value;
    io.terms.push_back({"io.latency-floor",
                        "latency",
                        floor,
                        {{"latency_floor_s", floor}},
                        "one load and one store that depends on it"});
  }
  io.terms.push_back(memory_term(bound.read_bytes, bound.write_bytes, arch, options));
  if (auto term = cache_term(bound.read_bytes, bound.write_bytes, arch, options))
    io.terms.push_back(std::move(*term));
  finish(io);
  bound.levels[0] = io;
  bound.levels[1] = io;
  bound.levels[1].level = 1;

  Level classical = io;
  classical.level = 2;
  const WorkCount count = count_work(graph, values, needs);
  std::vector<OpNote> no_rate;
  take_work(count, arch, bound, classical, no_rate);
  finish(classical);
  bound.levels[2] = std::move(classical);
  bound.t_sol_s = bound.levels[2].t_s;

  const auto name = [&graph](std::size_t index) { return graph.ops[index].op; };
  const auto no_reason = [](std::size_t) { return std::string(); };
  bound.io_only = notes(count.io_only, name, no_reason);
  bound.unproved = notes(needs.unproved, name, no_reason);
  bound.repeated = notes(count.repeated, name, no_reason);
  bound.not_counted = notes(
      count.not_counted, [&](const auto& item) { return graph.ops[item.first].op; },
      [](const auto& item) { return item.second; });
  bound.not_counted.insert(bound.not_counted.end(), no_rate.begin(), no_rate.end());

  bound.label = bound.work.empty() ? "L0 I/O" : "L2 classical";
  if (graph.recorded_on_values) bound.label += "; for inputs that give the recorded shapes and control flow";
  if (!bound.io_only.empty()) bound.label += "; I/O only for " + listed(bound.io_only);
  if (!bound.not_counted.empty()) bound.label += "; multiplies not counted for " + listed(bound.not_counted);
  if (!bound.unproved.empty()) bound.label += "; not all reads proved for " + listed(bound.unproved);
  take_assumptions(graph, arch, bound);
  return bound;
}

}  // namespace solmark::bound
