#include "replayer/load_request.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "gpu/window.h"

namespace solmark::replayer {
namespace {

constexpr std::uint64_t kMostDevices = 1024;

Error broken(const std::string& what) { return machine_error("request load " + what); }

Result<std::uint64_t> number(const Json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end()) return broken(fmt::format("has no member `{}`", key));
  // A parser gives non-negative integers as unsigned; tests and other writers may not.
  if (!found->is_number_integer() || (!found->is_number_unsigned() && found->get<std::int64_t>() < 0))
    return broken(fmt::format("has a member `{}` that is no non-negative integer", key));
  return found->get<std::uint64_t>();
}

Result<int> device_index(const Json& body) {
  const auto found = body.find("device");
  if (found == body.end() || !found->is_string()) return broken("names no device");
  const auto& name = found->get_ref<const std::string&>();
  if (name == "cuda") return 0;
  unsigned index = 0;
  const char* const first = name.data() + std::min<std::size_t>(name.size(), 5);
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(first, last, index);
  if (!name.starts_with("cuda:") || error != std::errc() || end != last || index >= kMostDevices)
    return broken(fmt::format("names the device \"{}\", which is no cuda device", name));
  return static_cast<int>(index);
}

Result<LoadRequest::Region> decode_region(const Json& body, std::vector<Fd>& descriptors) {
  if (!body.is_object()) return broken("has a region that is no object");
  LoadRequest::Region region;
  SOLMARK_TRY(const std::uint64_t fd, number(body, "fd"));
  SOLMARK_TRY(region.address, number(body, "address"));
  SOLMARK_TRY(region.bytes, number(body, "bytes"));
  const auto access = body.find("access");
  if (access == body.end() || (*access != "r" && *access != "rw"))
    return broken("has a region whose access is neither `r` nor `rw`");
  region.writable = *access == "rw";
  // The last descriptor is the Seal's.
  if (fd + 1 >= descriptors.size() || !descriptors[fd].valid())
    return broken(fmt::format("names descriptor {}, which did not come or is taken", fd));
  if (region.address < gpu::kWindowBase || region.bytes == 0 || region.bytes > gpu::kWindowBytes ||
      region.address - gpu::kWindowBase > gpu::kWindowBytes - region.bytes)
    return broken(fmt::format("has a region at {:#x} outside the address window", region.address));
  region.fd = std::move(descriptors[fd]);
  return region;
}

}  // namespace

Result<LoadRequest> decode_load(const Json& body, std::vector<Fd>& descriptors) {
  LoadRequest request;
  SOLMARK_TRY(request.device_index, device_index(body));
  const auto window = body.find("window");
  if (window == body.end() || !window->is_object()) return broken("has no window");
  SOLMARK_TRY(request.window_base, number(*window, "base"));
  SOLMARK_TRY(request.window_bytes, number(*window, "bytes"));
  if (request.window_base != gpu::kWindowBase || request.window_bytes != gpu::kWindowBytes)
    return broken("is of a judge with another address window");
  const auto regions = body.find("regions");
  if (regions == body.end() || !regions->is_array()) return broken("has no list of regions");
  if (descriptors.empty()) return broken("came without a seal");
  for (const Json& region : *regions) {
    SOLMARK_TRY(LoadRequest::Region decoded, decode_region(region, descriptors));
    request.regions.push_back(std::move(decoded));
  }
  const auto trace_graphs = body.find("trace_graphs");
  if (trace_graphs != body.end() && !trace_graphs->is_boolean())
    return broken("has a member `trace_graphs` that is no boolean");
  request.trace_graphs = trace_graphs != body.end() && trace_graphs->get<bool>();
  request.seal = std::move(descriptors.back());
  return request;
}

Result<RegionPlace> find_region(const std::vector<LoadRequest::Region>& regions, std::uint64_t address) {
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (address >= regions[i].address && address - regions[i].address < regions[i].bytes)
      return RegionPlace{i, address - regions[i].address};
  return input_error(fmt::format("an output at {:#x} lies in no region", address), "seal");
}

}  // namespace solmark::replayer
