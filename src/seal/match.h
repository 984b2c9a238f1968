// Which image a captured kernel's function came from. By the handles that were seen with an image where there
// are any; else by name, and by everything the driver tells about a function; images that remain alike for
// the kernel are interchangeable. What stays in doubt is an Error: a wrong guess would time another kernel.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cuda.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/driver.h"
#include "seal/cubin.h"
#include "seal/images.h"

namespace solmark::seal {

class ImageMatcher {
 public:
  ImageMatcher(const gpu::Driver& driver, std::vector<CollectedImage> images);

  // Index of the image; `kernel` is null for a function of a plain module.
  Result<std::size_t> image_of(CUfunction function, CUkernel kernel, const std::string& name);
  [[nodiscard]] const std::string& bytes(std::size_t image) const { return *images_[image].bytes; }
  Result<const Cubin*> cubin(std::size_t image);

 private:
  struct Handles {
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    CUfunction function = nullptr;
    CUkernel kernel = nullptr;
  };
  std::vector<std::size_t> with_kernel(const std::string& name);
  [[nodiscard]] std::optional<std::size_t> by_handle(const std::vector<std::size_t>& among,
                                                     const Handles& handles) const;
  // Loads an image once more and compares what the driver tells about the function.
  bool looks_alike(std::size_t image, CUfunction function, const std::string& name);

  const gpu::Driver& driver_;
  std::vector<CollectedImage> images_;
  std::vector<std::unique_ptr<Cubin>> cubins_;  // read when asked for
  std::map<CUmodule, std::size_t> known_;       // modules whose image is certain
};

}  // namespace solmark::seal

#endif
