// Where our programs, the worker library and the Python packages lie, and which Python to use.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace solmark::judge {

struct Installation {
  std::filesystem::path worker;                    // solmark-worker
  std::filesystem::path worker_library;            // libsolmark_worker.so
  std::filesystem::path replayer;                  // solmark-replayer
  std::filesystem::path python_root;               // folder that holds the package `solmark`
  std::string python;                              // interpreter with PyTorch
  std::filesystem::path cache;                     // $XDG_CACHE_HOME/solmark
  std::map<std::string, std::string> environment;  // ours, to start children's from
};

// Programs are looked for beside this one; the packages in ../share/solmark/python, then in the source tree.
// `python` empty: $SOLMARK_PYTHON, the active virtual environment, the source tree's .venv, then python3.
Result<Installation> find_installation(const std::map<std::string, std::string>& environment,
                                       const std::string& python);

// The environment of a child: what a compiler, Python and the CUDA libraries need, and nothing else of ours.
std::map<std::string, std::string> child_environment(const Installation& installation);

}  // namespace solmark::judge
