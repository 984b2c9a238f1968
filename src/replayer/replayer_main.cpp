// solmark-replayer: runs sealed calls for the judge in a process that holds no candidate code.
#include <charconv>
#include <cstdio>
#include <cstring>

#include "replayer/service.h"

int main(int argc, char** argv) {
  int channel = -1;
  if (argc == 3 && std::strcmp(argv[1], "--channel") == 0) {
    const char* const end = argv[2] + std::strlen(argv[2]);
    const auto parsed = std::from_chars(argv[2], end, channel);
    if (parsed.ec != std::errc() || parsed.ptr != end) channel = -1;
  }
  if (channel < 0) {
    std::fprintf(stderr, "usage: solmark-replayer --channel DESCRIPTOR (started by solmark, not by hand)\n");
    return 2;
  }
  solmark::replayer::Service service{solmark::Fd(channel)};
  return service.run();
}
