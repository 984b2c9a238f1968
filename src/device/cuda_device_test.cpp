#include "device/cuda_device.h"

#include <gtest/gtest.h>

#if SOLMARK_HAVE_CUDA

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "device/window.h"
#include "gpu/fake/fake_driver.h"
#include "gpu/vmm.h"

namespace solmark::device {
namespace {

constexpr std::size_t kGranularity = gpu::FakeGpu::kGranularity;

class CudaDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kFakeGpuWorks) GTEST_SKIP() << "no fake GPU under TSan";
    gpu::reset_fake_gpu();
    auto opened = open_cuda_device_with(driver_, 0);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    device_ = std::move(*opened);
  }
  std::unique_ptr<Region> region(const std::string& label, std::size_t bytes) {
    auto out = device_->allocate(label, bytes);
    EXPECT_TRUE(out.ok()) << out.error().text();
    return out.ok() ? std::move(*out) : nullptr;
  }
  std::vector<std::uint8_t> bytes_of(const Region& region) {
    std::vector<std::uint8_t> out(region.bytes());
    EXPECT_TRUE(device_->read(out.data(), region, 0, out.size()).ok());
    return out;
  }
  gpu::Driver driver_ = gpu::fake_driver();
  std::unique_ptr<Device> device_;
};

TEST_F(CudaDevice, TellsWhatItIs) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.kind, "cuda");
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(info.compute_capability, 90);
  EXPECT_EQ(info.multiprocessors, 4);
  EXPECT_EQ(info.last_level_cache_bytes, std::size_t{1} << 20);
  EXPECT_EQ(info.memory_bytes, std::size_t{64} << 20);
  EXPECT_EQ(info.driver, "CUDA 13.0");
}

TEST_F(CudaDevice, RegionsLieInTheJudgesHalfAtRisingAddressesAndFreedOnesAreUsedAgain) {
  auto a = region("a", 1);
  auto b = region("b", kGranularity + 1);
  auto c = region("c", 1);
  EXPECT_EQ(a->address(), kWindowBase);
  EXPECT_EQ(b->address(), kWindowBase + kGranularity);
  EXPECT_EQ(c->address(), kWindowBase + 3 * kGranularity);
  EXPECT_EQ(a->bytes(), 1U) << "the size that was asked for, not the rounded one";
  b.reset();
  EXPECT_EQ(region("d", 2 * kGranularity)->address(), kWindowBase + kGranularity);
}

TEST_F(CudaDevice, ExhaustionNamesTheRegionAndLeavesNothingBehind) {
  const auto too_much = device_->allocate("expected", std::size_t{65} << 20);
  ASSERT_FALSE(too_much.ok());
  EXPECT_EQ(too_much.error().code, ErrorCode::kMachine);
  EXPECT_NE(too_much.error().message.find("region \"expected\": allocating"), std::string::npos);
  EXPECT_FALSE(device_->allocate("window", kJudgeBytes + 1).ok());
  EXPECT_EQ(gpu::fake_gpu().live_handles, 0);
  EXPECT_EQ(region("a", 1)->address(), kWindowBase) << "the address is free again";
}

TEST_F(CudaDevice, AvailableMemoryLeavesRoomForTheOtherProcesses) {
  const std::size_t before = device_->available_bytes().value();
  EXPECT_EQ(before, std::size_t{48} << 20);
  auto a = region("a", std::size_t{16} << 20);
  EXPECT_EQ(device_->available_bytes().value(), std::size_t{36} << 20);
}

TEST_F(CudaDevice, AFreedRegionsContentIsWipedWhereverItIsStillShared) {
  auto a = region("expected", 100);
  ASSERT_TRUE(device_->fill(*a, 0, 100, 0x11223344).ok());
  auto fd = a->share(Access::kRead);
  ASSERT_TRUE(fd.ok());
  a.reset();
  auto mapping = Mapping::map(*fd, kGranularity, Mapping::Access::kRead);
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ(mapping->data()[0], std::byte{0});
  EXPECT_EQ(mapping->data()[99], std::byte{0});
}

