#include "judge/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
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

}  // namespace

CheckResult check_batch(const CheckInput& in, std::vector<OutputRecord>& records) {
  CheckResult result;
  // The first slot whose outputs were found right, for each set: a deterministic candidate's other slots are
  // the same bytes, and need no second pass where the device can tell quickly.
  std::map<std::pair<std::size_t, std::size_t>, Place> right;
  for (std::size_t slot = 0; slot < in.slots->count; ++slot) {
    std::size_t set = in.slots->set_of[slot];
    for (std::size_t output = 0; output < in.outputs->tensors.size(); ++output) {
      const auto& tensor = in.outputs->tensors[output];
      Place got = place_of(in, slot, output);
      auto known = right.find({set, output});
      if (known != right.end()) {
        auto same = in.device->equal(*got.region, got.offset, *known->second.region, known->second.offset,
                                     tensor.bytes);
        if (!same.ok()) return {infra_fault(same.error()), false};
        if (*same) continue;
      }
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
      if (decision.ok()) {
        right.emplace(std::pair{set, output}, got);
        continue;
      }
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
