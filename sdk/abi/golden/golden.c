/* A backend in C, as one was written for ABI 1.0: devices, memory, streams, three kernels, one op
 * with gradient. golden.cpp and golden.rs are the same backend; the tests compile each with the
 * frozen headers. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tenon/plugin.h"

#ifndef NAME
#define NAME "golden_c"
#endif
#define STR(text) \
  { text, sizeof(text) - 1 }

#ifndef MIN_HOST_MINOR
#define MIN_HOST_MINOR 0
#endif

/* Built with the headers of the next minor version, the plugin fills what only a newer core knows. */
#ifdef TN_NEXT_MINOR
static tn_status* unknown(void* self, uint64_t value) {
  (void)self, (void)value;
  abort(); /* no core of an earlier minor may call this */
}
#define NEXT_MINOR , .field_of_next_minor = UINT64_MAX, .slot_of_next_minor = unknown
#else
#define NEXT_MINOR
#endif

static tn_host host; /* as much of the host's table as these headers know */

static tn_status* error(uint32_t code, const char* message) {
  const tn_str text = {message, strlen(message)};
  return host.make_status(code, text);
}

/* ---- Devices and memory */

static tn_status* count(void* self, uint32_t* devices, tn_str* reason) {
  (void)self, (void)reason;
  *devices = 1;
  return NULL;
}
static tn_status* info(void* self, uint32_t index, tn_device_info* out) {
  (void)self, (void)index;
  out->kind = TN_DEVICE_KIND_OTHER;
  out->name = (tn_str)STR("Golden device");
  out->memory_total = out->memory_free = (uint64_t)1 << 30;
  out->compute_units = out->subgroup_size = 1;
  out->dtypes = TN_MASK_ALL;
#ifdef TN_NEXT_MINOR
  out->field_of_next_minor = UINT64_MAX; /* forgets to look at struct_size */
#endif
  return NULL;
}
static tn_status* synchronize(void* self, uint32_t index) {
  (void)self, (void)index;
  return NULL;
}
static tn_status* allocate(void* self, uint32_t index, uint64_t bytes, void** buffer,
                           void** address) {
  (void)self, (void)index;
  if (posix_memalign(buffer, 64, bytes) != 0) return error(TN_OUT_OF_MEMORY, "no memory left");
  *address = *buffer;
  return NULL;
}
static void release(void* self, uint32_t index, void* buffer) {
  (void)self, (void)index;
  free(buffer);
}
static tn_status* copy_in(void* self, uint32_t index, void* stream, const void* src, void* buffer,
                          uint64_t offset, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memcpy((char*)buffer + offset, src, bytes);
  return NULL;
}
static tn_status* copy_out(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                           void* dst, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memcpy(dst, (const char*)buffer + offset, bytes);
  return NULL;
}
static tn_status* copy_within(void* self, uint32_t index, void* stream, void* src,
                              uint64_t src_offset, void* dst, uint64_t dst_offset, uint64_t bytes) {
  (void)self, (void)index, (void)stream;
  memmove((char*)dst + dst_offset, (const char*)src + src_offset, bytes);
  return NULL;
}
static tn_status* fill(void* self, uint32_t index, void* stream, void* buffer, uint64_t offset,
                       uint64_t bytes, const void* pattern, uint32_t pattern_size) {
  (void)self, (void)index, (void)stream;
  for (uint64_t i = 0; i < bytes; i += pattern_size)
    memcpy((char*)buffer + offset + i, pattern, pattern_size);
  return NULL;
}

/* ---- Streams: work is done when it is enqueued, so an event is a time. */

static tn_status* make_block(void* self, uint32_t index, void** made) {
  (void)self, (void)index;
  *made = calloc(1, sizeof(struct timespec));
  return *made != NULL ? NULL : error(TN_OUT_OF_MEMORY, "no memory left");
}
static void free_block(void* self, void* block) {
  (void)self;
  free(block);
}
static tn_status* wait_block(void* self, void* block) {
  (void)self, (void)block;
  return NULL;
}
static tn_status* event_record(void* self, void* event, void* stream) {
  (void)self, (void)stream;
  clock_gettime(CLOCK_MONOTONIC, (struct timespec*)event);
  return NULL;
}
static tn_status* event_wait(void* self, void* event, void* stream) {
  (void)self, (void)event, (void)stream;
  return NULL;
}
static tn_status* event_query(void* self, void* event, uint32_t* done) {
  (void)self, (void)event;
  *done = 1;
  return NULL;
}
static tn_status* event_elapsed(void* self, void* start, void* end, double* seconds) {
  const struct timespec *a = start, *b = end;
  (void)self;
  *seconds = (double)(b->tv_sec - a->tv_sec) + 1e-9 * (double)(b->tv_nsec - a->tv_nsec);
  return NULL;
}

