#include "oracle/requests.h"

#include <nlohmann/json.hpp>

#include "device/window.h"

namespace solmark::oracle {
namespace {

Json dtype_json(problem::Dtype dtype) { return std::string(problem::dtype_name(dtype)); }

Json source_json(const problem::InputSource& source, const std::filesystem::path* blob) {
  struct Visitor {
    const std::filesystem::path* blob;
    Json operator()(const problem::RandomInput&) const { return {{"type", "random"}}; }
    Json operator()(const problem::CustomInput&) const { return {{"type", "custom"}}; }
    Json operator()(const problem::ScalarInput& input) const {
      Json value = std::visit([](auto v) { return Json(v); }, input.value);
      return {{"type", "scalar"}, {"value", std::move(value)}};
    }
    Json operator()(const problem::SafetensorsInput& input) const {
      return {{"type", "safetensors"},
              {"path", blob == nullptr ? input.path : blob->string()},
              {"key", input.tensor_key}};
    }
  };
  return std::visit(Visitor{blob}, source);
}

}  // namespace

Json load_request(const problem::Definition& definition, const std::string& device) {
  Json inputs = Json::array();
  for (const auto& input : definition.inputs) {
    inputs.push_back({{"name", input.name},
                      {"dtype", dtype_json(input.dtype)},
                      {"scalar", input.is_scalar()},
                      {"description", input.description}});
  }
  Json outputs = Json::array();
  for (const auto& output : definition.outputs) {
    outputs.push_back({{"name", output.name}, {"dtype", dtype_json(output.dtype)}});
  }
  return {{"type", "load"},
          {"reference", definition.reference},
          {"definition_name", definition.name},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"custom_inputs_entrypoint", definition.custom_inputs_entrypoint},
          {"op_type", definition.op_type},
          {"device", device},
          {"window", {{"base", device::kWindowBase}, {"bytes", device::kWindowBytes}}}};
}

Json workload_request(const problem::Definition& definition, const problem::Workload& workload,
                      const problem::AxisValues& axes, const device::Layout& inputs,
                      const device::Layout& outputs,
                      const std::map<std::string, std::filesystem::path>& blobs, const Json* scalars) {
  Json axes_json = Json::object();
  for (const auto& [name, value] : axes) axes_json[name] = value;
  Json inputs_json = Json::array();
  for (std::size_t i = 0; i < definition.inputs.size(); ++i) {
    const auto& place = inputs.tensors[i];
    auto source = workload.inputs.find(place.name);
    auto blob = blobs.find(place.name);
    inputs_json.push_back(
        {{"name", place.name},
         {"dtype", dtype_json(place.dtype)},
         {"shape", place.is_scalar ? Json(nullptr) : Json(place.shape)},
         {"source", source_json(source == workload.inputs.end() ? problem::InputSource(problem::RandomInput{})
                                                                : source->second,
                                blob == blobs.end() ? nullptr : &blob->second)}});
  }
  Json outputs_json = Json::array();
  for (const auto& place : outputs.tensors) {
    outputs_json.push_back(
        {{"name", place.name}, {"dtype", dtype_json(place.dtype)}, {"shape", place.shape}});
  }
  Json body{{"type", "workload"},
            {"axes", std::move(axes_json)},
            {"inputs", std::move(inputs_json)},
            {"outputs", std::move(outputs_json)}};
  if (scalars != nullptr) body["scalars"] = *scalars;
  return body;
}

}  // namespace solmark::oracle
