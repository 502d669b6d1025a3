// The backend of golden.c in C++, through the sugar of plugin.hpp: exceptions inside, statuses outside.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "tenon/plugin.hpp"

#ifndef NAME
#define NAME "golden_cpp"
#endif

namespace {

namespace sdk = tenon::sdk;
using sdk::Call;
using sdk::Status;
using sdk::str_of;

// ---- Devices and memory

const tn_device_table kDevices = {
    sizeof(tn_device_table), 0,
    [](void*, uint32_t* devices, tn_str*) -> Status { return *devices = 1, nullptr; },
    [](void*, uint32_t, tn_device_info* out) -> Status {
      out->kind = TN_DEVICE_KIND_OTHER;
      out->name = str_of("Golden device");
      out->memory_total = out->memory_free = uint64_t{1} << 30;
      out->compute_units = out->subgroup_size = 1;
      out->dtypes = TN_MASK_ALL;
      return nullptr;
    },
    [](void*, uint32_t) -> Status { return nullptr; }};

tn_memory_table make_memory() {
  tn_memory_table table{};
  table.struct_size = sizeof table;
  table.allocate = [](void*, uint32_t, uint64_t bytes, void** buffer, void** address) -> Status {
    return sdk::guard(
        [&] { *buffer = *address = ::operator new (bytes, std::align_val_t{64}); });  // may throw
  };
  table.free = [](void*, uint32_t, void* buffer) {
    ::operator delete (buffer, std::align_val_t{64});
  };
  table.copy_in = [](void*, uint32_t, void*, const void* src, void* buffer, uint64_t offset,
                     uint64_t bytes) -> Status {
    return std::memcpy(static_cast<char*>(buffer) + offset, src, bytes), nullptr;
  };
  table.copy_out = [](void*, uint32_t, void*, void* buffer, uint64_t offset, void* dst,
                      uint64_t bytes) -> Status {
    return std::memcpy(dst, static_cast<char*>(buffer) + offset, bytes), nullptr;
  };
  table.copy_within = [](void*, uint32_t, void*, void* src, uint64_t src_offset, void* dst,
                         uint64_t dst_offset, uint64_t bytes) -> Status {
    std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<char*>(src) + src_offset, bytes);
    return nullptr;
  };
  table.fill = [](void*, uint32_t, void*, void* buffer, uint64_t offset, uint64_t bytes,
                  const void* pattern, uint32_t size) -> Status {
    for (uint64_t i = 0; i < bytes; i += size)
      std::memcpy(static_cast<char*>(buffer) + offset + i, pattern, size);
    return nullptr;
  };
  return table;
}
const tn_memory_table kMemory = make_memory();

// ---- Streams: work is done when it is enqueued, so an event is a time.

using Clock = std::chrono::steady_clock;

Status make_time(void*, uint32_t, void** made) {
  return sdk::guard([&] { *made = new Clock::time_point(); });
}
void free_time(void*, void* made) { delete static_cast<Clock::time_point*>(made); }

tn_stream_table make_streams() {
  tn_stream_table table{};
  table.struct_size = sizeof table;
  table.create = table.event_create = make_time;
  table.destroy = table.event_destroy = free_time;
  table.synchronize = table.event_synchronize = [](void*, void*) -> Status { return nullptr; };
  table.event_record = [](void*, void* event, void*) -> Status {
    return *static_cast<Clock::time_point*>(event) = Clock::now(), nullptr;
  };
  table.event_wait = [](void*, void*, void*) -> Status { return nullptr; };
  table.event_query = [](void*, void*, uint32_t* done) -> Status { return *done = 1, nullptr; };
  table.event_elapsed = [](void*, void* start, void* end, double* seconds) -> Status {
    const auto time = [](void* event) { return *static_cast<Clock::time_point*>(event); };
    return *seconds = std::chrono::duration<double>(time(end) - time(start)).count(), nullptr;
  };
  return table;
}
const tn_stream_table kStreams = make_streams();

// ---- Kernels

template <class T>
void add(const Call& call) {
  sdk::map<T, T, T>(call, [](T x, T y) { return x + y; });
}
template <class T>
void mul(const Call& call) {
  sdk::map<T, T, T>(call, [](T x, T y) { return x * y; });
}
template <class T>
void matmul(const Call& call) {
  const int64_t n = call.in(0).shape[0], k = call.in(0).shape[1], m = call.in(1).shape[1];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += sdk::at<T>(call.in(0), i, l) * sdk::at<T>(call.in(1), l, j);
      sdk::at<T>(call.out(), i, j) = sum;
    }
}