static const tn_device_table devices = {.struct_size = sizeof devices,
                                        .count = count,
                                        .info = info,
                                        .synchronize = synchronize NEXT_MINOR};
static const tn_memory_table memory = {.struct_size = sizeof memory,
                                       .allocate = allocate,
                                       .free = release,
                                       .copy_in = copy_in,
                                       .copy_out = copy_out,
                                       .copy_within = copy_within,
                                       .fill = fill NEXT_MINOR};
static const tn_stream_table streams = {.struct_size = sizeof streams,
                                        .create = make_block,
                                        .destroy = free_block,
                                        .synchronize = wait_block,
                                        .event_create = make_block,
                                        .event_destroy = free_block,
                                        .event_record = event_record,
                                        .event_wait = event_wait,
                                        .event_query = event_query,
                                        .event_synchronize = wait_block,
                                        .event_elapsed = event_elapsed NEXT_MINOR};
static const tn_device_type device_type = {.struct_size = sizeof device_type,
                                           .name = STR(NAME),
                                           .device = &devices,
                                           .memory = &memory,
                                           .stream = &streams NEXT_MINOR};

/* ---- Kernels: add and mul with any strides, matmul of two matrices. */

#define DEFINE_KERNELS(T)                                                                   \
  static void elementwise_##T(const tn_call* call, int multiply) {                          \
    const tn_loop* loop = call->loop;                                                       \
    int64_t at[TN_MAX_DIMS] = {0};                                                          \
    for (;;) {                                                                              \
      int64_t offset[3] = {0, 0, 0};                                                        \
      for (uint32_t k = 0; k < 3; ++k)                                                      \
        for (uint32_t d = 0; d < loop->ndim; ++d) offset[k] += at[d] * loop->strides[k][d]; \
      const T x = ((const T*)call->args[0].as.view->data)[offset[1]];                       \
      const T y = ((const T*)call->args[1].as.view->data)[offset[2]];                       \
      ((T*)call->outs[0]->data)[offset[0]] = multiply ? x * y : x + y;                      \
      uint32_t d = loop->ndim;                                                              \
      while (d-- > 0 && ++at[d] == loop->shape[d]) at[d] = 0;                               \
      if (d == UINT32_MAX) return;                                                          \
    }                                                                                       \
  }                                                                                         \
  static tn_status* add_##T(void* self, void* plan, const tn_call* call) {                  \
    (void)self, (void)plan;                                                                 \
    elementwise_##T(call, 0);                                                               \
    return NULL;                                                                            \
  }                                                                                         \
  static tn_status* mul_##T(void* self, void* plan, const tn_call* call) {                  \
    (void)self, (void)plan;                                                                 \
    elementwise_##T(call, 1);                                                               \
    return NULL;                                                                            \
  }                                                                                         \
  static tn_status* matmul_##T(void* self, void* plan, const tn_call* call) {               \
    const tn_view *x = call->args[0].as.view, *y = call->args[1].as.view;                   \
    const int64_t n = x->shape[0], k = x->shape[1], m = y->shape[1];                        \
    const T *a = x->data, *b = y->data;                                                     \
    T* out = call->outs[0]->data;                                                           \
    (void)self, (void)plan;                                                                 \
    for (int64_t i = 0; i < n; ++i)                                                         \
      for (int64_t j = 0; j < m; ++j) {                                                     \
        T sum = 0;                                                                          \
        for (int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * m + j];                 \
        out[i * m + j] = sum;                                                               \
      }                                                                                     \
    return NULL;                                                                            \
  }
DEFINE_KERNELS(float)
DEFINE_KERNELS(double)

static int is_empty(const tn_view* view) {
  for (uint32_t d = 0; d < view->ndim; ++d)
    if (view->shape[d] == 0) return 1;
  return 0;
}
static tn_status* has_elements(void* self, const tn_call* call, uint32_t* yes) {
  (void)self;
  *yes = !is_empty(call->outs[0]);
  return NULL;
}
static tn_status* has_matrices(void* self, const tn_call* call, uint32_t* yes) {
  (void)self;
  *yes = call->args[0].as.view->ndim == 2 && call->args[1].as.view->ndim == 2;
  return NULL;
}

