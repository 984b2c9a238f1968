#include "seal/match.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace solmark::seal {
namespace {

using Kind = CollectedImage::HandleKind;

// What a function is, apart from how it was set up.
constexpr std::array kTraits{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
                             CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,  CU_FUNC_ATTRIBUTE_NUM_REGS,
                             CU_FUNC_ATTRIBUTE_PTX_VERSION,       CU_FUNC_ATTRIBUTE_BINARY_VERSION};

std::vector<std::pair<std::size_t, std::size_t>> parameter_layout(const gpu::Driver& driver,
                                                                  CUfunction function) {
  std::vector<std::pair<std::size_t, std::size_t>> layout;
  if (driver.cuFuncGetParamInfo == nullptr) return layout;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  while (driver.cuFuncGetParamInfo(function, layout.size(), &offset, &bytes) == CUDA_SUCCESS)
    layout.emplace_back(offset, bytes);
  return layout;
}

}  // namespace

ImageMatcher::ImageMatcher(const gpu::Driver& driver, std::vector<CollectedImage> images)
    : driver_(driver), images_(std::move(images)), cubins_(images_.size()) {}

Result<const Cubin*> ImageMatcher::cubin(std::size_t image) {
  if (cubins_[image] == nullptr) {
    SOLMARK_TRY(Cubin parsed, Cubin::parse(*images_[image].bytes));
    cubins_[image] = std::make_unique<Cubin>(std::move(parsed));
  }
  return cubins_[image].get();
}

std::vector<std::size_t> ImageMatcher::with_kernel(const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    // The name stands in the image's string table: most images are ruled out without being read.
    if (cubins_[i] == nullptr && images_[i].bytes->find(name) == std::string::npos) continue;
    const auto read = cubin(i);
    if (read.ok() && (*read)->has_kernel(name)) found.push_back(i);
  }
  return found;
}

std::optional<std::size_t> ImageMatcher::by_handle(const std::vector<std::size_t>& among,
                                                   const Handles& handles) const {
  const auto is_ours = [&](const CollectedImage::Handle& handle) {
    if (handle.value == nullptr) return false;
    switch (handle.kind) {
      case Kind::kModule:
        return handle.value == handles.module;
      case Kind::kLibrary:
        return handle.value == handles.library;
      case Kind::kFunction:
        return handle.value == handles.function || handle.value == handles.kernel;
    }
    return false;
  };
  std::optional<std::size_t> found;
  for (const std::size_t i : among) {
    if (!std::any_of(images_[i].handles.begin(), images_[i].handles.end(), is_ours)) continue;
    if (found) return std::nullopt;  // two claims: neither is evidence
    found = i;
  }
  return found;
}

bool ImageMatcher::looks_alike(std::size_t image, CUfunction function, const std::string& name) {
  const ImageCollector::Pause pause;
  CUmodule module = nullptr;
  if (driver_.cuModuleLoadData(&module, images_[image].bytes->data()) != CUDA_SUCCESS) return false;
  CUfunction other = nullptr;
  bool alike = driver_.cuModuleGetFunction(&other, module, name.c_str()) == CUDA_SUCCESS;
  for (const auto trait : kTraits) {
    int ours = 0;
    int theirs = 0;
    alike = alike && driver_.cuFuncGetAttribute(&ours, trait, function) == CUDA_SUCCESS &&
            driver_.cuFuncGetAttribute(&theirs, trait, other) == CUDA_SUCCESS && ours == theirs;
  }
  alike = alike && parameter_layout(driver_, function) == parameter_layout(driver_, other);
  (void)driver_.cuModuleUnload(module);
  return alike;
}

Result<std::size_t> ImageMatcher::image_of(CUfunction function, CUkernel kernel, const std::string& name) {
  Handles handles{nullptr, nullptr, function, kernel};
  if (driver_.cuFuncGetModule(&handles.module, function) != CUDA_SUCCESS) handles.module = nullptr;
  if (kernel != nullptr && driver_.cuKernelGetLibrary != nullptr &&
      driver_.cuKernelGetLibrary(&handles.library, kernel) != CUDA_SUCCESS)
    handles.library = nullptr;

  std::vector<std::size_t> candidates = with_kernel(name);
  if (candidates.empty())
    return machine_error(fmt::format("kernel {} is in no image that was seen being loaded", name));
  const auto certain = [&](std::size_t image) {
    if (handles.module != nullptr) known_.emplace(handles.module, image);
    return image;
  };
  if (const auto known = known_.find(handles.module);
      known != known_.end() && std::count(candidates.begin(), candidates.end(), known->second) != 0)
    return known->second;
  if (candidates.size() == 1) return certain(candidates.front());
  if (const auto found = by_handle(candidates, handles)) return certain(*found);

  // Another module's image is not this one's, and neither is one that was seen with another module's handle.
  const auto elsewhere = [&](std::size_t image) {
    for (const auto& [module, taken] : known_)
      if (taken == image && module != handles.module) return true;
    return handles.module != nullptr &&
           std::any_of(images_[image].handles.begin(), images_[image].handles.end(),
                       [&](const CollectedImage::Handle& handle) {
                         return handle.kind == Kind::kModule && handle.value != handles.module;
                       });
  };
  std::erase_if(candidates, elsewhere);
  if (candidates.size() > 1)
    std::erase_if(candidates, [&](std::size_t image) { return !looks_alike(image, function, name); });
  if (candidates.empty())
    return machine_error(fmt::format("kernel {} fits none of the images that hold it", name));
  if (candidates.size() == 1) return certain(candidates.front());

  SOLMARK_TRY(const Cubin* first, cubin(candidates.front()));
  const std::string digest = first->kernel_digest(name);
  for (const std::size_t image : candidates) {
    SOLMARK_TRY(const Cubin* other, cubin(image));
    if (other->kernel_digest(name) != digest)
      return machine_error(
          fmt::format("kernel {} is in {} images with different code that cannot be told apart", name,
                      candidates.size()));
  }
  return candidates.front();
}

}  // namespace solmark::seal

#endif
