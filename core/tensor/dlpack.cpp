// Exchange of tensors with other libraries, without a copy. What DLPack calls a device is known by its plugin alone.
#include <dlpack/dlpack.h>

#include <memory>

#include "boundary.hpp"
#include "loader.hpp"
#include "tenon/ext/draft/dlpack.h"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

DLDataType to_dl(tn_dtype dtype) {
  constexpr uint8_t kCodes[TN_DTYPE_COUNT] = {
      kDLBool,  kDLUInt,    kDLUInt,    kDLUInt,          kDLUInt,       kDLInt,
      kDLInt,   kDLInt,     kDLInt,     kDLFloat,         kDLBfloat,     kDLFloat,
      kDLFloat, kDLComplex, kDLComplex, kDLFloat8_e4m3fn, kDLFloat8_e5m2};
  return {kCodes[dtype], static_cast<uint8_t>(8 * dtype_size(dtype)), 1};
}

tn_dtype from_dl(DLDataType type) {
  if (type.lanes != 1) fail(TN_INVALID_ARGUMENT, "[from_dlpack] elements of {} lanes", type.lanes);
  for (tn_dtype dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype) {
    const DLDataType known = to_dl(dtype);
    if (known.code == type.code && known.bits == type.bits) return dtype;
  }
  fail(TN_INVALID_ARGUMENT, "[from_dlpack] no dtype for DLPack's type code {} of {} bits",
       type.code, type.bits);
}

// What the device's plugin says; NULL if it says nothing.
const tn_dlpack* offer_of(const tn_device& device) {
  const auto* offer = static_cast<const tn_dlpack*>(
      plugin_interface(device.type->plugin, to_str(TN_DLPACK_NAME), TN_DLPACK_REVISION));
  return offer != nullptr && to_view(offer->device_type) == device.type->name ? offer : nullptr;
}

// A device's name, of type 0 where it has none.
DLDevice to_dl(const tn_device& device) {
  if (device.is_host()) return {kDLCPU, 0};
  const tn_dlpack* offer = offer_of(device);
  if (offer == nullptr) return {};
  return {static_cast<DLDeviceType>(offer->kind), offer->device_id(offer->self, device.index)};
}

tn_device& from_dl(DLDevice wanted) {
  if (wanted.device_type == kDLCPU) return host_device();
  for (tn_device* device : devices())
    if (const DLDevice known = to_dl(*device);
        known.device_type == wanted.device_type && known.device_id == wanted.device_id)
      return *device;
  fail(TN_UNIMPLEMENTED,
       "[from_dlpack] no plugin has device {} of DLPack's type {}; copy to the host first",
       wanted.device_id, static_cast<int>(wanted.device_type));
}

// What an exported tensor keeps alive.
struct Export {
  DLManagedTensorVersioned managed{};
  Ref tensor;
  Dims shape, strides;
};

void release_export(DLManagedTensorVersioned* self) {
  const std::unique_ptr<Export> gone(static_cast<Export*>(self->manager_ctx));
  tn_device& device = *gone->tensor->device;
  // Others may have used the bytes on any of the device's queues.
  if (!device.is_host())
    defer(device, device.type->device.synchronize(device.type->self, device.index));
}

// Runs when the importing side's tensor dies.
void release_import(void* ctx) {
  auto* managed = static_cast<DLManagedTensorVersioned*>(ctx);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

std::span<const int64_t> sizes_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > TN_MAX_DIMS)
    fail(TN_INVALID_ARGUMENT, "[from_dlpack] {} dimensions; at most {} are possible", tensor.ndim,
         TN_MAX_DIMS);
  if (tensor.ndim > 0 && tensor.shape == nullptr)
    fail(TN_INVALID_ARGUMENT, "[from_dlpack] no shape");
  return {tensor.shape, static_cast<size_t>(tensor.ndim)};
}

tn_tensor* import(DLManagedTensorVersioned& managed) {
  if (managed.version.major != DLPACK_MAJOR_VERSION)
    fail(TN_INVALID_ARGUMENT, "[from_dlpack] DLPack {}.{}; version {} is understood",
         managed.version.major, managed.version.minor, DLPACK_MAJOR_VERSION);
  const DLTensor& from = managed.dl_tensor;
  tn_device& device = from_dl(from.device);
  const tn_dtype dtype = from_dl(from.dtype);
  const std::span<const int64_t> shape = sizes_of(from);
  if (from.byte_offset > INTPTR_MAX)
    fail(TN_INVALID_ARGUMENT, "[from_dlpack] byte {} is beyond what has addresses",
         from.byte_offset);
  char* data = from.data == nullptr ? nullptr : static_cast<char*>(from.data) + from.byte_offset;
  void* buffer = data;
  const tn_dlpack* offer = device.is_host() ? nullptr : offer_of(device);
  if (offer != nullptr && data != nullptr)
    check(offer->adopt(offer->self, device.index, data, &buffer));
  const bool read_only = (managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return make_wrapped("from_dlpack", device, {buffer, data}, dtype, shape,
                      strides_or_dense(shape, from.strides), release_import, &managed, read_only);
}

}  // namespace
}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_tensor_to_dlpack(tn_tensor* tensor, DLManagedTensorVersioned** out) {
  TN_REQUIRE(tensor, out);
  return guarded([&] {
    if (tensor->requires_grad())
      fail(TN_FAILED_PRECONDITION, "[to_dlpack] the tensor requires a gradient; detach it first");
    const DLDevice device = to_dl(*tensor->device);
    if (device.device_type == 0)
      fail(TN_UNIMPLEMENTED,
           "[to_dlpack] {} has no DLPack code, so other libraries cannot use its memory; copy to "
           "the host first, with cpu()",
           tensor->device->id);
    if (!has_elements(*tensor)) fail_released(*tensor);
    auto made = std::make_unique<Export>();
    made->tensor = Ref::share(tensor);
    made->shape = Dims(tensor->sizes());
    made->strides = Dims({tensor->strides(), tensor->ndim()});
    made->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    made->managed.flags = tensor->storage->read_only != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    made->managed.manager_ctx = made.get();
    made->managed.deleter = release_export;
    made->managed.dl_tensor = {tensor->view.data,
                               device,
                               static_cast<int32_t>(tensor->ndim()),
                               to_dl(tensor->dtype()),
                               made->shape.v,
                               made->strides.v,
                               0};
    *out = &made.release()->managed;
  });
}

tn_status* tn_tensor_from_dlpack(DLManagedTensorVersioned* managed, tn_tensor** out) {
  TN_REQUIRE(managed, out);
  return guarded([&] { *out = import(*managed); });
}
