#include "gpu/nvml.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace solmark::gpu {
namespace {

constexpr const char* kBus = "0000:01:00.0";

TEST(Nvml, AMissingLibraryIsAMachineError) {
  const auto nvml = Nvml::open_library("libsolmark-no-such-nvml.so.1", kBus);
  ASSERT_FALSE(nvml.ok());
  EXPECT_EQ(nvml.error().code, ErrorCode::kMachine);
  EXPECT_NE(nvml.error().message.find("libsolmark-no-such-nvml.so.1"), std::string::npos);
}

TEST(Nvml, ALibraryThatIsNoNvmlIsAnError) {
  const auto nvml = Nvml::open_library("libm.so.6", kBus);
  ASSERT_FALSE(nvml.ok());
  EXPECT_NE(nvml.error().message.find("libm.so.6 is not an NVML"), std::string::npos);
}

TEST(Nvml, AGpuThatItDoesNotKnowIsAnErrorWithItsText) {
  const auto nvml = Nvml::open_library(SOLMARK_FAKE_NVML, "0000:02:00.0");
  ASSERT_FALSE(nvml.ok());
  EXPECT_EQ(nvml.error().message, "finding the GPU at 0000:02:00.0 in NVML: Not Found");
}

TEST(Nvml, ReadsTheStateInBaseUnitsAndLeavesUnsetWhatIsNotTold) {
  const auto nvml = Nvml::open_library(SOLMARK_FAKE_NVML, kBus);
  ASSERT_TRUE(nvml.ok()) << nvml.error().text();
  const GpuState state = nvml->state();
  EXPECT_EQ(state.sm_clock_hz, 1980e6);
  EXPECT_EQ(state.memory_clock_hz, 3201e6);
  EXPECT_EQ(state.temperature_c, 41);
  EXPECT_FALSE(state.power_w.has_value());
  EXPECT_EQ(state.throttle_reasons, 4U) << "the name that older drivers use";
  EXPECT_EQ(nvml->max_clocks().max_sm_hz, 2000e6);
  EXPECT_EQ(nvml->max_clocks().max_memory_hz, 3300e6);
  EXPECT_EQ(nvml->driver_version().value(), "580.1.2");
}

TEST(Nvml, ReadsAProcessListLongerThanItsFirstGuess) {
  const auto nvml = Nvml::open_library(SOLMARK_FAKE_NVML, kBus);
  ASSERT_TRUE(nvml.ok());
  const auto processes = nvml->state().compute_processes;
  ASSERT_TRUE(processes.has_value());
  ASSERT_EQ(processes->size(), 40U);
  EXPECT_EQ(processes->back(), 1039);
}

// A child that lives until the test ends it.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      pause();
      _exit(0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int pid_;
};

TEST(CountForeign, ThisProcessAndItsDescendantsAreNotForeign) {
  const Child child;
  EXPECT_EQ(count_foreign({getpid(), child.pid()}, getpid(), true), 0);
}

TEST(CountForeign, OthersAre) {
  const Child child;
  EXPECT_EQ(count_foreign({getpid(), 1}, getpid(), true), 1);
  EXPECT_EQ(count_foreign({child.pid(), getpid()}, child.pid(), true), 1)
      << "a parent is foreign to its child";
  EXPECT_EQ(count_foreign({getpid(), 0x7ffffff0}, getpid(), true), 1) << "a process that has ended meanwhile";
}

TEST(CountForeign, IsUnknownWhenTheNumbersAreAnotherNamespaces) {
  EXPECT_EQ(count_foreign({1, 2, 3}, getpid(), true), std::nullopt);
  EXPECT_EQ(count_foreign({}, getpid(), false), 0);
}

}  // namespace
}  // namespace solmark::gpu
