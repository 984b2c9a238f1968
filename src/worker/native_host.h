// The host for shared objects with the dlpack binding: loads the object, keeps one list of DLTensors a slot,
// calls the entry.
#pragma once

#include <solmark/call.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "worker/host.h"

namespace solmark::worker {

class NativeHost {
 public:
  NativeHost() = default;
  ~NativeHost() = default;
  NativeHost(const NativeHost&) = delete;
  NativeHost& operator=(const NativeHost&) = delete;
  // Hooks with this object as `self`.
  solmark_host_hooks hooks();

 private:
  // Shapes and strides of one tensor; the same in every slot.
  struct Layout {
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    std::array<std::byte, 8> scalar{};
    bool is_scalar = false;
    DLDataType dtype{};
    std::uint64_t first = 0;  // address in slot 0
    std::uint64_t slot_stride = 0;
  };
  struct Slot {
    std::vector<DLTensor> tensors;
    std::vector<const DLTensor*> inputs;
    std::vector<DLTensor*> outputs;
  };
  Status load(const std::string& request);
  Status bind(const std::string& request);
  int call(std::int64_t slot, void* stream, std::string& error);
  Result<std::unique_ptr<Layout>> layout(const Json& tensor, const Json& regions) const;

  solmark_entry entry_ = nullptr;
  DLDevice device_{kDLCPU, 0};
  std::vector<std::unique_ptr<Layout>> inputs_;
  std::vector<std::unique_ptr<Layout>> outputs_;
  std::vector<Slot> slots_;
};

}  // namespace solmark::worker
