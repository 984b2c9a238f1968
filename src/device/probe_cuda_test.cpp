#include "device/probe_cuda.h"

#if SOLMARK_HAVE_CUDA

#include <gtest/gtest.h>

#include "arch/arch_toml.h"
#include "arch/registry.h"
#include "gpu/fake/fake_driver.h"

namespace solmark::device {
namespace {

arch::Arch probe() {
  const gpu::Driver driver = gpu::fake_driver();
  auto probed = probe_cuda_with(driver, 0);
  EXPECT_TRUE(probed.ok()) << (probed.ok() ? "" : probed.error().text());
  return probed.ok() ? *probed : arch::Arch{};
}

TEST(ProbeCuda, TakesThePinsAsTheCeiling) {
  gpu::FakeGpu& gpu = gpu::reset_fake_gpu();
  gpu.bus_bits = 6144;
  gpu.memory_khz = 2'000'000'000;  // above what host memory can pretend to
  const arch::Arch probed = probe();
  EXPECT_DOUBLE_EQ(probed.memory_bytes_per_s->value, 6144.0 * 2e12 * 2 / 8);
  EXPECT_EQ(probed.memory_bytes_per_s->certainty, arch::Certainty::kDerived);
  EXPECT_NE(probed.memory_bytes_per_s->source.find("measured here"), std::string::npos);
  EXPECT_EQ(gpu.live_buffers, 0) << "the probe's memory is given back";
}

TEST(ProbeCuda, WithoutThePinsAMeasuredRateIsRaised) {
  gpu::reset_fake_gpu();
  const arch::Arch probed = probe();
  EXPECT_EQ(probed.memory_bytes_per_s->certainty, arch::Certainty::kMeasured);
  EXPECT_GT(probed.memory_bytes_per_s->value, 0);
}

TEST(ProbeCuda, PerClockFiguresAreThoseOfTheKnownPart) {
  gpu::reset_fake_gpu();
  const arch::Arch probed = probe();
  const arch::Arch part = arch::find_arch("h100-sxm").value();  // compute capability 9.0, as the fake's
  ASSERT_EQ(probed.tensor.size(), part.tensor.size());
  EXPECT_EQ(probed.tensor.at(arch::Format::kFp8).value, part.tensor.at(arch::Format::kFp8).value);
  EXPECT_NE(probed.tensor.at(arch::Format::kFp8).source.find("h100-sxm"), std::string::npos);
  EXPECT_EQ(probed.clock_max_hz->value, 1.98e9) << "what the driver tells, not the part's";
  EXPECT_TRUE(probed.latency_floor_s.has_value());
}

TEST(ProbeCuda, TheFileIsReadBack) {
  gpu::reset_fake_gpu();
  const std::string text = arch::arch_to_toml(probe());
  const auto again = arch::parse_arch(text, "probed.toml");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(arch::arch_to_toml(*again), text);
}

}  // namespace
}  // namespace solmark::device

#endif
