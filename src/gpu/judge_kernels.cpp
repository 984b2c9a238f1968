#include "gpu/judge_kernels.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "gpu/kernels/compare_args.h"

namespace solmark::gpu {
namespace {

using problem::Dtype;

constexpr unsigned kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 16;
constexpr std::size_t kMostRows = 32768;  // of a grid; CUDA allows 65535

// Types whose elements mean the same share one kernel.
Dtype kernel_dtype(Dtype dtype) {
  if (dtype == Dtype::kFloat4E2m1) return Dtype::kFloat4E2m1x2;
  return dtype == Dtype::kBool ? Dtype::kUint8 : dtype;
}

const char* kernel_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return "solmark_compare_kFloat64";
    case Dtype::kFloat32:
      return "solmark_compare_kFloat32";
    case Dtype::kFloat16:
      return "solmark_compare_kFloat16";
    case Dtype::kBfloat16:
      return "solmark_compare_kBfloat16";
    case Dtype::kFloat8E4m3fn:
      return "solmark_compare_kFloat8E4m3fn";
    case Dtype::kFloat8E5m2:
      return "solmark_compare_kFloat8E5m2";
    case Dtype::kFloat4E2m1:
    case Dtype::kFloat4E2m1x2:
      return "solmark_compare_kFloat4E2m1x2";
    case Dtype::kInt64:
      return "solmark_compare_kInt64";
    case Dtype::kInt32:
      return "solmark_compare_kInt32";
    case Dtype::kInt16:
      return "solmark_compare_kInt16";
    case Dtype::kInt8:
      return "solmark_compare_kInt8";
    case Dtype::kUint8:
    case Dtype::kBool:
      return "solmark_compare_kUint8";
  }
  return "";
}

unsigned blocks_for(std::size_t items, unsigned most) {
  return static_cast<unsigned>(std::clamp<std::size_t>((items + kThreads - 1) / kThreads, 1, most));
}

}  // namespace

Result<JudgeKernels::Buffer> JudgeKernels::Buffer::make(const Context& context, std::size_t bytes) {
  Buffer out;
  SOLMARK_CHECK_OK(context.driver().check(context.driver().cuMemAlloc(&out.address, bytes),
                                          fmt::format("allocating {} bytes for the judge", bytes)));
  out.bytes = bytes;
  out.context_ = &context;
  return out;
}
JudgeKernels::Buffer::Buffer(Buffer&& other) noexcept
    : address(other.address), bytes(other.bytes), context_(std::exchange(other.context_, nullptr)) {}
JudgeKernels::Buffer& JudgeKernels::Buffer::operator=(Buffer&& other) noexcept {
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
  std::swap(context_, other.context_);
  return *this;
}
JudgeKernels::Buffer::~Buffer() {
  if (context_ != nullptr) (void)context_->driver().cuMemFree(address);
}