#define KERNEL(schema, T, dtype, function, test, with)                                            \
  {                                                                                               \
    .struct_size = sizeof(tn_kernel), .flags = with, .op = STR(schema), .dtypes = TN_MASK(dtype), \
    .supports = test, .run = function##_##T NEXT_MINOR                                            \
  }
#define KERNELS(schema, function, test, with)                \
  KERNEL(schema, float, TN_DTYPE_F32, function, test, with), \
      KERNEL(schema, double, TN_DTYPE_F64, function, test, with)
static const tn_kernel kernels[] = {
    KERNELS("add(Tensor x, Tensor y) -> Tensor @1", add, has_elements, TN_KERNEL_STRIDED),
    KERNELS("mul(Tensor x, Tensor y) -> Tensor @1", mul, has_elements, TN_KERNEL_STRIDED),
    KERNELS("matmul(Tensor x, Tensor y) -> Tensor @1", matmul, has_matrices, 0)};

/* ---- A new op: blend(x, y) = x + y²; a shape rule that can refuse. */

static tn_status* blend_infer(void* self, const tn_value* args, uint32_t nargs,
                              tn_result* const* results, uint32_t nresults) {
  const tn_view* x = args[0].as.view;
  (void)self, (void)nargs, (void)nresults;
  if (x->ndim != 1) return error(TN_INVALID_ARGUMENT, "blend takes vectors");
  results[0]->dtype = x->dtype;
  results[0]->ndim = 1;
  results[0]->shape[0] = x->shape[0];
#ifdef TN_NEXT_MINOR
  results[0]->field_of_next_minor = UINT64_MAX;
#endif
  return NULL;
}
static tn_status* call_op(const char* name, tn_tensor* x, tn_tensor* y, tn_tensor** out) {
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {0}}, {TN_VALUE_TENSOR, 0, {0}}};
  const tn_str text = {name, strlen(name)};
  args[0].as.tensor = x;
  args[1].as.tensor = y;
  return host.op_call(host.op_find(text), args, 2, out, 1);
}
static tn_status* blend_decompose(void* self, const tn_value* args, uint32_t nargs,
                                  tn_tensor** outs, uint32_t nouts) {
  tn_tensor* square = NULL;
  tn_status* status = call_op("mul", args[1].as.tensor, args[1].as.tensor, &square);
  (void)self, (void)nargs, (void)nouts;
  if (status == NULL) status = call_op("add", args[0].as.tensor, square, outs);
  host.tensor_release(square);
  return status;
}
static tn_status* blend_gradient(void* self, tn_grad_call* call) {
  tn_tensor* grad = host.grad_output(call, 0);
  tn_tensor *y = host.grad_saved_input(call, 1), *twice = NULL, *result = NULL;
  tn_status* status = host.grad_needed(call, 0) ? host.grad_set(call, 0, grad) : NULL;
  (void)self;
  if (status != NULL || !host.grad_needed(call, 1)) return status;
  status = call_op("add", y, y, &twice);
  if (status == NULL) status = call_op("mul", twice, grad, &result);
  if (status == NULL) status = host.grad_set(call, 1, result);
  host.tensor_release(twice);
  host.tensor_release(result);
  return status;
}
static const tn_op_def blend = {.struct_size = sizeof blend,
                                .schema = STR(NAME ".blend(Tensor x, Tensor y) -> Tensor @1"),
                                .infer = blend_infer,
                                .decompose = blend_decompose,
                                .gradient = blend_gradient,
                                .saved_inputs = 2 NEXT_MINOR};

/* ---- Entry */

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  const tn_str name = STR(NAME);
  tn_status* status;
  (void)directory, (void)state;
  memcpy(&host, from, from->struct_size < sizeof host ? from->struct_size : sizeof host);
  status = host.register_device_type(plugin, &device_type);
  if (status == NULL)
    status = host.register_kernels(plugin, name, kernels, sizeof kernels / sizeof kernels[0],
                                   sizeof kernels[0]);
  if (status == NULL) status = host.register_op(plugin, &blend);
  return status;
}
static const tn_plugin plugin = {.struct_size = sizeof plugin,
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .id = STR("org.example." NAME),
                                 .version = STR("1.0"),
                                 .min_host_minor = MIN_HOST_MINOR,
                                 .start = start NEXT_MINOR};
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  (void)host_major, (void)host_minor;
  *out = &plugin;
  return NULL;
}
