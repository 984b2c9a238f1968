// From a Solution to something a worker can load. Sources that do not compile are data (BuildOutcome::ok is
// false), never an Error; an Error is a missing compiler, a full disk, or a solution that cannot be staged.
// Compiled artefacts are cached by the content of everything that can change them (cache.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "problem/solution.h"

namespace solmark::build {

struct BuildRequest {
  problem::Solution solution;
  std::string device_kind = "cpu";     // "cpu" or "cuda"
  int compute_capability = 0;          // cuda: 90, 100, …
  std::filesystem::path cache_folder;  // e.g. $XDG_CACHE_HOME/solmark/build
  std::chrono::milliseconds time_limit = std::chrono::minutes(10);
  std::string python = "python3";     // with torch, for the torch binding
  std::filesystem::path python_root;  // the folder that holds the package `solmark`, for the torch binding
  std::string cxx = "g++";            // a path, or looked up on PATH
  std::string nvcc = "nvcc";          // the same; also looked for in $CUDA_HOME/bin and /usr/local/cuda/bin
  std::size_t log_limit = std::size_t{64} << 10;
};

enum class ArtefactKind { kSharedObject, kPythonFile, kTorchExtension };
// As in the worker's load request: "shared_object", "python_file", "torch_extension".
std::string_view artefact_kind_name(ArtefactKind kind);

struct Artefact {
  ArtefactKind kind = ArtefactKind::kSharedObject;
  std::filesystem::path path;    // what the worker loads
  std::filesystem::path folder;  // root of the staged sources (Python), or the folder of the object
  std::string entry;             // function, or attribute of the module
  bool from_cache = false;
  std::shared_ptr<const TemporaryFolder>
      staged;  // Python: the folder, removed with the last copy of the artefact
};

struct BuildOutcome {
  bool ok = false;
  bool timed_out = false;
  Artefact artefact;  // when ok
  std::string log;    // what the compilers printed, at most about log_limit bytes
  double seconds = 0;
};

Result<BuildOutcome> build(const BuildRequest& request);

}  // namespace solmark::build