Result<JudgeKernels> JudgeKernels::load(const Context& context) {
  SOLMARK_TRY(Module compare, Module::load(context, compare_image(), "comparison"));
  SOLMARK_TRY(Module memory, Module::load(context, memory_image(), "memory"));
  SOLMARK_TRY(const int multiprocessors, context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  const auto blocks =
      static_cast<unsigned>(std::clamp(multiprocessors * kBlocksPerMultiprocessor, 1, kCompareMaxBlocks));
  SOLMARK_TRY(Buffer scratch,
              Buffer::make(context, (std::size_t{blocks} + 1) * sizeof(stats::CompareCounts)));
  return JudgeKernels(context, std::move(compare), std::move(memory), std::move(scratch), blocks);
}

Status JudgeKernels::read_back(void* host, CUdeviceptr from, std::size_t bytes) {
  const Driver& driver = context_->driver();
  SOLMARK_CHECK_OK(
      driver.check(driver.cuMemcpyDtoHAsync(host, from, bytes, context_->stream()), "reading a result"));
  return context_->synchronize();
}

Result<stats::CompareCounts> JudgeKernels::compare(const stats::CompareSpec& spec, std::uint64_t got,
                                                   std::uint64_t expected, std::size_t elements) {
  if (elements == 0) return stats::CompareCounts{};
  const bool packed = problem::dtype_is_packed(spec.dtype);
  CompareArgs args{};
  args.got = reinterpret_cast<const void*>(got);
  args.expected = reinterpret_cast<const void*>(expected);
  args.values = packed ? 2 * elements : elements;
  args.atol = spec.atol;
  args.rtol = spec.rtol;
  args.rule = spec.rule;
  args.allow_negative_inf = spec.allow_negative_inf;
  args.vector_loads = (got | expected) % 16 == 0;
  CUdeviceptr partial = scratch_.address;
  CUdeviceptr total = scratch_.address + blocks_ * sizeof(stats::CompareCounts);
  // Four elements a load.
  const unsigned grid = blocks_for((elements + 3) / 4, blocks_);
  void* count_parameters[] = {&args, &partial};
  SOLMARK_CHECK_OK(compare_.launch(kernel_name(spec.dtype), grid, kCompareThreads, count_parameters));
  Dtype dtype = kernel_dtype(spec.dtype);
  int blocks = static_cast<int>(grid);
  void* total_parameters[] = {&args, &dtype, &partial, &blocks, &total};
  SOLMARK_CHECK_OK(compare_.launch("solmark_compare_total", 1, kCompareThreads, total_parameters));
  stats::CompareCounts out;
  SOLMARK_CHECK_OK(read_back(&out, total, sizeof out));
  return out;
}

Status JudgeKernels::upload(const void* host, std::size_t bytes, std::size_t needed) {
  if (table_.bytes < needed) {
    SOLMARK_TRY(table_, Buffer::make(*context_, std::max(needed, 2 * table_.bytes)));
  }
  const Driver& driver = context_->driver();
  return driver.check(driver.cuMemcpyHtoDAsync(table_.address, host, bytes, context_->stream()),
                      "writing a table of pieces");
}

Result<std::vector<bool>> JudgeKernels::equal(const std::vector<BytePair>& pairs) {
  std::vector<bool> same;
  const Driver& driver = context_->driver();
  for (std::size_t first = 0; first < pairs.size(); first += kMostRows) {
    const std::size_t count = std::min<std::size_t>(pairs.size() - first, kMostRows);
    const std::size_t table_bytes = count * sizeof(BytePair);
    SOLMARK_CHECK_OK(upload(&pairs[first], table_bytes, table_bytes + count * sizeof(unsigned)));
    CUdeviceptr table = table_.address;
    CUdeviceptr flags = table_.address + table_bytes;
    SOLMARK_CHECK_OK(
        driver.check(driver.cuMemsetD32Async(flags, 0, count, context_->stream()), "clearing flags"));
    std::size_t longest = 0;
    for (std::size_t i = 0; i < count; ++i) longest = std::max<std::size_t>(longest, pairs[first + i].bytes);
    void* parameters[] = {&table, &flags};
    SOLMARK_CHECK_OK(memory_.launch(
        "solmark_differ", Grid(blocks_for((longest + 15) / 16, blocks_), static_cast<unsigned>(count)),
        kThreads, parameters));
    std::vector<unsigned> different(count);
    SOLMARK_CHECK_OK(read_back(different.data(), flags, count * sizeof(unsigned)));
    for (const unsigned flag : different) same.push_back(flag == 0);
  }
  return same;
}

Status JudgeKernels::deal(std::uint64_t to, std::uint64_t from, std::size_t bytes,
                          const std::vector<std::uint32_t>& pieces) {
  if (bytes == 0) return success();
  for (std::size_t first = 0; first < pieces.size(); first += kMostRows) {
    const std::size_t count = std::min<std::size_t>(pieces.size() - first, kMostRows);
    const std::size_t table_bytes = count * sizeof(std::uint32_t);
    SOLMARK_CHECK_OK(upload(&pieces[first], table_bytes, table_bytes));
    std::uint64_t target = to + first * bytes;
    unsigned long long vectors = bytes / 16;
    void* parameters[] = {&target, &from, &table_.address, &vectors};
    SOLMARK_CHECK_OK(memory_.launch("solmark_deal",
                                    Grid(blocks_for(vectors, blocks_), static_cast<unsigned>(count)),
                                    kThreads, parameters));
  }
  return success();
}

Status JudgeKernels::flush_caches() {
  const Driver& driver = context_->driver();
  if (flush_.bytes == 0) {
    SOLMARK_TRY(const int cache, context_->attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    // A device may report 0; then there is still something to displace.
    const std::size_t bytes =
        2 * std::max<std::size_t>(static_cast<std::size_t>(cache), std::size_t{8} << 20);
    SOLMARK_TRY(flush_, Buffer::make(*context_, bytes));
    SOLMARK_CHECK_OK(
        driver.check(driver.cuMemsetD32Async(flush_.address, 0x5a5a5a5aU, bytes / 4, context_->stream()),
                     "preparing the flush buffer"));
  }
  CUdeviceptr data = flush_.address;
  CUdeviceptr sink = scratch_.address;
  unsigned long long count = flush_.bytes / 16;
  unsigned key = 0x9e3779b9U;
  void* parameters[] = {&data, &count, &key, &sink};
  return memory_.launch("solmark_read", blocks_for(count, blocks_), kThreads, parameters);
}

}  // namespace solmark::gpu

#endif
