#include "worker/native_host.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "problem/dtype.h"
#include "worker/scalar_bytes.h"

namespace solmark::worker {
namespace {

DLDataType dl_dtype(problem::Dtype dtype) {
  using problem::Dtype;
  auto make = [](DLDataTypeCode code, int bits, int lanes = 1) {
    return DLDataType{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits),
                      static_cast<std::uint16_t>(lanes)};
  };
  switch (dtype) {
    case Dtype::kFloat64:
      return make(kDLFloat, 64);
    case Dtype::kFloat32:
      return make(kDLFloat, 32);
    case Dtype::kFloat16:
      return make(kDLFloat, 16);
    case Dtype::kBfloat16:
      return make(kDLBfloat, 16);
    case Dtype::kFloat8E4m3fn:
      return make(kDLFloat8_e4m3fn, 8);
    case Dtype::kFloat8E5m2:
      return make(kDLFloat8_e5m2, 8);
    case Dtype::kFloat4E2m1:
    case Dtype::kFloat4E2m1x2:
      return make(kDLFloat4_e2m1fn, 4, 2);
    case Dtype::kInt64:
      return make(kDLInt, 64);
    case Dtype::kInt32:
      return make(kDLInt, 32);
    case Dtype::kInt16:
      return make(kDLInt, 16);
    case Dtype::kInt8:
      return make(kDLInt, 8);
    case Dtype::kUint8:
      return make(kDLUInt, 8);
    case Dtype::kBool:
      return make(kDLBool, 8);
  }
  return {};
}

void write_error(const std::string& text, char* error, std::size_t size) {
  if (size == 0) return;
  std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(error, text.data(), length);
  error[length] = '\0';
}

int finish(const Status& status, char* error, std::size_t size) {
  if (status.ok()) return SOLMARK_CALL_OK;
  write_error(status.error().text(), error, size);
  return SOLMARK_CALL_FAILED;
}

}  // namespace

solmark_host_hooks NativeHost::hooks() {
  solmark_host_hooks out{};
  out.self = this;
  out.load = [](void* self, const char* request, char* error, std::size_t size) {
    return finish(static_cast<NativeHost*>(self)->load(request), error, size);
  };
  out.bind = [](void* self, const char* request, char* error, std::size_t size) {
    return finish(static_cast<NativeHost*>(self)->bind(request), error, size);
  };
  out.call = [](void* self, std::int64_t slot, void* stream, int, char* error, std::size_t size) {
    std::string text;
    int result = static_cast<NativeHost*>(self)->call(slot, stream, text);
    if (result != SOLMARK_CALL_OK) write_error(text, error, size);
    return result;
  };
  return out;
}

