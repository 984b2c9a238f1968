// The CUPTI side of the image collector.
#include "seal/images.h"

#if SOLMARK_HAVE_CUDA

#include <cuda.h>
#include <cupti.h>

#include <array>

#include "gpu/cupti.h"

namespace solmark::seal {
namespace {

using Handle = CollectedImage::Handle;
using Kind = CollectedImage::HandleKind;

constexpr std::array kWatched{
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction,
    CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction,
    CUPTI_DRIVER_TRACE_CBID_cuFuncLoad,
    CUPTI_DRIVER_TRACE_CBID_cuFuncSetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuKernelSetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

template <class Parameters>
const Parameters& as(const CUpti_CallbackData& call) {
  return *static_cast<const Parameters*>(call.functionParams);
}
template <class Value>
const void* made(const Value* place) {
  return place == nullptr ? nullptr : static_cast<const void*>(*place);
}

// The handle that a finished call is about.
Handle handle_of(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
      return {Kind::kModule, made(as<cuModuleLoad_params>(call).module)};
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
      return {Kind::kModule, made(as<cuModuleLoadData_params>(call).module)};
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
      return {Kind::kModule, made(as<cuModuleLoadDataEx_params>(call).module)};
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:
      return {Kind::kModule, made(as<cuModuleLoadFatBinary_params>(call).module)};
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData:
      return {Kind::kLibrary, made(as<cuLibraryLoadData_params>(call).library)};
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile:
      return {Kind::kLibrary, made(as<cuLibraryLoadFromFile_params>(call).library)};
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule:
      return {Kind::kModule, made(as<cuLibraryGetModule_params>(call).pMod)};
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction:
      return {Kind::kFunction, as<cuKernelGetFunction_params>(call).kernel};
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction:
      return {Kind::kModule, as<cuModuleGetFunction_params>(call).hmod};
    case CUPTI_DRIVER_TRACE_CBID_cuFuncLoad:
      return {Kind::kFunction, as<cuFuncLoad_params>(call).function};
    case CUPTI_DRIVER_TRACE_CBID_cuFuncSetAttribute:
      return {Kind::kFunction, as<cuFuncSetAttribute_params>(call).hfunc};
    case CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute:
      return {Kind::kFunction, as<cuFuncGetAttribute_params>(call).hfunc};
    case CUPTI_DRIVER_TRACE_CBID_cuKernelSetAttribute:
      return {Kind::kFunction, as<cuKernelSetAttribute_params>(call).kernel};
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute:
      return {Kind::kFunction, as<cuKernelGetAttribute_params>(call).kernel};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return {Kind::kFunction, as<cuLaunchKernel_params>(call).f};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return {Kind::kFunction, as<cuLaunchKernelEx_params>(call).f};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return {Kind::kFunction, as<cuLaunchCooperativeKernel_params>(call).f};
    default:
      return {};
  }
}

void CUPTIAPI on_event(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  auto& collector = *static_cast<ImageCollector*>(self);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    if (id != CUPTI_CBID_RESOURCE_MODULE_LOADED && id != CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) return;
    const auto* module = static_cast<const CUpti_ModuleResourceData*>(
        static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) {
      collector.unloaded(module->moduleId);
    } else if (module->pCubin != nullptr) {
      collector.loaded(module->moduleId, std::string(module->pCubin, module->cubinSize));
    }
    return;
  }
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    collector.entered();
  } else {
    const auto* result = static_cast<const CUresult*>(call.functionReturnValue);
    const bool worked = result != nullptr && *result == CUDA_SUCCESS;
    collector.left(worked ? handle_of(id, call) : Handle{});
  }
}

// Set once by start().
const gpu::Cupti* collector_cupti = nullptr;
CUpti_SubscriberHandle subscriber = nullptr;

}  // namespace

Status ImageCollector::start(const std::vector<std::string>& directories) {
  if (collector_cupti != nullptr) return success();
  SOLMARK_TRY(const gpu::Cupti* cupti, gpu::cupti(directories));
  SOLMARK_CHECK_OK(cupti->check(cupti->cuptiSubscribe(&subscriber, &on_event, this), "subscribing to CUPTI"));
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING})
    SOLMARK_CHECK_OK(cupti->check(cupti->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id),
                                  "asking CUPTI for loaded modules"));
  collector_cupti = cupti;
  return success();
}

Status ImageCollector::watch_calls(bool on) {
  if (collector_cupti == nullptr) return success();
  for (const auto id : kWatched) {
    const Status status = collector_cupti->check(
        collector_cupti->cuptiEnableCallback(on ? 1U : 0U, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id),
        "asking CUPTI for driver calls");
    if (!status.ok() && on) return status;
  }
  return success();
}

}  // namespace solmark::seal

#endif
