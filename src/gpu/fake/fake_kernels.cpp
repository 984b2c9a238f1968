#include "gpu/fake/fake_kernels.h"

#include <cstdint>
#include <cstring>

#include "gpu/kernels/compare_args.h"
#include "gpu/kernels/memory_args.h"

namespace solmark::gpu {
namespace {

template <class T>
T parameter(void** parameters, int index) {
  T out;
  std::memcpy(&out, parameters[index], sizeof out);
  return out;
}

void* pointer(void** parameters, int index) {
  return reinterpret_cast<void*>(parameter<std::uint64_t>(parameters, index));
}

void compare_total(void** parameters) {
  const auto args = parameter<CompareArgs>(parameters, 0);
  stats::CompareSpec spec;
  spec.dtype = parameter<problem::Dtype>(parameters, 1);
  spec.rule = args.rule;
  spec.allow_negative_inf = args.allow_negative_inf;
  spec.atol = args.atol;
  spec.rtol = args.rtol;
  const std::size_t elements = problem::dtype_is_packed(spec.dtype) ? args.values / 2 : args.values;
  const stats::CompareCounts out = stats::compare_on_cpu(spec, args.got, args.expected, elements);
  std::memcpy(pointer(parameters, 4), &out, sizeof out);
}

void differ(void** parameters, unsigned rows) {
  const auto* pairs = static_cast<const BytePair*>(pointer(parameters, 0));
  auto* different = static_cast<unsigned*>(pointer(parameters, 1));
  for (unsigned row = 0; row < rows; ++row) {
    const BytePair& pair = pairs[row];
    if (std::memcmp(reinterpret_cast<const void*>(pair.a), reinterpret_cast<const void*>(pair.b),
                    pair.bytes) != 0)
      different[row] = 1;
  }
}

void deal(void** parameters, unsigned rows) {
  auto* to = static_cast<unsigned char*>(pointer(parameters, 0));
  const auto* from = static_cast<const unsigned char*>(pointer(parameters, 1));
  const auto* pieces = static_cast<const std::uint32_t*>(pointer(parameters, 2));
  const std::size_t bytes = 16 * parameter<unsigned long long>(parameters, 3);
  for (unsigned row = 0; row < rows; ++row) std::memcpy(to + row * bytes, from + pieces[row] * bytes, bytes);
}

}  // namespace

void run_fake_kernel(const std::string& name, unsigned rows, void** parameters) {
  if (name == "solmark_compare_total") compare_total(parameters);
  if (name == "solmark_differ") differ(parameters, rows);
  if (name == "solmark_deal") deal(parameters, rows);
}

}  // namespace solmark::gpu
