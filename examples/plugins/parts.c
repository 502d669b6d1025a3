/* A third party's ops whose results are lists, in C: one cuts a tensor into parts along a dimension, one scales all tensors of a list
   at once. Also an interface that moves a tensor's elements elsewhere and back, while its own memory is free, and a layer over calls. */
#include "parts.h"

#include "tenon/kernel.h"

static const tn_host* host;

static tn_status* refuse(const char* why) { return tn_error(host, TN_INVALID_ARGUMENT, why); }
static const tn_op* find(const char* name) {
  const tn_str text = {name, strlen(name)};
  return host->op_find(text);
}

/* ---- acme.parts: x cut along dimension 0 into pieces of `size`, the last one shorter ------------------------------------------ */

enum { X, SIZE };

static tn_status* parts_count(void* self, const tn_value* args, uint32_t nargs, uint32_t* entries) {
  (void)self, (void)nargs;
  const tn_view* x = args[X].as.view;
  const int64_t size = args[SIZE].as.i;
  if (x->ndim == 0 || size < 1) return refuse("x has a dimension, and size is at least 1");
  *entries = (uint32_t)((x->shape[0] + size - 1) / size);
  return NULL;
}

static int64_t rows_of(int64_t rows, int64_t size, uint32_t part) {
  const int64_t left = rows - size * part;
  return left < size ? left : size;
}

static tn_status* parts_infer(void* self, const tn_value* args, uint32_t nargs,
                              tn_result* const* results, uint32_t nresults) {
  (void)self, (void)nargs;
  const tn_view* x = args[X].as.view;
  for (uint32_t k = 0; k < nresults; ++k) {
    results[k]->dtype = x->dtype;
    results[k]->ndim = x->ndim;
    memcpy(results[k]->shape, x->shape, x->ndim * sizeof *x->shape);
    results[k]->shape[0] = rows_of(x->shape[0], args[SIZE].as.i, k);
  }
  return NULL;
}

/* Runs where there is no kernel: copies slices. */
static tn_status* parts_decompose(void* self, const tn_value* args, uint32_t nargs,
                                  tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs;
  const int64_t rows = host->tensor_view(args[X].as.tensor)->shape[0], size = args[SIZE].as.i;
  tn_status* status = NULL;
  uint32_t made = 0;
  for (; status == NULL && made < nouts; ++made) {
    const int64_t begin = size * made;
    const tn_value cut[4] = {args[X], tn_int_value(0), tn_int_value(begin),
                             tn_int_value(begin + rows_of(rows, size, made))};
    tn_tensor* slice = NULL;
    status = host->op_call(find("slice"), cut, 4, &slice, 1);
    if (status != NULL) break;
    const tn_value whole[1] = {tn_tensor_value(slice)};
    status = host->op_call(find("clone"), whole, 1, &outs[made], 1);
    host->tensor_release(slice);
    if (status != NULL) break;
  }
  if (status != NULL)
    while (made-- > 0) host->tensor_release(outs[made]);
  return status;
}

/* Joins the gradients of the parts; a part that nobody used gets zeros. */
#define MOST_PARTS 64
static tn_status* parts_gradient(void* self, tn_grad_call* grad) {
  (void)self;
  const uint32_t count = host->grad_result_count(grad);
  if (count > MOST_PARTS) return refuse("[acme.parts] at most 64 parts have a gradient");
  tn_tensor* pieces[MOST_PARTS];
  tn_tensor* made[MOST_PARTS];
  uint32_t nmade = 0;
  tn_status* status = NULL;
  for (uint32_t k = 0; status == NULL && k < count; ++k) {
    pieces[k] = host->grad_output(grad, k);
    if (pieces[k] != NULL) continue;
    const tn_value like[2] = {tn_tensor_value(host->grad_saved_output(grad, k)), tn_float_value(0)};
    status = host->op_call(find("mul"), like, 2, &made[nmade], 1);
    if (status == NULL) pieces[k] = made[nmade++];
  }
  tn_tensor* joined = NULL;
  tn_value list[1] = {{TN_VALUE_TENSORS, count, {0}}};
  list[0].as.tensors = pieces;
  if (status == NULL) status = host->op_call(find("concat"), list, 1, &joined, 1);
  if (status == NULL) status = host->grad_set(grad, X, joined);
  if (joined != NULL) host->tensor_release(joined);
  while (nmade-- > 0) host->tensor_release(made[nmade]);
  return status;
}

