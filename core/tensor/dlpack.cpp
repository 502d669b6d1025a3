// Exchange of host tensors with other libraries, without a copy.
#include <dlpack/dlpack.h>

#include <memory>

#include "boundary.hpp"
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

// What an exported tensor keeps alive.
struct Export {
  DLManagedTensorVersioned managed{};
  Ref tensor;
  Dims shape, strides;
};

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
  if (from.device.device_type != kDLCPU)
    fail(TN_UNIMPLEMENTED,
         "[from_dlpack] device type {}: only host memory can be imported; copy to the host first",
         static_cast<int>(from.device.device_type));
  const tn_dtype dtype = from_dl(from.dtype);
  const std::span<const int64_t> shape = sizes_of(from);
  const Dims dense = contiguous_strides(shape);
  const std::span<const int64_t> strides = from.strides == nullptr
                                               ? std::span<const int64_t>(dense)
                                               : std::span(from.strides, shape.size());
  char* data = from.data == nullptr ? nullptr : static_cast<char*>(from.data) + from.byte_offset;
  const bool read_only = (managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return make_wrapped("from_dlpack", data, dtype, shape, strides, release_import, &managed,
                      read_only);
}

}  // namespace
}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_tensor_to_dlpack(tn_tensor* tensor, DLManagedTensorVersioned** out) {
  TN_REQUIRE(tensor, out);
  return guarded([&] {
    if (tensor->requires_grad())
      fail(TN_FAILED_PRECONDITION, "[to_dlpack] the tensor requires a gradient; detach it first");
    // Other devices' codes are unknown here, because the core names no backend.
    if (!tensor->device->is_host())
      fail(TN_UNIMPLEMENTED, "[to_dlpack] {} has no DLPack code; copy to the host first",
           tensor->device->id);
    if (!has_elements(*tensor)) fail_released(*tensor);
    auto made = std::make_unique<Export>();
    made->shape = Dims(tensor->sizes());
    made->strides = Dims({tensor->strides(), tensor->ndim()});
    made->tensor = Ref::share(tensor);
    made->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    made->managed.flags = tensor->storage->read_only != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    made->managed.manager_ctx = made.get();
    made->managed.deleter = [](DLManagedTensorVersioned* self) {
      delete static_cast<Export*>(self->manager_ctx);
    };
    made->managed.dl_tensor = {tensor->view.data,
                               {kDLCPU, 0},
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
