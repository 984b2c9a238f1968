#include "gpu/driver.h"

#include <gtest/gtest.h>

#if SOLMARK_HAVE_CUDA

#include <cstring>

#include "gpu/fake/fake_driver.h"

namespace solmark::gpu {
namespace {

int answer_version(int* out) {
  *out = 12040;
  return 0;
}

// Every symbol but `missing` is there; the version is 12.4.
void* lookup_without(const char* missing, const char* symbol) {
  if (std::strcmp(symbol, missing) == 0) return nullptr;
  return reinterpret_cast<void*>(&answer_version);
}

TEST(Driver, AMissingLibraryIsAMachineErrorThatSaysWhatToDo) {
  const auto table = load_driver_library("libsolmark-no-such-driver.so.1");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kMachine);
  EXPECT_NE(table.error().text().find("libsolmark-no-such-driver.so.1"), std::string::npos);
  EXPECT_NE(table.error().mend.find("--device cpu"), std::string::npos);
}

TEST(Driver, ALibraryThatIsNoDriverIsAnErrorThatNamesTheFirstMissingSymbol) {
  const auto table = load_driver_library("libm.so.6");
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.error().message.find("lacks cuInit"), std::string::npos);
}

TEST(Driver, LooksUpTheVersionedSymbolsOfTheHeader) {
  // cuda.h names cuMemGetInfo_v2 when one writes cuMemGetInfo.
  const auto table =
      load_driver([](const char* symbol) { return lookup_without("cuMemGetInfo_v2", symbol); });
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.error().message.find("lacks cuMemGetInfo_v2"), std::string::npos);
}

TEST(Driver, AnOptionalSymbolMayBeMissingAndIsReportedWhereItIsNeeded) {
  const auto table =
      load_driver([](const char* symbol) { return lookup_without("cuFuncGetParamInfo", symbol); });
  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(table->cuFuncGetParamInfo, nullptr);
  EXPECT_NE(table->cuFuncGetName, nullptr);
  const auto user = [&]() -> Status {
    SOLMARK_NEEDS(table.value(), cuFuncGetParamInfo);
    return success();
  };
  const Status status = user();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kMachine);
  EXPECT_NE(status.error().message.find("CUDA 12.4) has no cuFuncGetParamInfo"), std::string::npos);
}

TEST(Driver, EventTimesFallBackToTheOlderSymbolOfTheSamePrototype) {
  const auto table =
      load_driver([](const char* symbol) { return lookup_without("cuEventElapsedTime_v2", symbol); });
  ASSERT_TRUE(table.ok());
  EXPECT_NE(table.value().cuEventElapsedTime, nullptr);
}

TEST(Driver, ErrorsCarryWhatWasDoneAndCudasNameAndText) {
  const Driver driver = fake_driver();
  EXPECT_TRUE(driver.check(CUDA_SUCCESS, "nothing").ok());
  const Status failed = driver.check(CUDA_ERROR_OUT_OF_MEMORY, "allocating 5 bytes");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kMachine);
  EXPECT_EQ(failed.error().message, "allocating 5 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
}

TEST(Driver, AnEmptyTableStillNamesAnErrorByItsNumber) {
  EXPECT_EQ(Driver().check(CUDA_ERROR_OUT_OF_MEMORY, "x").error().message, "x: CUDA error 2");
}

}  // namespace
}  // namespace solmark::gpu

#else

namespace solmark::gpu {
namespace {

TEST(Driver, ABuildWithoutCudaSaysSo) {
  const auto table = driver();
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kMachine);
  EXPECT_EQ(table.error().message, "built without the CUDA backend");
}

}  // namespace
}  // namespace solmark::gpu

#endif
