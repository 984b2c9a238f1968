#include "bound/bound_json.h"

#include <nlohmann/json.hpp>

namespace solmark::bound {
namespace {

Json notes_json(const std::vector<OpNote>& notes) {
  Json out = Json::array();
  for (const auto& note : notes) {
    Json item = {{"op", note.op}, {"times", note.times}};
    if (!note.why.empty()) item["why"] = note.why;
    out.push_back(std::move(item));
  }
  return out;
}

Json level_json(const Level& level) {
  Json terms = Json::array();
  for (const auto& term : level.terms) {
    Json operands = Json::object();
    for (const auto& operand : term.operands) operands[operand.name] = operand.value;
    terms.push_back({{"rule", term.rule},
                     {"resource", term.resource},
                     {"t_s", term.t_s},
                     {"operands", std::move(operands)},
                     {"arithmetic", term.arithmetic}});
  }
  return {
      {"level", level.level}, {"t_s", level.t_s}, {"limiter", level.limiter}, {"terms", std::move(terms)}};
}

}  // namespace

Json bound_json(const Bound& bound) {
  Json options = {{"clock", arch::clock_policy_name(bound.options.clock.policy)},
                  {"clock_hz", bound.clock_hz},
                  {"cache", cache_state_name(bound.options.cache)},
                  {"slots", bound.options.slots ? Json(*bound.options.slots) : Json(nullptr)},
                  {"fp32_matmul", fp32_matmul_name(bound.options.fp32_matmul)},
                  {"emulate_fp64", bound.options.emulate_fp64}};
  Json levels = Json::array();
  for (const auto& level : bound.levels) levels.push_back(level_json(level));
  Json traffic = Json::array();
  for (const auto& item : bound.traffic) {
    traffic.push_back({{"name", item.name},
                       {"access", item.write ? "write" : "read"},
                       {"bytes", item.bytes},
                       {"sector_bytes", item.sector_bytes},
                       {"storage_bytes", item.storage_bytes},
                       {"exact", item.exact}});
  }
  Json work = Json::array();
  for (const auto& item : bound.work) {
    work.push_back({{"ops", item.ops},
                    {"op", item.op},
                    {"rule", item.rule},
                    {"multiplies", item.multiplies},
                    {"precision", item.precision},
                    {"arithmetic", item.arithmetic}});
  }
  return {{"format", "solmark.bound"},
          {"version", 1},
          {"definition", bound.definition},
          {"arch", bound.arch},
          {"options", std::move(options)},
          {"label", bound.label},
          {"t_sol_s", bound.t_sol_s},
          {"limiter", bound.levels[2].limiter},
          {"levels", std::move(levels)},
          {"read_bytes", bound.read_bytes},
          {"write_bytes", bound.write_bytes},
          {"traffic", std::move(traffic)},
          {"work", std::move(work)},
          {"io_only", notes_json(bound.io_only)},
          {"not_counted", notes_json(bound.not_counted)},
          {"unproved", notes_json(bound.unproved)},
          {"repeated", notes_json(bound.repeated)},
          {"live_ops", bound.live_ops},
          {"dead_ops", bound.dead_ops},
          {"assumptions", bound.assumptions}};
}

}  // namespace solmark::bound
