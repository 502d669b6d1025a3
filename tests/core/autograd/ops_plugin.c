/* A plugin with ops for the autograd tests: with a gradient callback, of a decomposition alone, of each form, and one that asks for the end
   of a backward pass. */
#include <string.h>

#include "tenon/plugin.h"

static const tn_host* g_host;

static tn_str text(const char* s) {
  tn_str str = {s, strlen(s)};
  return str;
}

static tn_value tensor_value(tn_tensor* tensor) {
  tn_value value = {TN_VALUE_TENSOR, 0, {0}};
  value.as.tensor = tensor;
  return value;
}

static tn_status* multiply(tn_value x, tn_value y, tn_tensor** out) {
  tn_value args[2] = {x, y};
  return g_host->op_call(g_host->op_find(text("mul")), args, 2, out, 1);
}

/* s·x² by mul */
static tn_status* square_decompose(void* self, const tn_value* args, uint32_t nargs,
                                   tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  tn_tensor* square = NULL;
  tn_status* status = multiply(args[0], args[0], &square);
  if (status != NULL) return status;
  status = multiply(tensor_value(square), args[1], outs);
  g_host->tensor_release(square);
  return status;
}

/* 2·s·x·g */
static tn_status* square_gradient(void* self, tn_grad_call* call) {
  (void)self;
  const tn_value* scale = g_host->grad_arg(call, 1);
  if (scale->as.f < 0)
    return g_host->make_status(TN_INVALID_ARGUMENT, text("[test.scaled_square] scale is negative"));
  if (!g_host->grad_needed(call, 0)) return NULL;
  tn_value factor = {TN_VALUE_FLOAT, 0, {0}};
  factor.as.f = 2 * scale->as.f;
  tn_tensor *slope = NULL, *grad = NULL;
  tn_status* status = multiply(tensor_value(g_host->grad_saved_input(call, 0)), factor, &slope);
  if (status != NULL) return status;
  status = multiply(tensor_value(slope), tensor_value(g_host->grad_output(call, 0)), &grad);
  g_host->tensor_release(slope);
  if (status != NULL) return status;
  status = g_host->grad_set(call, 0, grad);
  g_host->tensor_release(grad);
  return status;
}

static tn_status* twice_decompose(void* self, const tn_value* args, uint32_t nargs,
                                  tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  tn_value two = {TN_VALUE_INT, 0, {0}};
  two.as.i = 2;
  return multiply(args[0], two, outs);
}

/* Σ x² over a loop of any layout, in float and in double. */
static int64_t place(const tn_loop* loop, uint32_t operand, int64_t i) {
  int64_t offset = 0;
  for (uint32_t d = loop->ndim; d-- > 0; i /= loop->shape[d])
    offset += i % loop->shape[d] * loop->strides[operand][d];
  return offset;
}
static tn_status* energy_run(void* self, void* plan, const tn_call* call) {
  (void)self, (void)plan;
  const tn_view* x = call->args[0].as.view;
  int64_t n = 1, outputs = 1;
  for (uint32_t d = 0; d < call->loop->ndim; ++d) n *= call->loop->shape[d];
  for (uint32_t d = 0; d < call->outs[0]->ndim; ++d) outputs *= call->outs[0]->shape[d];
  const int wide = x->dtype == TN_DTYPE_F64;
  memset(call->outs[0]->data, 0, (size_t)outputs * (wide ? sizeof(double) : sizeof(float)));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = place(call->loop, 0, i), from = place(call->loop, 1, i);
    if (wide)
      ((double*)call->outs[0]->data)[to] += ((double*)x->data)[from] * ((double*)x->data)[from];
    else
      ((float*)call->outs[0]->data)[to] += ((float*)x->data)[from] * ((float*)x->data)[from];
  }
  return NULL;
}