static int64_t bytes_of(tn_dtype dtype) { return dtype == TN_DTYPE_F64 ? 8 : 4; }

static tn_status* parts_run(void* self, void* plan, const tn_call* call) {
  (void)self, (void)plan;
  const tn_view* x = call->args[X].as.view; /* contiguous: the kernel takes no strides */
  const char* from = (const char*)x->data;
  for (uint32_t k = 0; k < call->nouts; ++k) {
    const size_t bytes = (size_t)(tn_view_numel(call->outs[k]) * bytes_of(x->dtype));
    if (bytes != 0) memcpy(call->outs[k]->data, from, bytes);
    from += bytes;
  }
  return NULL;
}

/* ---- acme.scale_all: each tensor of a list times a number -------------------------------------------------------------------- */

enum { XS, FACTOR };

static tn_status* scale_count(void* self, const tn_value* args, uint32_t nargs, uint32_t* entries) {
  (void)self, (void)nargs;
  *entries = args[XS].count;
  return NULL;
}

static tn_status* scale_infer(void* self, const tn_value* args, uint32_t nargs,
                              tn_result* const* results, uint32_t nresults) {
  (void)self, (void)nargs;
  for (uint32_t k = 0; k < nresults; ++k) {
    const tn_view* x = args[XS].as.views[k];
    results[k]->dtype = x->dtype;
    results[k]->ndim = x->ndim;
    memcpy(results[k]->shape, x->shape, x->ndim * sizeof *x->shape);
  }
  return NULL;
}

static tn_status* scale(tn_tensor* x, double factor, tn_tensor** out) {
  const tn_value args[2] = {tn_tensor_value(x), tn_float_value(factor)};
  return host->op_call(find("mul"), args, 2, out, 1);
}

static tn_status* scale_decompose(void* self, const tn_value* args, uint32_t nargs,
                                  tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs;
  tn_status* status = NULL;
  uint32_t made = 0;
  for (; made < nouts; ++made) {
    status = scale(args[XS].as.tensors[made], args[FACTOR].as.f, &outs[made]);
    if (status != NULL) break;
  }
  if (status != NULL)
    while (made-- > 0) host->tensor_release(outs[made]);
  return status;
}

static tn_status* scale_gradient(void* self, tn_grad_call* grad) {
  (void)self;
  const double factor = host->grad_arg(grad, FACTOR)->as.f;
  for (uint32_t e = 0; e < host->grad_entry_count(grad, XS); ++e) {
    tn_tensor* of_result = host->grad_output(grad, e);
    if (of_result == NULL || !host->grad_entry_needed(grad, XS, e)) continue;
    tn_tensor* of_entry = NULL;
    tn_status* status = scale(of_result, factor, &of_entry);
    if (status == NULL) status = host->grad_set_entry(grad, XS, e, of_entry);
    if (of_entry != NULL) host->tensor_release(of_entry);
    if (status != NULL) return status;
  }
  return NULL;
}

/* ---- acme.offload ------------------------------------------------------------------------------------------------------------ */

/* A new tensor on `device` with the elements of another, wherever that one is. */
static tn_status* copy_to(tn_tensor* tensor, tn_device* device, tn_tensor** copy) {
  tn_value args[2] = {tn_tensor_value(tensor), {TN_VALUE_DEVICE, 0, {0}}};
  args[1].as.device = device;
  tn_tensor* there = NULL;
  tn_status* status = host->op_call(find("to"), args, 2, &there, 1);
  if (status != NULL || there != tensor) return *copy = there, status;
  status = host->op_call(find("clone"), args, 1, copy, 1); /* it was already there */
  host->tensor_release(there);
  return status;
}

static tn_status* away(tn_tensor* tensor, tn_device* to, tn_tensor** copy) {
  tn_status* status = copy_to(tensor, to, copy);
  if (status == NULL) status = host->storage_release(tensor);
  if (status == NULL || *copy == NULL) return status;
  host->tensor_release(*copy);
  return *copy = NULL, status;
}

