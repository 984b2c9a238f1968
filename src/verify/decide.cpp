#include "verify/decide.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace solmark::verify {
namespace {

std::string worst_words(const device::TensorPlacement& output, const stats::CompareCounts& c) {
  return fmt::format("output `{}`: element {} is {:.9g}, expected {:.9g}", output.name,
                     index_words(output, c.worst_index), c.worst_got, c.worst_expected);
}

}  // namespace

std::string index_words(const device::TensorPlacement& output, std::uint64_t flat) {
  std::vector<std::uint64_t> index(output.shape.size());
  for (std::size_t d = output.shape.size(); d-- > 0;) {
    auto size = static_cast<std::uint64_t>(output.shape[d]);
    if (d + 1 == output.shape.size() && problem::dtype_is_packed(output.dtype)) size *= 2;
    if (size == 0) break;
    index[d] = flat % size;
    flat /= size;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

Decision decide(const device::TensorPlacement& output, const stats::CompareCounts& c,
                const problem::Tolerance& tolerance, stats::CompareRule rule) {
  Decision out;
  if (c.elements == 0) return out;
  out.matched_ratio = static_cast<double>(c.matched) / static_cast<double>(c.elements);
  if (c.expected_nan + c.expected_inf > 0) {
    out.outcome = Outcome::kBadReference;
    out.words = fmt::format("the reference's output `{}` has {} NaN and {} infinite values", output.name,
                            c.expected_nan, c.expected_inf);
    return out;
  }
  if (c.got_nan + c.got_inf > 0) {
    out.outcome = Outcome::kNonFinite;
    out.words = fmt::format("{}; {} NaN and {} infinite values of {}", worst_words(output, c), c.got_nan,
                            c.got_inf, c.elements);
    return out;
  }
  if (c.got_nonzero == 0 && c.expected_nonzero > 0) {
    out.outcome = Outcome::kAllZero;
    out.words = fmt::format("output `{}` is all zeros; {} of {} expected values are not", output.name,
                            c.expected_nonzero, c.elements);
    return out;
  }
  // FlashInfer-Trace asks for every element; SOL-ExecBench for a share of them.
  const double required = rule == stats::CompareRule::kFlashinfer ? 1.0 : tolerance.required_matched_ratio;
  if (out.matched_ratio < required) {
    out.outcome = Outcome::kTooFew;
    out.words = fmt::format("{}; {} of {} elements match ({:.6g}, required {:.6g}), atol {:g}, rtol {:g}",
                            worst_words(output, c), c.matched, c.elements, out.matched_ratio, required,
                            tolerance.max_atol, tolerance.max_rtol);
    return out;
  }
  if (tolerance.max_error_cap && c.max_absolute_error > *tolerance.max_error_cap) {
    out.outcome = Outcome::kOverCap;
    out.words = fmt::format("{}; the largest absolute error {:.6g} is over max_error_cap {:g}",
                            worst_words(output, c), c.max_absolute_error, *tolerance.max_error_cap);
  }
  return out;
}

}  // namespace solmark::verify
