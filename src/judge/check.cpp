#include "judge/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "verify/decide.h"

namespace solmark::judge {
namespace {

struct Place {
  const device::Region* region = nullptr;
  std::size_t offset = 0;
};

Place place_of(const CheckInput& in, std::size_t slot, std::size_t output) {
  if (in.places != nullptr && slot < in.places->size() && output < (*in.places)[slot].size()) {
    const OutputPlace& place = (*in.places)[slot][output];
    return {in.regions[static_cast<std::size_t>(place.region)], place.offset};
  }
  return {in.slots->outputs.get(), in.outputs->tensors[output].offset + slot * in.outputs->slot_stride};
}

// Whether the element at `index` still holds the pattern that the judge wrote before the batch.
bool holds_poison(device::Device& device, const device::TensorPlacement& tensor, const Place& place,
                  std::uint64_t index) {
  std::size_t bits = problem::dtype_bits(tensor.dtype);
  std::size_t size = std::max<std::size_t>(1, bits / 8);
  std::size_t at = place.offset + (bits < 8 ? index / 2 : index * size);
  std::array<unsigned char, 8> bytes{};
  if (!device.read(bytes.data(), *place.region, at, size).ok()) return false;
  std::array<unsigned char, 4> poison{};
  std::memcpy(poison.data(), &kPoison, 4);
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] != poison[(at + i) % 4]) return false;
  }
  return true;
}

TraceStatus status_of(verify::Outcome outcome) {
  return outcome == verify::Outcome::kBadReference ? TraceStatus::kInvalidReference
                                                   : TraceStatus::kIncorrectNumerical;
}

// For each slot, the first slot that was dealt the same set.
std::vector<std::size_t> first_slots(const Slots& slots) {
  std::vector<std::size_t> first(slots.count);
  std::map<std::uint32_t, std::size_t> seen;
  for (std::size_t slot = 0; slot < slots.count; ++slot)
    first[slot] = seen.emplace(slots.set_of[slot], slot).first->second;
  return first;
}

// [slot * outputs + output]: whether the output is, byte for byte, that of the first slot of its set.
Result<std::vector<bool>> same_as_first(const CheckInput& in, const std::vector<std::size_t>& first) {
  const std::size_t outputs = in.outputs->tensors.size();
  std::vector<device::RangePair> pairs;
  pairs.reserve(first.size() * outputs);
  for (std::size_t slot = 0; slot < first.size(); ++slot) {
    for (std::size_t output = 0; output < outputs; ++output) {
      const Place a = place_of(in, slot, output);
      const Place b = place_of(in, first[slot], output);
      // A first slot is compared with nothing.
      const std::size_t bytes = first[slot] == slot ? 0 : in.outputs->tensors[output].bytes;
      pairs.push_back({a.region, a.offset, b.region, b.offset, bytes});
    }
  }
  return in.device->equal(pairs);
}

}  // namespace

CheckResult check_batch(const CheckInput& in, std::vector<OutputRecord>& records) {
  CheckResult result;
  // A deterministic candidate's calls on one set leave the same bytes: what is equal to an output that was
  // found right needs no second pass.
  const std::vector<std::size_t> first = first_slots(*in.slots);
  auto same = same_as_first(in, first);
  if (!same.ok()) return {infra_fault(same.error()), false};
  const std::size_t outputs = in.outputs->tensors.size();
  for (std::size_t slot = 0; slot < in.slots->count; ++slot) {
    const std::size_t set = in.slots->set_of[slot];
    for (std::size_t output = 0; output < outputs; ++output) {
      // The first slot of the set came before, and was right: a wrong one would have ended the check.
      if (first[slot] != slot && (*same)[slot * outputs + output]) continue;
      const auto& tensor = in.outputs->tensors[output];
      Place got = place_of(in, slot, output);
      stats::CompareSpec spec{tensor.dtype, in.rule, in.tolerance.allow_negative_inf, in.tolerance.max_atol,
                              in.tolerance.max_rtol};
      auto counts = in.device->compare(spec, *got.region, got.offset, *in.staging->expected,
                                       tensor.offset + set * in.outputs->slot_stride, tensor.elements());
      if (!counts.ok()) return {infra_fault(counts.error()), false};
      OutputRecord& record = records[output];
      verify::Decision decision = verify::decide(tensor, *counts, in.tolerance, in.rule);
      bool is_worst = record.counts.elements == 0 || counts->worst_score > record.counts.worst_score;
      if (is_worst) record.worst_index = verify::index_words(tensor, counts->worst_index);
      stats::merge(record.counts, *counts, 0);
      record.matched_ratio_min = std::min(record.matched_ratio_min, decision.matched_ratio);
      if (decision.ok()) continue;
      result.unwritten = holds_poison(*in.device, tensor, got, counts->worst_index);
      std::string words = fmt::format("call {} of a timed batch: {}", slot, decision.words);
      if (result.unwritten) words += "; the element was never written";
      result.fault = Fault{status_of(decision.outcome), words, false};
      return result;
    }
  }
  return result;
}

}  // namespace solmark::judge
