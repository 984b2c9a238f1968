// solmark-worker: hosts candidates that are shared objects with the dlpack binding.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "worker/native_host.h"

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--channel") != 0) {
    std::fprintf(stderr, "usage: solmark-worker --channel DESCRIPTOR (started by solmark, not by hand)\n");
    return 2;
  }
  char* end = nullptr;
  long channel = std::strtol(argv[2], &end, 10);
  if (end == argv[2] || *end != '\0' || channel < 0 || channel > 1 << 20) {
    std::fprintf(stderr, "solmark-worker: %s is no descriptor\n", argv[2]);
    return 2;
  }
  static solmark::worker::NativeHost host;
  solmark_host_hooks hooks = host.hooks();
  return solmark_worker_run(static_cast<int>(channel), &hooks);
}
