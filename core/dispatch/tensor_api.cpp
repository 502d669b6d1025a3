// The C functions of tensor.h and reinterpret.h.
#include "boundary.hpp"
#include "dispatch/call.hpp"
#include "tenon/reinterpret.h"
#include "tensor/tensor.hpp"

using namespace tenon::core;

namespace {

std::span<const int64_t> shape_span(uint32_t ndim, const int64_t* shape) {
  if (ndim > 0 && shape == nullptr) fail(TN_INVALID_ARGUMENT, "no shape for {} dimensions", ndim);
  return {shape, ndim};
}

void check_bytes(const tn_tensor& tensor, uint64_t bytes, const void* data) {
  const uint64_t wanted = bytes_of(tensor);
  if (bytes != wanted)
    fail(TN_INVALID_ARGUMENT, "{} bytes given, {} has {}", bytes, describe(tensor), wanted);
  if (data == nullptr && wanted != 0) fail(TN_INVALID_ARGUMENT, "no host memory given");
}

// A row-major view of host bytes with the tensor's shape.
tn_view host_view(const tn_tensor& tensor, const Dims& strides, void* data) {
  tn_view view = tensor.view;
  view.data = view.buffer = data;
  view.strides = strides.v;
  return view;
}

void read_tensor(const tn_tensor& tensor, void* data, uint64_t bytes) {
  check_bytes(tensor, bytes, data);
  if (bytes == 0) return;
  if (!has_elements(tensor)) fail_released(tensor);
  tn_device& device = *tensor.device;
  if (device.addressable) {
    check(tn_device_synchronize(&device));
    Dims strides = contiguous_strides(tensor.sizes());
    copy_strided_host(tensor.view, host_view(tensor, strides, data));
    return;
  }
  Ref dense = make_contiguous(tensor);
  copy_bytes(host_device(), data, 0, device, dense->view.buffer,
             static_cast<uint64_t>(dense->view.offset), bytes);
}

}  // namespace

tn_tensor* tn_tensor_retain(tn_tensor* tensor) {
  if (tensor != nullptr) retain(tensor);
  return tensor;
}

void tn_tensor_release(tn_tensor* tensor) { release(tensor); }

tn_status* tn_tensor_empty(tn_dtype dtype, uint32_t ndim, const int64_t* shape, tn_device* device,
                           tn_tensor** out) {
  TN_REQUIRE(out);
  return guarded([&] {
    *out = make_tensor(dtype, shape_span(ndim, shape), device ? *device : host_device());
  });
}

tn_status* tn_tensor_from_host(const void* data, uint64_t bytes, tn_dtype dtype, uint32_t ndim,
                               const int64_t* shape, tn_device* device, tn_tensor** out) {
  TN_REQUIRE(out);
  return guarded([&] {
    Ref tensor(make_tensor(dtype, shape_span(ndim, shape), device ? *device : host_device()));
    check_bytes(*tensor, bytes, data);
    std::vector<uint8_t> bools;
    if (dtype == TN_DTYPE_BOOL && bytes != 0) {
      bools = to_bools(data, bytes);
      data = bools.data();
    }
    if (bytes != 0)
      copy_bytes(*tensor->device, tensor->view.buffer, 0, host_device(), const_cast<void*>(data), 0,
                 bytes);
    *out = tensor.take();
  });
}

tn_status* tn_tensor_wrap_host(void* data, tn_dtype dtype, uint32_t ndim, const int64_t* shape,
                               const int64_t* strides, void (*release)(void* ctx), void* ctx,
                               tn_tensor** out) {
  TN_REQUIRE(out);
  return guarded([&] {
    auto sizes = shape_span(ndim, shape);
    *out = make_wrapped("tn_tensor_wrap_host", host_device(), {data, data}, dtype, sizes,
                        strides_or_dense(sizes, strides), release, ctx, false);
  });
}

tn_status* tn_tensor_reinterpret(const tn_tensor* tensor, tn_dtype dtype, uint32_t ndim,
                                 const int64_t* shape, const int64_t* strides, int64_t offset,
                                 tn_tensor** out) {
  TN_REQUIRE(tensor, out);
  return guarded([&] {
    auto sizes = shape_span(ndim, shape);
    *out = reinterpret(*tensor, dtype, sizes, strides_or_dense(sizes, strides), offset);
  });
}

tn_status* tn_tensor_to_host(const tn_tensor* tensor, void* data, uint64_t bytes) {
  TN_REQUIRE(tensor);
  return guarded([&] { read_tensor(*tensor, data, bytes); });
}

// These return no status: for NULL they return 0, NULL or an unknown dtype.
static constinit const tn_tensor kNone{};
static const tn_tensor& or_none(const tn_tensor* tensor) { return tensor ? *tensor : kNone; }

tn_dtype tn_tensor_dtype(const tn_tensor* x) { return x ? x->dtype() : UINT32_MAX; }
uint32_t tn_tensor_ndim(const tn_tensor* tensor) { return or_none(tensor).ndim(); }
const int64_t* tn_tensor_shape(const tn_tensor* tensor) { return or_none(tensor).shape(); }
const int64_t* tn_tensor_strides(const tn_tensor* tensor) { return or_none(tensor).strides(); }
int64_t tn_tensor_numel(const tn_tensor* tensor) { return or_none(tensor).numel; }
tn_device* tn_tensor_device(const tn_tensor* tensor) { return or_none(tensor).device; }
void* tn_tensor_data(const tn_tensor* tensor) {
  return tensor && tensor->device->addressable ? tensor->view.data : nullptr;
}
uint32_t tn_tensor_is_contiguous(const tn_tensor* tensor) { return or_none(tensor).contiguous(); }
uint32_t tn_tensor_shares_storage(const tn_tensor* a, const tn_tensor* b) {
  return a && b && a->storage == b->storage;
}
uint32_t tn_tensor_version(const tn_tensor* tensor) {
  return tensor ? tensor->storage->version.load(std::memory_order_relaxed) : 0;
}
const tn_view* tn_tensor_view(const tn_tensor* x) { return x ? &x->view : nullptr; }
