#include "gpu/vmm.h"

#include <gtest/gtest.h>

#if SOLMARK_HAVE_CUDA

#include <cstring>
#include <utility>

#include "gpu/context.h"
#include "gpu/fake/fake_driver.h"
#include "gpu/window.h"

namespace solmark::gpu {
namespace {

class Vmm : public testing::Test {
 protected:
  void SetUp() override {
    if (!kFakeGpuWorks) GTEST_SKIP() << "no fake GPU under TSan";
    reset_fake_gpu();
  }
  static std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }
  Driver driver_ = fake_driver();
};

TEST_F(Vmm, ReservesTheWindowAtItsBaseAndOnlyOnce) {
  ASSERT_TRUE(reserve_window(driver_).ok());
  driver_.cuMemAddressReserve = nullptr;  // a second reservation would crash
  EXPECT_TRUE(reserve_window(driver_).ok());
}

TEST_F(Vmm, AWindowAtAnotherAddressIsAnErrorThatNamesBoth) {
  fake_gpu().moves_window = true;
  const Driver another = fake_driver();  // the window is reserved once a table
  const Status status = reserve_window(another);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kMachine);
  EXPECT_NE(status.error().message.find("0x710000000000 instead of 0x700000000000"), std::string::npos);
}

TEST_F(Vmm, MemoryIsTheSameAtOneAddressThroughADescriptor) {
  ASSERT_TRUE(reserve_window(driver_).ok());
  auto made = VmmAllocation::create(driver_, 0, 5);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->bytes(), FakeGpu::kGranularity);
  ASSERT_TRUE(made->map(kWindowBase, MapAccess::kReadWrite).ok());
  EXPECT_EQ(made->address(), kWindowBase);
  std::memcpy(at(kWindowBase), "hello", 5);
  auto fd = made->export_fd();
  ASSERT_TRUE(fd.ok());
  auto copy = VmmAllocation::import(driver_, 0, *fd, FakeGpu::kGranularity);
  ASSERT_TRUE(copy.ok());
  fd->reset();
  ASSERT_TRUE(copy->map(kScratchBase, MapAccess::kRead).ok());
  EXPECT_EQ(std::memcmp(at(kScratchBase), "hello", 5), 0);
}

TEST_F(Vmm, AReadOnlyMappingCannotBeWritten) {
  ASSERT_TRUE(reserve_window(driver_).ok());
  auto made = VmmAllocation::create(driver_, 0, 1);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(made->map(kWindowBase, MapAccess::kRead).ok());
  EXPECT_EQ(*at(kWindowBase), std::byte{0});
  EXPECT_DEATH(*at(kWindowBase) = std::byte{1}, "");
}

TEST_F(Vmm, EverythingIsGivenBackAtTheEndAndAfterAFailedMapping) {
  ASSERT_TRUE(reserve_window(driver_).ok());
  {
    auto made = VmmAllocation::create(driver_, 0, 1);
    ASSERT_TRUE(made.ok());
    fake_gpu().refuses_access = true;
    EXPECT_FALSE(made->map(kWindowBase, MapAccess::kReadWrite).ok());
    EXPECT_EQ(fake_gpu().live_mappings, 0);
    EXPECT_EQ(made->address(), 0U);
    fake_gpu().refuses_access = false;
    ASSERT_TRUE(made->map(kWindowBase, MapAccess::kReadWrite).ok());
    EXPECT_FALSE(made->map(kScratchBase, MapAccess::kReadWrite).ok()) << "mapped twice";
    VmmAllocation moved = std::move(*made);
    EXPECT_EQ(fake_gpu().live_mappings, 1);
    VmmAllocation assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.address(), kWindowBase);
    EXPECT_EQ(fake_gpu().live_handles, 1);
  }
  EXPECT_EQ(fake_gpu().live_mappings, 0);
  EXPECT_EQ(fake_gpu().live_handles, 0);
}

TEST_F(Vmm, MoreThanTheGpuHasIsAnErrorWithTheSize) {
  const auto made = VmmAllocation::create(driver_, 0, fake_gpu().memory_bytes + 1);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("allocating 69206016 bytes on cuda:0: CUDA_ERROR_OUT_OF_MEMORY"),
            std::string::npos);
}

TEST_F(Vmm, AnEmptyAllocationCanNeitherBeMappedNorExported) {
  VmmAllocation empty;
  EXPECT_FALSE(empty.map(kWindowBase, MapAccess::kRead).ok());
  EXPECT_FALSE(empty.export_fd().ok());
  EXPECT_TRUE(empty.unmap().ok());
}

TEST_F(Vmm, AContextNeedsAGpuOfThatNumberAndGoesBackAtItsEnd) {
  const auto none = Context::open(driver_, 1);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("no cuda:1: this machine shows 1 GPU(s)"), std::string::npos);
  EXPECT_FALSE(Context::open(driver_, -1).ok());
  {
    auto context = Context::open(driver_, 0);
    ASSERT_TRUE(context.ok());
    const Context moved = std::move(*context);
    EXPECT_EQ(fake_gpu().live_contexts, 1);
    EXPECT_TRUE(moved.synchronize().ok());
  }
  EXPECT_EQ(fake_gpu().live_contexts, 0);
  EXPECT_EQ(fake_gpu().live_streams, 0);
}

}  // namespace
}  // namespace solmark::gpu

#endif