TEST_F(CudaDevice, SharesTheSameMemoryForBothKindsOfAccess) {
  auto a = region("a", 16);
  for (const Access access : {Access::kRead, Access::kReadWrite}) {
    auto fd = a->share(access);
    ASSERT_TRUE(fd.ok());
    auto mapping = Mapping::map(*fd, kGranularity, Mapping::Access::kRead);
    ASSERT_TRUE(mapping.ok());
    ASSERT_TRUE(device_->write(*a, 0, "solmark", 7).ok());
    EXPECT_EQ(std::memcmp(mapping->data(), "solmark", 7), 0);
  }
}

TEST_F(CudaDevice, FillRepeatsThePatternFromItsStartAtAnyOffsetAndLength) {
  constexpr std::size_t kBytes = 64;
  auto a = region("a", kBytes);
  for (std::size_t offset = 0; offset < 6; ++offset) {
    for (std::size_t length = 0; offset + length <= 24; ++length) {
      ASSERT_TRUE(device_->fill(*a, 0, kBytes, 0xeeeeeeee).ok());
      ASSERT_TRUE(device_->fill(*a, offset, length, 0x04030201).ok());
      const std::vector<std::uint8_t> seen = bytes_of(*a);
      for (std::size_t i = 0; i < kBytes; ++i) {
        const bool inside = i >= offset && i < offset + length;
        ASSERT_EQ(seen[i], inside ? 1 + (i - offset) % 4 : 0xeeU) << offset << " " << length << " " << i;
      }
    }
  }
}

TEST_F(CudaDevice, NothingReachesOutsideARegion) {
  auto a = region("a", 32);
  auto b = region("b", 64);
  std::array<char, 64> host{};
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  EXPECT_FALSE(device_->read(host.data(), *a, 1, 32).ok());
  EXPECT_FALSE(device_->read(host.data(), *a, 33, 0).ok());
  EXPECT_FALSE(device_->read(host.data(), *a, 8, kHuge - 4).ok()) << "the sum wraps";
  EXPECT_FALSE(device_->write(*a, 0, host.data(), 33).ok());
  EXPECT_FALSE(device_->fill(*a, 30, 3, 0).ok());
  EXPECT_FALSE(device_->equal({{a.get(), 0, b.get(), 0, 33}}).ok());
  EXPECT_FALSE(device_->deal(*a, *b, 16, {0, 1, 2}).ok()) << "three pieces into two places";
  EXPECT_FALSE(device_->deal(*b, *a, 16, {0, 2}).ok()) << "there is no third piece";
  EXPECT_FALSE(device_->deal(*b, *a, 8, {0}).ok()) << "not aligned";
  EXPECT_FALSE(device_->compare({}, *b, 0, *a, 0, 9).ok());
  EXPECT_FALSE(device_->compare({}, *a, 0, *b, 0, 9).ok());
  EXPECT_FALSE(device_->compare({}, *a, 0, *b, 0, kHuge / 4 + 2).ok()) << "the product wraps";
  EXPECT_TRUE(device_->compare({}, *a, 0, *b, 32, 8).ok());
}

TEST_F(CudaDevice, ComparesByTheKernelOfTheTypeWithTheGivenRule) {
  auto got = region("got", 64);
  auto expected = region("expected", 64);
  const std::array<float, 3> x = {1.0F, 2.0F, -INFINITY};
  const std::array<float, 3> y = {1.0F, 2.5F, -INFINITY};
  ASSERT_TRUE(device_->write(*got, 4, x.data(), 12).ok());
  ASSERT_TRUE(device_->write(*expected, 8, y.data(), 12).ok());
  stats::CompareSpec spec;
  spec.allow_negative_inf = true;
  const auto counts = device_->compare(spec, *got, 4, *expected, 8, 3);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->elements, 2U);
  EXPECT_EQ(counts->matched, 1U);
  EXPECT_EQ(counts->worst_index, 1U);
  EXPECT_EQ(counts->worst_expected, 2.5);
  EXPECT_EQ(gpu::fake_gpu().launches,
            (std::vector<std::string>{"solmark_compare_kFloat32", "solmark_compare_total"}));
  spec.atol = 1;
  EXPECT_EQ(device_->compare(spec, *got, 4, *expected, 8, 3)->matched, 2U);
}