/* x > y: operands are promoted, but the result is bool. */
static tn_status* above_infer(void* self, const tn_value* args, uint32_t nargs,
                              tn_result* const* results, uint32_t nresults) {
  (void)self, (void)args, (void)nargs, (void)nresults;
  results[0]->dtype = TN_DTYPE_BOOL;
  return NULL;
}
static tn_status* above_run(void* self, void* plan, const tn_call* call) {
  (void)self, (void)plan;
  const float* x = call->args[0].as.view->data;
  const float* y = call->args[1].as.view->data;
  int64_t n = 1;
  for (uint32_t d = 0; d < call->loop->ndim; ++d) n *= call->loop->shape[d];
  for (int64_t i = 0; i < n; ++i)
    ((unsigned char*)call->outs[0]->data)[place(call->loop, 0, i)] =
        x[place(call->loop, 1, i)] > y[place(call->loop, 2, i)];
  return NULL;
}
/* An op whose shape rule contradicts its form. */
static tn_status* liar_infer(void* self, const tn_value* args, uint32_t nargs,
                             tn_result* const* results, uint32_t nresults) {
  (void)self, (void)args, (void)nargs, (void)nresults;
  results[0]->ndim = 0;
  return NULL;
}

/* x·1 to x·8 */
static tn_status* eight_decompose(void* self, const tn_value* args, uint32_t nargs,
                                  tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs;
  tn_status* status = NULL;
  for (uint32_t k = 0; status == NULL && k < nouts; ++k) {
    tn_value factor = {TN_VALUE_INT, 0, {0}};
    factor.as.i = k + 1;
    status = multiply(args[0], factor, &outs[k]);
  }
  return status;
}
/* Σ k·gₖ over the gradients that arrived */
static tn_status* eight_gradient(void* self, tn_grad_call* call) {
  (void)self;
  tn_tensor* sum = NULL;
  tn_status* status = NULL;
  for (uint32_t k = 0; status == NULL && k < 8; ++k) {
    tn_tensor* grad = g_host->grad_output(call, k);
    if (grad == NULL) continue;
    tn_value factor = {TN_VALUE_INT, 0, {0}};
    factor.as.i = k + 1;
    tn_tensor* term = NULL;
    status = multiply(tensor_value(grad), factor, &term);
    if (status == NULL && sum != NULL) {
      const tn_value both[2] = {tensor_value(sum), tensor_value(term)};
      tn_tensor* longer = NULL;
      status = g_host->op_call(g_host->op_find(text("add")), both, 2, &longer, 1);
      g_host->tensor_release(sum), g_host->tensor_release(term);
      term = longer;
    }
    sum = term;
  }
  if (status == NULL) status = g_host->grad_set(call, 0, sum);
  g_host->tensor_release(sum);
  return status;
}

/* x as it is, and a gradient that other processes are asked for: at the end of the pass its state tells whether all have answered. */
static uint32_t g_answer, g_ends;
static tn_status* all_answered(void* ctx) {
  (void)ctx;
  ++g_ends;
  return g_answer == TN_OK ? NULL : g_host->make_status(g_answer, text("rank 3 does not answer"));
}
static tn_status* reduced_decompose(void* self, const tn_value* args, uint32_t nargs,
                                    tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  return g_host->op_call(g_host->op_find(text("clone")), args, 1, outs, 1);
}
static tn_status* reduced_gradient(void* self, tn_grad_call* call) {
  (void)self;
  g_answer = (uint32_t)g_host->grad_arg(call, 1)->as.i;
  tn_status* status = g_host->backward_on_end(all_answered, NULL, NULL);
  return status != NULL ? status : g_host->grad_set(call, 0, g_host->grad_output(call, 0));
}
/* How often a pass came to its end. */
static const void* interface_of(void* state, tn_str name, uint32_t revision) {
  (void)state;
  const int wanted = revision == 1 && name.size == 9 && memcmp(name.data, "test.ends", 9) == 0;
  return wanted ? &g_ends : NULL;
}

/* The argument itself as every result, with a gradient that passes on the sum of theirs. */
static tn_status* given_decompose(void* self, const tn_value* args, uint32_t nargs,
                                  tn_tensor** outs, uint32_t nouts) {
  (void)self, (void)nargs;
  for (uint32_t k = 0; k < nouts; ++k) outs[k] = g_host->tensor_retain(args[0].as.tensor);
  return NULL;
}
static tn_status* given_gradient(void* self, tn_grad_call* call) {
  (void)self;
  const tn_value both[2] = {tensor_value(g_host->grad_output(call, 0)),
                            tensor_value(g_host->grad_output(call, 1))};
  tn_tensor* sum = NULL;
  tn_status* status = g_host->op_call(g_host->op_find(text("add")), both, 2, &sum, 1);
  if (status == NULL) status = g_host->grad_set(call, 0, sum);
  g_host->tensor_release(sum);
  return status;
}

