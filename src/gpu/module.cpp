#include "gpu/module.h"

#if SOLMARK_HAVE_CUDA

#include <fmt/format.h>

#include <utility>

// Written by the build from kernels/*.cu.
extern const unsigned char solmark_image_compare[];
extern const std::size_t solmark_image_compare_size;
extern const unsigned char solmark_image_memory[];
extern const std::size_t solmark_image_memory_size;
extern const unsigned char solmark_image_floor[];
extern const std::size_t solmark_image_floor_size;

namespace solmark::gpu {

std::span<const unsigned char> compare_image() { return {solmark_image_compare, solmark_image_compare_size}; }
std::span<const unsigned char> memory_image() { return {solmark_image_memory, solmark_image_memory_size}; }
std::span<const unsigned char> floor_image() { return {solmark_image_floor, solmark_image_floor_size}; }

Result<Module> Module::load(const Context& context, std::span<const unsigned char> image,
                            const std::string& name) {
  CUmodule module = nullptr;
  SOLMARK_CHECK_OK(context.driver().check(context.driver().cuModuleLoadData(&module, image.data()),
                                          fmt::format("loading the {} kernels", name)));
  return Module(context, module, name);
}

Module::Module(Module&& other) noexcept
    : context_(other.context_),
      module_(std::exchange(other.module_, nullptr)),
      name_(std::move(other.name_)),
      functions_(std::move(other.functions_)) {}

Module::~Module() {
  if (module_ != nullptr) (void)context_->driver().cuModuleUnload(module_);
}

Result<CUfunction> Module::function(const std::string& name) {
  if (auto known = functions_.find(name); known != functions_.end()) return known->second;
  CUfunction function = nullptr;
  SOLMARK_CHECK_OK(
      context_->driver().check(context_->driver().cuModuleGetFunction(&function, module_, name.c_str()),
                               fmt::format("finding {} in the {} kernels", name, name_)));
  functions_[name] = function;
  return function;
}

Status Module::launch(const std::string& name, Grid grid, unsigned block, void** parameters) {
  SOLMARK_TRY(CUfunction kernel, function(name));
  return context_->driver().check(context_->driver().cuLaunchKernel(kernel, grid.x, grid.y, 1, block, 1, 1, 0,
                                                                    context_->stream(), parameters, nullptr),
                                  fmt::format("launching {}", name));
}

}  // namespace solmark::gpu

#endif