Status NativeHost::load(const std::string& request) {
  SOLMARK_TRY(Json body, parse_json(request, "load request", kPythonJson));
  const Json& artefact = body["artefact"];
  std::string path = artefact["path"].get<std::string>();
  std::string entry = artefact["entry"].get<std::string>();
  if (artefact["kind"] != "shared_object") {
    return machine_error("the native worker loads shared objects, not a " + artefact["kind"].dump());
  }
  if (!artefact["destination_passing"].get<bool>()) {
    return machine_error("a dlpack candidate writes into its outputs",
                         "set destination_passing_style to true");
  }
  std::string device = body["device"].get<std::string>();
  if (device.starts_with("cuda")) device_ = {kDLCUDA, device.size() > 5 ? std::stoi(device.substr(5)) : 0};
  // Static initialisers of the candidate run here, and may throw.
  void* object = nullptr;
  try {
    object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (const std::exception& thrown) {
    return machine_error(fmt::format("an initialiser threw: {}", thrown.what()));
  }
  if (object == nullptr) return machine_error(dlerror());
  void* symbol = dlsym(object, entry.c_str());
  if (symbol == nullptr) {
    return machine_error(fmt::format("the candidate exports no function `{}`", entry),
                         "declare it extern \"C\"");
  }
  entry_ = reinterpret_cast<solmark_entry>(symbol);
  return success();
}

Result<std::unique_ptr<NativeHost::Layout>> NativeHost::layout(const Json& tensor,
                                                               const Json& regions) const {
  auto out = std::make_unique<Layout>();
  auto dtype = problem::dtype_from_name(tensor["dtype"].get<std::string>());
  if (!dtype) return machine_error("unknown dtype");
  out->dtype = dl_dtype(*dtype);
  if (auto scalar = tensor.find("scalar"); scalar != tensor.end()) {
    std::variant<std::int64_t, double, bool> value = 0.0;
    if (scalar->is_boolean()) {
      value = scalar->get<bool>();
    } else if (scalar->is_number_integer()) {
      value = scalar->get<std::int64_t>();
    } else {
      value = scalar->get<double>();
    }
    auto bytes = scalar_bytes(*dtype, value);
    if (!bytes) {
      return machine_error(fmt::format("scalar `{}` with the value {} is no {}",
                                       tensor["name"].get<std::string>(), scalar->dump(),
                                       problem::dtype_name(*dtype)));
    }
    out->is_scalar = true;
    out->scalar = *bytes;
    return out;
  }
  out->shape = tensor["shape"].get<std::vector<std::int64_t>>();
  out->strides.assign(out->shape.size(), 1);
  for (std::size_t i = out->shape.size(); i-- > 1;) {
    out->strides[i - 1] = out->strides[i] * std::max<std::int64_t>(out->shape[i], 1);
  }
  std::uint64_t mapped = regions[tensor["region"].get<std::size_t>()]["mapped"].get<std::uint64_t>();
  out->first = mapped + tensor["offset"].get<std::uint64_t>();
  out->slot_stride = tensor["slot_stride"].get<std::uint64_t>();
  return out;
}

Status NativeHost::bind(const std::string& request) {
  SOLMARK_TRY(Json body, parse_json(request, "bind request", kPythonJson));
  std::vector<std::unique_ptr<Layout>> inputs;
  std::vector<std::unique_ptr<Layout>> outputs;
  for (const Json& tensor : body["inputs"]) {
    SOLMARK_TRY(auto made, layout(tensor, body["regions"]));
    inputs.push_back(std::move(made));
  }
  for (const Json& tensor : body["outputs"]) {
    SOLMARK_TRY(auto made, layout(tensor, body["regions"]));
    outputs.push_back(std::move(made));
  }
  std::vector<Slot> slots(body["slots"].get<std::size_t>());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    Slot& slot = slots[s];
    slot.tensors.reserve(inputs.size() + outputs.size());  // pointers into it stay valid
    auto add = [&](Layout& from) {
      DLTensor tensor{};
      tensor.data = from.is_scalar ? static_cast<void*>(from.scalar.data())
                                   : reinterpret_cast<void*>(from.first + s * from.slot_stride);
      tensor.device = from.is_scalar ? DLDevice{kDLCPU, 0} : device_;
      tensor.ndim = static_cast<std::int32_t>(from.shape.size());
      tensor.dtype = from.dtype;
      tensor.shape = from.shape.data();
      tensor.strides = from.strides.data();
      slot.tensors.push_back(tensor);
      return &slot.tensors.back();
    };
    for (auto& input : inputs) slot.inputs.push_back(add(*input));
    for (auto& output : outputs) slot.outputs.push_back(add(*output));
  }
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  slots_ = std::move(slots);
  return success();
}

int NativeHost::call(std::int64_t index, void* stream, std::string& error) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  solmark_call call{};
  call.size = sizeof call;
  call.version = SOLMARK_CALL_VERSION;
  call.input_count = static_cast<std::int32_t>(slot.inputs.size());
  call.output_count = static_cast<std::int32_t>(slot.outputs.size());
  call.device = device_;
  call.stream = stream;
  try {
    int result = entry_(slot.inputs.data(), slot.outputs.data(), &call);
    if (result == 0) return SOLMARK_CALL_OK;
    error = fmt::format("entry returned {}", result);
  } catch (const std::exception& thrown) {
    error = fmt::format("entry threw: {}", thrown.what());
  } catch (...) {
    error = "entry threw something that is no std::exception";
  }
  return SOLMARK_CALL_FAILED;
}

}  // namespace solmark::worker