TEST_F(CudaDevice, EveryTypeHasAKernel) {
  auto a = region("a", 64);
  auto b = region("b", 64);
  const std::vector<std::pair<problem::Dtype, std::string>> kernels = {
      {problem::Dtype::kFloat64, "kFloat64"},
      {problem::Dtype::kFloat32, "kFloat32"},
      {problem::Dtype::kFloat16, "kFloat16"},
      {problem::Dtype::kBfloat16, "kBfloat16"},
      {problem::Dtype::kFloat8E4m3fn, "kFloat8E4m3fn"},
      {problem::Dtype::kFloat8E5m2, "kFloat8E5m2"},
      {problem::Dtype::kFloat4E2m1, "kFloat4E2m1x2"},
      {problem::Dtype::kFloat4E2m1x2, "kFloat4E2m1x2"},
      {problem::Dtype::kInt64, "kInt64"},
      {problem::Dtype::kInt32, "kInt32"},
      {problem::Dtype::kInt16, "kInt16"},
      {problem::Dtype::kInt8, "kInt8"},
      {problem::Dtype::kUint8, "kUint8"},
      {problem::Dtype::kBool, "kUint8"}};
  for (const auto& [dtype, kernel] : kernels) {
    gpu::fake_gpu().launches.clear();
    stats::CompareSpec spec;
    spec.dtype = dtype;
    const auto counts = device_->compare(spec, *a, 0, *b, 0, 8);
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->elements, problem::dtype_is_packed(dtype) ? 16U : 8U);
    ASSERT_EQ(gpu::fake_gpu().launches.size(), 2U);
    EXPECT_EQ(gpu::fake_gpu().launches[0], "solmark_compare_" + kernel);
  }
}

TEST_F(CudaDevice, AMisalignedComparisonIsRefused) {
  auto a = region("a", 64);
  auto b = region("b", 64);
  EXPECT_FALSE(device_->compare({}, *a, 2, *b, 0, 2).ok());
  EXPECT_FALSE(device_->compare({}, *a, 0, *b, 2, 2).ok());
  EXPECT_TRUE(gpu::fake_gpu().launches.empty());
}