typedef struct source {
  tn_tensor* copy;
  tn_device* device; /* of the tensor being filled */
} source;

static tn_status* put_back(void* ctx, tn_tensor* tensor) {
  const source* from = (const source*)ctx;
  tn_tensor* near = NULL;
  tn_status* status = copy_to(from->copy, from->device, &near);
  const tn_value args[1] = {tn_tensor_value(near)};
  if (status == NULL) status = host->op_call_into(find("clone"), args, 1, &tensor, 1);
  if (near != NULL) host->tensor_release(near);
  return status;
}
static tn_status* back(tn_tensor* tensor, tn_device* device, tn_tensor* copy) {
  source from = {copy, device};
  return host->storage_restore(tensor, put_back, &from);
}
static tn_status* watch(tn_tensor* tensor) { return host->storage_track(tensor); }
static const acme_offload offload = {
    .struct_size = sizeof offload, .watch = watch, .away = away, .back = back};

/* ---- A layer that computes -x as x * -1, bit for bit the same ----------------------------------------------------------------- */

static tn_status* negate(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                         tn_tensor** outs, uint32_t nouts, uint32_t* done) {
  (void)ctx;
  if (op != find("neg") || nouts != 1) return NULL;
  const tn_value product[2] = {args[0], tn_float_value(-1)};
  (void)nargs;
  tn_status* status = host->op_call(find("mul"), product, 2, outs, 1);
  *done = status == NULL;
  return status;
}

static const tn_call_layer by_products = {.struct_size = sizeof by_products, .call = negate};
static const tn_offered_layer offered[] = {{TN_STR("products"), &by_products, 0}};
static const tn_layers layers = {
    .struct_size = sizeof layers, .layers = offered, .count = 1, .stride = sizeof *offered};

/* ---- The plugin ---------------------------------------------------------------------------------------------------------------- */

static int is(tn_str name, const char* known) {
  return name.size == strlen(known) && memcmp(name.data, known, name.size) == 0;
}
static const void* get_interface(void* state, tn_str name, uint32_t revision) {
  (void)state;
  if (is(name, "acme.offload") && revision == 1) return &offload;
  if (is(name, TN_LAYERS_NAME) && revision == TN_LAYERS_REVISION) return &layers;
  return NULL;
}

static const char kParts[] = "acme.parts(Tensor x, int size) -> Tensor[] parts @1";

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  (void)directory, (void)state;
  host = from;
  const tn_op_def ops[] = {{.struct_size = sizeof(tn_op_def),
                            .schema = {kParts, sizeof kParts - 1},
                            .infer = parts_infer,
                            .decompose = parts_decompose,
                            .gradient = parts_gradient,
                            .saved_outputs = 1, /* all parts, which share the list's bit */
                            .count = parts_count},
                           {.struct_size = sizeof(tn_op_def),
                            .schema = TN_STR("acme.scale_all(Tensor[] xs, float factor) -> "
                                             "Tensor[] ys @1"),
                            .infer = scale_infer,
                            .decompose = scale_decompose,
                            .gradient = scale_gradient,
                            .count = scale_count}};
  tn_status* status = NULL;
  for (size_t k = 0; status == NULL && k < sizeof ops / sizeof *ops; ++k)
    status = host->register_op(plugin, &ops[k]);
  const tn_kernel kernel = {.struct_size = sizeof kernel,
                            .op = {kParts, sizeof kParts - 1},
                            .dtypes = TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F64),
                            .run = parts_run};
  if (status == NULL)
    status = host->register_kernels(plugin, (tn_str)TN_STR("cpu"), &kernel, 1, sizeof kernel);
  return status;
}

static const tn_plugin plugin_table = {.struct_size = sizeof plugin_table,
                                       .abi_major = TN_ABI_MAJOR,
                                       .abi_minor = TN_ABI_MINOR,
                                       .min_host_minor = 1,
                                       .id = TN_STR("com.acme.parts"),
                                       .version = TN_STR("1.0.0"),
                                       .start = start,
                                       .get_interface = get_interface};
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  return (void)host_major, (void)host_minor, *out = &plugin_table, NULL;
}