/* Counts in x, of one element. */
static tn_status* counted_run(void* self, void* plan, const tn_call* call) {
  (void)self, (void)plan;
  float* x = call->args[0].as.view->data;
  *x += 1;
  *(float*)call->outs[0]->data = *x;
  return NULL;
}

static tn_status* register_forms(const tn_host* host, void* plugin) {
  const tn_op_def ops[] = {
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.energy(Tensor x, int[]? dims=none, bool keepdim=false) -> Tensor @1"),
       .form = TN_OP_REDUCE,
       .promotion = TN_OP_FRACTION},
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.above(Tensor x, Tensor y) -> Tensor @1"),
       .infer = above_infer,
       .form = TN_OP_ELEMENTWISE,
       .promotion = TN_OP_COMMON},
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.liar(Tensor x) -> Tensor @1"),
       .infer = liar_infer,
       .form = TN_OP_ELEMENTWISE},
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.eight(Tensor x) -> Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, "
                      "Tensor f, Tensor g, Tensor h @1"),
       .decompose = eight_decompose,
       .gradient = eight_gradient},
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.reduced(Tensor x, int answer=0) -> Tensor @1"),
       .decompose = reduced_decompose,
       .gradient = reduced_gradient},
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.given(Tensor x) -> Tensor a, Tensor b @1"),
       .decompose = given_decompose,
       .gradient = given_gradient},
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.counted(Tensor! x) -> Tensor @1"),
       .form = TN_OP_ELEMENTWISE,
       .promotion = TN_OP_COMMON},
      {.struct_size = sizeof(tn_op_def),
       .schema = text("test.counted_with(Tensor! x, Tensor y) -> Tensor @1"),
       .form = TN_OP_ELEMENTWISE,
       .promotion = TN_OP_COMMON}};
  const tn_kernel kernels[] = {{.struct_size = sizeof(tn_kernel),
                                .op = ops[0].schema,
                                .dtypes = TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F64),
                                .run = energy_run},
                               {.struct_size = sizeof(tn_kernel),
                                .op = ops[1].schema,
                                .dtypes = TN_MASK(TN_DTYPE_F32),
                                .run = above_run},
                               {.struct_size = sizeof(tn_kernel),
                                .flags = TN_KERNEL_HOST_SCALARS,
                                .op = ops[6].schema,
                                .dtypes = TN_MASK(TN_DTYPE_F32),
                                .run = counted_run},
                               {.struct_size = sizeof(tn_kernel),
                                .flags = TN_KERNEL_HOST_SCALARS,
                                .op = ops[7].schema,
                                .dtypes = TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F64),
                                .run = counted_run}};
  tn_status* status = NULL;
  for (size_t k = 0; status == NULL && k < sizeof ops / sizeof *ops; ++k)
    status = host->register_op(plugin, &ops[k]);
  if (status == NULL)
    status = host->register_kernels(plugin, text("cpu"), kernels, sizeof kernels / sizeof *kernels,
                                    sizeof *kernels);
  return status;
}

static tn_status* start(const tn_host* host, void* plugin, tn_str directory, void** state) {
  (void)directory, (void)state;
  g_host = host;
  static tn_op_def square, twice;
  square.struct_size = sizeof(square);
  square.schema = text("test.scaled_square(Tensor x, float scale=1.0) -> Tensor @1");
  square.decompose = square_decompose;
  square.gradient = square_gradient;
  square.saved_inputs = 1;
  tn_status* status = host->register_op(plugin, &square);
  if (status != NULL) return status;
  twice.struct_size = sizeof(twice);
  twice.schema = text("test.twice(Tensor x) -> Tensor @1");
  twice.decompose = twice_decompose;
  status = host->register_op(plugin, &twice);
  return status != NULL ? status : register_forms(host, plugin);
}

static tn_status* quiesce(void* state) {
  (void)state;
  return NULL;
}
static void stop(void* state) { (void)state; }

TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out);
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  (void)host_major, (void)host_minor;
  static tn_plugin plugin;
  plugin.struct_size = sizeof(plugin);
  plugin.abi_major = TN_ABI_MAJOR;
  plugin.abi_minor = TN_ABI_MINOR;
  plugin.id = text("test.ops");
  plugin.version = text("1.0");
  plugin.start = start;
  plugin.quiesce = quiesce;
  plugin.stop = stop;
  plugin.get_interface = interface_of;
  *out = &plugin;
  return NULL;
}