TEST_F(CudaDevice, EqualSeesOneByte) {
  auto a = region("a", 64);
  auto b = region("b", 64);
  ASSERT_TRUE(device_->fill(*a, 0, 64, 7).ok());
  ASSERT_TRUE(device_->fill(*b, 0, 64, 7).ok());
  const auto equal = [&](std::size_t bytes) -> bool {
    return device_->equal({{a.get(), 0, b.get(), 0, bytes}}).value().at(0);
  };
  EXPECT_TRUE(equal(64));
  ASSERT_TRUE(device_->write(*b, 63, "x", 1).ok());
  EXPECT_FALSE(equal(64));
  EXPECT_TRUE(equal(63)) << "an earlier difference is not remembered";
  const RangePair whole{a.get(), 0, b.get(), 0, 64};
  const RangePair half{a.get(), 32, b.get(), 0, 32};
  EXPECT_EQ(device_->equal({half, whole, half}).value(), (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(device_->equal({}).value().empty());
}

TEST_F(CudaDevice, DealsPiecesInOneStep) {
  auto from = region("from", 48);
  auto to = region("to", 80);
  ASSERT_TRUE(device_->write(*from, 0, "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbcccccccccccccccc", 48).ok());
  ASSERT_TRUE(device_->deal(*to, *from, 16, {2, 0, 0, 1}).ok());
  std::string got(80, ' ');
  ASSERT_TRUE(device_->read(got.data(), *to, 0, 80).ok());
  EXPECT_EQ(got.substr(0, 64), "ccccccccccccccccaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb");
  EXPECT_EQ(gpu::fake_gpu().launches, (std::vector<std::string>{"solmark_deal"}));
}

TEST_F(CudaDevice, FlushReadsItsOwnBuffer) {
  ASSERT_TRUE(device_->flush_caches({}).ok());
  ASSERT_TRUE(device_->flush_caches({}).ok());
  EXPECT_EQ(gpu::fake_gpu().launches, (std::vector<std::string>{"solmark_read", "solmark_read"}));
  EXPECT_EQ(gpu::fake_gpu().live_buffers, 2) << "the result buffer and one flush buffer";
  EXPECT_EQ(gpu::fake_gpu().live_handles, 0) << "outside the window: nobody else may reach it";
}

TEST_F(CudaDevice, ImportsAWorkersMemoryOnlyInTheScratchHalf) {
  auto outside = gpu::VmmAllocation::create(driver_, 0, kGranularity);
  ASSERT_TRUE(outside.ok());
  const auto import = [&](std::uint64_t address, std::size_t bytes) {
    auto fd = outside->export_fd();
    return device_->import(std::move(*fd), address, bytes);
  };
  EXPECT_FALSE(import(kWindowBase, kGranularity).ok()) << "the judge's half";
  EXPECT_FALSE(import(kScratchBase + 4096, kGranularity).ok()) << "misaligned";
  EXPECT_FALSE(import(kScratchBase, kGranularity + 1).ok()) << "not a size of device memory";
  EXPECT_FALSE(import(kScratchBase, 0).ok());
  EXPECT_FALSE(import(kScratchBase, 2 * kGranularity).ok()) << "more than it is";
  EXPECT_FALSE(import(kScratchBase + kScratchBytes, kGranularity).ok()) << "beyond the window";
  auto good = import(kScratchBase + kGranularity, kGranularity);
  ASSERT_TRUE(good.ok()) << good.error().text();
  EXPECT_FALSE(import(kScratchBase + kGranularity, kGranularity).ok()) << "taken";
  ASSERT_TRUE(device_->fill(**good, 0, kGranularity, 5).ok());
  EXPECT_EQ((*good)->address(), kScratchBase + kGranularity);
  good->reset();
  EXPECT_TRUE(import(kScratchBase + kGranularity, kGranularity).ok()) << "given back";
}

TEST_F(CudaDevice, AllocatesAtAnAddressOfEitherHalf) {
  auto low = device_->allocate_at("inputs", kWindowBase + 2 * kGranularity, 10);
  ASSERT_TRUE(low.ok()) << low.error().text();
  EXPECT_EQ((*low)->address(), kWindowBase + 2 * kGranularity);
  auto high = device_->allocate_at("scratch", kScratchBase, 10);
  ASSERT_TRUE(high.ok()) << high.error().text();
  const auto taken = device_->allocate_at("outputs", kWindowBase + 2 * kGranularity, 10);
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(taken.error().message.find("region \"outputs\""), std::string::npos);
  EXPECT_EQ(region("a", 3 * kGranularity)->address(), kWindowBase + 3 * kGranularity) << "goes around it";
}

TEST_F(CudaDevice, ARegionMayOutliveItsDevice) {
  auto a = region("a", 1);
  device_.reset();
  EXPECT_EQ(gpu::fake_gpu().live_contexts, 1);
  a.reset();
  EXPECT_EQ(gpu::fake_gpu().live_contexts, 0);
  EXPECT_EQ(gpu::fake_gpu().live_handles, 0);
}

TEST_F(CudaDevice, GivesEverythingBack) {
  ASSERT_TRUE(device_->flush_caches({}).ok());
  device_.reset();
  EXPECT_EQ(gpu::fake_gpu().live_buffers, 0);
  EXPECT_EQ(gpu::fake_gpu().live_modules, 0);
  EXPECT_EQ(gpu::fake_gpu().live_streams, 0);
  EXPECT_EQ(gpu::fake_gpu().live_contexts, 0);
}

TEST_F(CudaDevice, WithoutNvmlTheStateIsUnknown) {
  const RunState state = device_->state();
  EXPECT_LT(state.sm_clock_hz, 0);
  EXPECT_LT(state.throttle_reasons, 0);
  EXPECT_LT(state.foreign_processes, 0);
}

TEST_F(CudaDevice, AGpuWithoutVirtualMemoryManagementIsRefused) {
  device_.reset();
  gpu::fake_gpu().has_vmm = false;
  const auto opened = open_cuda_device_with(driver_, 0);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("cuda:0 cannot map memory at chosen addresses"), std::string::npos);
}

}  // namespace
}  // namespace solmark::device

#else

namespace solmark::device {
namespace {

TEST(CudaDevice, ABuildWithoutCudaSaysSo) {
  const auto device = open_cuda_device(0);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::kMachine);
  EXPECT_EQ(device.error().message, "built without the CUDA backend");
}

}  // namespace
}  // namespace solmark::device

#endif
