#include "worker/cuda_scratch.h"

#if SOLMARK_HAVE_CUDA

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "gpu/fake/fake_driver.h"
#include "gpu/window.h"
#include "worker/cuda_capture.h"

// What candidates call; answered by interpose_memory.cpp, which is linked into this program.
extern "C" int cudaMalloc(void** pointer, std::size_t bytes);
extern "C" int cudaMallocAsync(void** pointer, std::size_t bytes, void* stream);
extern "C" int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
extern "C" int cudaFree(void* pointer);
extern "C" int cudaFreeAsync(void* pointer, void* stream);

namespace solmark::worker {
namespace {

using testing::HasSubstr;

int waits = 0;
CUresult wait_result = CUDA_SUCCESS;
CUresult capture_result = CUDA_SUCCESS;

bool in_scratch(const void* pointer) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  return address >= gpu::kScratchBase && address - gpu::kScratchBase < gpu::kScratchBytes;
}

class CudaScratchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kFakeGpuWorks) GTEST_SKIP() << "no fake GPU under TSan";
    gpu::reset_fake_gpu().memory_bytes = std::size_t{200} << 20;
    driver_.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
    driver_.cuCtxSynchronize = [] {
      ++waits;
      return wait_result;
    };
    driver_.cuStreamBeginCapture = [](CUstream, CUstreamCaptureMode) { return CUDA_SUCCESS; };
    driver_.cuStreamEndCapture = [](CUstream, CUgraph* graph) {
      *graph = capture_result == CUDA_SUCCESS ? reinterpret_cast<CUgraph>(&waits) : nullptr;
      return capture_result;
    };
    driver_.cuGraphDestroy = [](CUgraph) { return CUDA_SUCCESS; };
    waits = 0;
    wait_result = CUDA_SUCCESS;
    capture_result = CUDA_SUCCESS;
    ASSERT_TRUE(gpu::reserve_window(driver_).ok());
    scratch_ = std::make_unique<CudaScratch>(driver_, 0);
    set_active_scratch(scratch_.get());
  }
  void TearDown() override { set_active_scratch(nullptr); }

  gpu::Driver driver_ = gpu::fake_driver();
  std::unique_ptr<CudaScratch> scratch_;
  int stream_a_ = 0;
  int stream_b_ = 0;
};

TEST_F(CudaScratchTest, ServesCandidatesFromTheUpperHalfOfTheWindow) {
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, 1000), 0);
  EXPECT_TRUE(in_scratch(pointer));
  std::memset(pointer, 7, 1000);  // it is mapped
  void* other = nullptr;
  ASSERT_EQ(cudaMallocAsync(&other, 1000, &stream_a_), 0);
  EXPECT_TRUE(in_scratch(other));
  EXPECT_NE(other, pointer);
  EXPECT_EQ(cudaFree(pointer), 0);
  EXPECT_EQ(waits, 1);  // as cudaFree does
  EXPECT_EQ(cudaFreeAsync(other, &stream_a_), 0);
  EXPECT_EQ(waits, 1);
}

TEST_F(CudaScratchTest, PitchesRows) {
  void* pointer = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&pointer, &pitch, 700, 3), 0);
  EXPECT_EQ(pitch, 1024U);
  EXPECT_TRUE(in_scratch(pointer));
  EXPECT_EQ(cudaMallocPitch(&pointer, &pitch, 700, SIZE_MAX / 2), 2);
}

TEST_F(CudaScratchTest, ReportsThatThereIsNoMemoryLeft) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, std::size_t{1} << 30), 2);
  EXPECT_EQ(pointer, nullptr);
  // 64 MiB chunks fit three times, then just what is needed.
  ASSERT_EQ(cudaMalloc(&pointer, std::size_t{190} << 20), 0);
  ASSERT_EQ(cudaMalloc(&pointer, std::size_t{8} << 20), 0);
  EXPECT_EQ(cudaMalloc(&pointer, std::size_t{8} << 20), 2);
}

TEST_F(CudaScratchTest, DoesNotWaitWhileCapturing) {
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, 4096), 0);
  scratch_->set_capturing(true);
  EXPECT_EQ(cudaFree(pointer), 0);
  EXPECT_EQ(waits, 0);
  void* next = nullptr;
  ASSERT_EQ(cudaMalloc(&next, 4096), 0);
  EXPECT_NE(next, pointer);  // its last user may still run
  scratch_->set_capturing(false);
  scratch_->idle();
  void* again = nullptr;
  ASSERT_EQ(cudaMalloc(&again, 4096), 0);
  EXPECT_EQ(again, pointer);
}

TEST_F(CudaScratchTest, KeepsMemoryWhenWaitingFails) {
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, 4096), 0);
  wait_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(cudaFree(pointer), 0);
  void* next = nullptr;
  ASSERT_EQ(cudaMalloc(&next, 4096), 0);
  EXPECT_NE(next, pointer);
}

TEST_F(CudaScratchTest, SharesEveryChunk) {
  ASSERT_NE(scratch_->allocate(std::size_t{80} << 20), nullptr);
  ASSERT_NE(scratch_->allocate(std::size_t{80} << 20, &stream_b_), nullptr);
  const auto shared = scratch_->share();
  ASSERT_TRUE(shared.ok()) << shared.error().text();
  ASSERT_EQ(shared->size(), 2U);
  EXPECT_EQ((*shared)[0].address, gpu::kScratchBase);
  EXPECT_EQ((*shared)[1].address, gpu::kScratchBase + (*shared)[0].bytes);
  EXPECT_TRUE((*shared)[1].fd.valid());
}

TEST_F(CudaScratchTest, LeavesCandidatesAloneWithoutASession) {
  set_active_scratch(nullptr);
  void* pointer = nullptr;
  // No CUDA runtime is loaded in this program: there is no real function to call, and nothing is made up.
  EXPECT_EQ(cudaMalloc(&pointer, 4096), 35);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaFree(nullptr), 35);
}

TEST_F(CudaScratchTest, SaysWhatMakesACaptureFail) {
  bool worked = false;
  const auto good = capture(driver_, nullptr, [&] { worked = true; });
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(worked);
  const std::vector<std::pair<CUresult, std::string>> causes{
      {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "waits for the GPU"},
      {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "default stream"},
      {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "without joining it"},
      {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "captures graphs itself"}};
  for (const auto& [result, words] : causes) {
    capture_result = result;
    const auto bad = capture(driver_, nullptr, [] {});
    ASSERT_FALSE(bad.ok());
    EXPECT_THAT(bad.error().text(), HasSubstr(words));
  }
}

}  // namespace
}  // namespace solmark::worker

#endif