Status has_elements(void*, const tn_call* call, uint32_t* yes) {
  return *yes = sdk::numel(*call->outs[0]) != 0, nullptr;
}
Status has_matrices(void*, const tn_call* call, uint32_t* yes) {
  return *yes = call->args[0].as.view->ndim == 2 && call->args[1].as.view->ndim == 2, nullptr;
}
tn_kernel with(tn_kernel kernel, decltype(tn_kernel::supports) supports) {
  kernel.supports = supports;
  return kernel;
}

template <class T>
void add_kernels(sdk::Registry& registry) {
  constexpr uint64_t kMask = TN_MASK(sdk::dtype_of<T>);
  registry.kernels(
      NAME, {with(sdk::make_kernel<add<T>>("add(Tensor x, Tensor y) -> Tensor @1", kMask, 0,
                                           TN_KERNEL_STRIDED),
                  has_elements),
             with(sdk::make_kernel<mul<T>>("mul(Tensor x, Tensor y) -> Tensor @1", kMask, 0,
                                           TN_KERNEL_STRIDED),
                  has_elements),
             with(sdk::make_kernel<matmul<T>>("matmul(Tensor x, Tensor y) -> Tensor @1", kMask),
                  has_matrices)});
}

// ---- A new op: blend(x, y) = x + y²; a shape rule that can refuse.

struct Release {
  void operator()(tn_tensor* tensor) const { sdk::host()->tensor_release(tensor); }
};
using Owned = std::unique_ptr<tn_tensor, Release>;

Owned call_op(const char* name, tn_tensor* x, tn_tensor* y) {
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_TENSOR, 0, {}}};
  args[0].as.tensor = x;
  args[1].as.tensor = y;
  tn_tensor* out = nullptr;
  sdk::check(sdk::host()->op_call(sdk::host()->op_find(str_of(name)), args, 2, &out, 1));
  return Owned(out);
}

tn_op_def make_blend() {
  tn_op_def def{};
  def.struct_size = sizeof def;
  def.schema = str_of(NAME ".blend(Tensor x, Tensor y) -> Tensor @1");
  def.infer = [](void*, const tn_value* args, uint32_t, tn_result* const* results,
                 uint32_t) -> Status {
    return sdk::guard([&] {
      const tn_view& x = *args[0].as.view;
      if (x.ndim != 1) sdk::fail(TN_INVALID_ARGUMENT, "blend takes vectors");
      results[0]->dtype = x.dtype;
      results[0]->ndim = 1;
      results[0]->shape[0] = x.shape[0];
    });
  };
  def.decompose = [](void*, const tn_value* args, uint32_t, tn_tensor** outs, uint32_t) -> Status {
    return sdk::guard([&] {
      const Owned square = call_op("mul", args[1].as.tensor, args[1].as.tensor);
      outs[0] = call_op("add", args[0].as.tensor, square.get()).release();
    });
  };
  def.gradient = [](void*, tn_grad_call* call) -> Status {
    return sdk::guard([&] {
      const tn_host& host = *sdk::host();
      tn_tensor* grad = host.grad_output(call, 0);
      tn_tensor* y = host.grad_saved_input(call, 1);
      if (host.grad_needed(call, 0) != 0) sdk::check(host.grad_set(call, 0, grad));
      if (host.grad_needed(call, 1) == 0) return;
      const Owned twice = call_op("add", y, y);
      sdk::check(host.grad_set(call, 1, call_op("mul", twice.get(), grad).get()));
    });
  };
  def.saved_inputs = 2;
  return def;
}

void start(sdk::Registry& registry) {
  tn_device_type type{};
  type.struct_size = sizeof type;
  type.name = str_of(NAME);
  type.device = &kDevices;
  type.memory = &kMemory;
  type.stream = &kStreams;
  registry.device_type(type);
  add_kernels<float>(registry);
  add_kernels<double>(registry);
  registry.op(make_blend());
}

}  // namespace

TENON_PLUGIN("org.example." NAME, "1.0", start)
