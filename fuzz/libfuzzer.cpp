// The libFuzzer entry of one target, chosen by SOLMARK_FUZZ_TARGET at build time.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  solmark::fuzz::SOLMARK_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
