#include "worker/interpose_real.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace solmark::worker {
namespace {

struct Search {
  const std::string& library;
  std::string path;
};

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (info->dlpi_name == nullptr) return 0;
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const std::string file = slash == nullptr ? info->dlpi_name : slash + 1;
  if (!file.starts_with(search.library)) return 0;
  search.path = info->dlpi_name;
  return 1;
}

}  // namespace

void* real_symbol(const char* name, const std::string& library) {
  Search search{library, {}};
  dl_iterate_phdr(&visit, &search);
  if (!search.path.empty()) {
    if (void* handle = dlopen(search.path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      void* found = dlsym(handle, name);
      dlclose(handle);  // it stays loaded: only our own count of it goes down
      if (found != nullptr) return found;
    }
  }
  return dlsym(RTLD_NEXT, name);
}

}  // namespace solmark::worker
