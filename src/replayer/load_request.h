// The judge's `load` request to a replayer, decoded and checked:
// {"device":"cuda:0","window":{"base","bytes"}, "regions":[{"fd","address","bytes","access"}…]} with the Seal
// as the last descriptor; optional: "trace_graphs":true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"

namespace solmark::replayer {

struct LoadRequest {
  struct Region {
    Fd fd;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool writable = false;
  };
  int device_index = 0;
  std::uint64_t window_base = 0;
  std::uint64_t window_bytes = 0;
  std::vector<Region> regions;
  Fd seal;
  bool trace_graphs = false;  // this process will tell how long whole batches take by CUPTI
};

// Takes the descriptors that the request names out of `descriptors`.
Result<LoadRequest> decode_load(const Json& body, std::vector<Fd>& descriptors);

// Where an address lies: the place of its region in the list and the offset there; an Error when in none.
struct RegionPlace {
  std::size_t region = 0;
  std::uint64_t offset = 0;
};
Result<RegionPlace> find_region(const std::vector<LoadRequest::Region>& regions, std::uint64_t address);

}  // namespace solmark::replayer
