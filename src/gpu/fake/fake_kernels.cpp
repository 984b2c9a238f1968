#include "gpu/fake/fake_kernels.h"

#include <cstdint>
#include <cstring>

#include "gpu/kernels/compare_args.h"

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

void differ(void** parameters) {
  const auto bytes = parameter<unsigned long long>(parameters, 2);
  const std::uint32_t one = 1;
  if (std::memcmp(pointer(parameters, 0), pointer(parameters, 1), bytes) != 0) {
    std::memcpy(pointer(parameters, 4), &one, sizeof one);
  }
}

}  // namespace

void run_fake_kernel(const std::string& name, void** parameters) {
  if (name == "solmark_compare_total") compare_total(parameters);
  if (name == "solmark_differ") differ(parameters);
}

}  // namespace solmark::gpu
