#include "gpu/cupti.h"

#include <gtest/gtest.h>

#if SOLMARK_HAVE_CUDA

#include <algorithm>
#include <cstdlib>

namespace solmark::gpu {
namespace {

std::ptrdiff_t place(const std::vector<std::string>& files, const std::string& file) {
  return std::find(files.begin(), files.end(), file) - files.begin();
}

TEST(Cupti, LooksInTheGivenFoldersThenTheEnvironmentsThenUnderThePlainName) {
  setenv("SOLMARK_CUPTI_DIR", "/env/one:/env/two", 1);
  const std::vector<std::string> files = cupti_candidates({"/given"});
  unsetenv("SOLMARK_CUPTI_DIR");
  const auto end = static_cast<std::ptrdiff_t>(files.size());
  EXPECT_EQ(files.front(), "/given/libcupti.so.13");
  EXPECT_LT(place(files, "/given/libcupti.so"), place(files, "/env/one/libcupti.so.13"));
  EXPECT_LT(place(files, "/env/one/libcupti.so.13"), place(files, "/env/two/libcupti.so.13"));
  EXPECT_LT(place(files, "/env/two/libcupti.so.12"), place(files, "libcupti.so.13"));
  EXPECT_LT(place(files, "libcupti.so"), end);
}

TEST(Cupti, WithoutTheEnvironmentThePlainNameComesFirst) {
  unsetenv("SOLMARK_CUPTI_DIR");
  EXPECT_EQ(cupti_candidates({}).front(), "libcupti.so.13");
}

TEST(Cupti, AnErrorCarriesItsNumberEvenWithoutATable) {
  const Status status = Cupti().check(CUPTI_ERROR_NOT_INITIALIZED, "starting");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kMachine);
  EXPECT_NE(status.error().message.find("starting: unknown error (CUPTI 15)"), std::string::npos);
}

}  // namespace
}  // namespace solmark::gpu

#endif
