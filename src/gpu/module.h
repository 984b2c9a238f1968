// A loaded GPU image (cubin, fat binary or PTX) and launching its kernels by name.
#pragma once

#if SOLMARK_HAVE_CUDA

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "gpu/context.h"

namespace solmark::gpu {

// The images compiled into this program.
std::span<const unsigned char> compare_image();
std::span<const unsigned char> memory_image();
std::span<const unsigned char> floor_image();  // solmark_empty(), solmark_load_store(const float*, float*)

struct Grid {
  Grid(unsigned blocks) : x(blocks) {}  // NOLINT(google-explicit-constructor): most grids are lines
  Grid(unsigned x_blocks, unsigned y_blocks) : x(x_blocks), y(y_blocks) {}
  unsigned x;
  unsigned y = 1;
};

class Module {
 public:
  // `context` must outlive the module and be current.
  static Result<Module> load(const Context& context, std::span<const unsigned char> image,
                             const std::string& name);
  Module(Module&& other) noexcept;
  Module& operator=(Module&&) = delete;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  Result<CUfunction> function(const std::string& name);
  // On the context's stream; `parameters` as for cuLaunchKernel.
  Status launch(const std::string& name, Grid grid, unsigned block, void** parameters);

 private:
  Module(const Context& context, CUmodule module, std::string name)
      : context_(&context), module_(module), name_(std::move(name)) {}
  const Context* context_;
  CUmodule module_;  // null: moved from
  std::string name_;
  std::map<std::string, CUfunction> functions_;
};

}  // namespace solmark::gpu

#endif
