// The functions that interpose_*.cpp stand in front of.
#pragma once

#include <string>

namespace solmark::worker {

// A symbol of a library that is loaded in this process, by the start of the library's file name
// ("libcudart.so"); null when there is none. RTLD_NEXT alone is not enough: a candidate's dependencies are
// loaded privately.
void* real_symbol(const char* name, const std::string& library);

// Looked up once it is there: a library may be loaded later.
template <class Function>
Function real_function(Function& cache, const char* name, const std::string& library) {
  if (cache == nullptr) cache = reinterpret_cast<Function>(real_symbol(name, library));
  return cache;
}

}  // namespace solmark::worker
