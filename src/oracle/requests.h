// The bodies of requests to the oracle (docs/architecture.md, "judge → oracle").
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "device/layout.h"
#include "problem/definition.h"
#include "problem/workload.h"

namespace solmark::oracle {

Json load_request(const problem::Definition& definition, const std::string& device);
Json workload_request(const problem::Definition& definition, const problem::Workload& workload,
                      const problem::AxisValues& axes, const device::Layout& inputs,
                      const device::Layout& outputs,
                      const std::map<std::string, std::filesystem::path>& blobs, const Json* scalars);

}  // namespace solmark::oracle
