/* A third party's recurrent layer, in C. The cell is an elementwise op with two results, kernels for the host and a gradient. The layer
   over a sequence is written in other ops, which the core differentiates. An optimizer's step writes its parameter and has no result.
   A layer over the thread's calls computes products in bf16. Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber &
   Cummins 2000; weights are laid out as in PyTorch: gates i, f, g, o. */
#include "lstm.h"

#include <math.h>

#include "tenon/kernel.h"

static const tn_host* host;

/* ---- Calling ops -------------------------------------------------------------------------------------------------------- */

/* A chain of calls. After the first error it calls nothing more; at the end it releases all results except those given away. */
#define MOST 24
typedef struct chain {
  tn_status* status;
  tn_tensor* made[MOST];
  uint32_t n;
} chain;

static tn_tensor* call(chain* c, const char* op, const tn_value* args, uint32_t nargs) {
  const tn_str name = {op, strlen(op)};
  tn_tensor* out = NULL;
  if (c->status == NULL) c->status = host->op_call(host->op_find(name), args, nargs, &out, 1);
  if (out != NULL) c->made[c->n++] = out;
  return out;
}
static tn_tensor* call1(chain* c, const char* op, tn_tensor* x) {
  const tn_value args[1] = {tn_tensor_value(x)};
  return call(c, op, args, 1);
}
static tn_tensor* call2(chain* c, const char* op, tn_tensor* x, tn_tensor* y) {
  const tn_value args[2] = {tn_tensor_value(x), tn_tensor_value(y)};
  return call(c, op, args, 2);
}
static tn_tensor* part(chain* c, tn_tensor* x, int64_t dim, int64_t start, int64_t end) {
  const tn_value args[4] = {tn_tensor_value(x), tn_int_value(dim), tn_int_value(start),
                            tn_int_value(end)};
  return call(c, "slice", args, 4);
}
/* 1 - x */
static tn_tensor* rest(chain* c, tn_tensor* x) {
  const tn_value args[2] = {tn_float_value(1), tn_tensor_value(x)};
  return call(c, "sub", args, 2);
}
static tn_status* finish(chain* c) {
  for (uint32_t i = 0; i < c->n; ++i) host->tensor_release(c->made[i]);
  return c->status;
}

/* ---- The cell: c' = σ(f)·c + σ(i)·tanh(g), h = σ(o)·tanh(c') ------------------------------------------------------------------ */

enum { I, F, G, O, C }; /* arguments */
enum { HIDDEN, CELL };  /* results */
#define READS(arg) (1u << (arg))

static tn_status* cell_decompose(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                                 uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  chain c = {0};
  tn_tensor* kept = call2(&c, "mul", call(&c, "sigmoid", args + F, 1), args[C].as.tensor);
  tn_tensor* added =
      call2(&c, "mul", call(&c, "sigmoid", args + I, 1), call(&c, "tanh", args + G, 1));
  tn_tensor* next = call2(&c, "add", kept, added);
  tn_tensor* hidden = call2(&c, "mul", call(&c, "sigmoid", args + O, 1), call1(&c, "tanh", next));
  if (c.status == NULL) {
    outs[HIDDEN] = host->tensor_retain(hidden);
    outs[CELL] = host->tensor_retain(next);
  }
  return finish(&c);
}

/* What the gradient of a call reads: its own gate always, the others only if their gradients are wanted. */
static void cell_saves(void* self, const tn_value* args, uint32_t nargs, uint64_t needed,
                       uint64_t* inputs, uint64_t* outputs) {
  (void)self, (void)args, (void)nargs;
  uint64_t reads = READS(O);
  if ((needed & (READS(I) | READS(G))) != 0) reads |= READS(I) | READS(G);
  if ((needed & (READS(F) | READS(C))) != 0) reads |= READS(F);
  if ((needed & READS(F)) != 0) reads |= READS(C);
  *inputs &= reads;
  *outputs &= READS(CELL);
}

/* gradient · σ'(x), with σ(x) given */
static tn_tensor* through_sigmoid(chain* c, tn_tensor* gradient, tn_tensor* sigmoid) {
  return call2(c, "mul", gradient, call2(c, "mul", sigmoid, rest(c, sigmoid)));
}
/* gradient · tanh'(x), with tanh(x) given */
static tn_tensor* through_tanh(chain* c, tn_tensor* gradient, tn_tensor* tanh) {
  return call2(c, "mul", gradient, rest(c, call1(c, "square", tanh)));
}
static tn_tensor* gate(chain* c, const char* function, tn_grad_call* grad, uint32_t arg) {
  return call1(c, function, host->grad_saved_input(grad, arg));
}
static void set(chain* c, tn_grad_call* grad, uint32_t arg, tn_tensor* gradient) {
  if (c->status == NULL) c->status = host->grad_set(grad, arg, gradient);
}

/* The gradients of i and g, from that of the new cell. */
static tn_status* add_gradients(tn_grad_call* grad, tn_tensor* of_cell) {
  chain c = {0};
  tn_tensor* in = gate(&c, "sigmoid", grad, I);
  tn_tensor* what = gate(&c, "tanh", grad, G);
  set(&c, grad, I, through_sigmoid(&c, call2(&c, "mul", of_cell, what), in));
  set(&c, grad, G, through_tanh(&c, call2(&c, "mul", of_cell, in), what));
  return finish(&c);
}

/* The gradients of f and the old cell, from that of the new one. */
static tn_status* keep_gradients(tn_grad_call* grad, tn_tensor* of_cell) {
  chain c = {0};
  tn_tensor* forget = gate(&c, "sigmoid", grad, F);
  set(&c, grad, C, call2(&c, "mul", of_cell, forget));
  if (host->grad_needed(grad, F)) {
    tn_tensor* old = host->grad_saved_input(grad, C);
    set(&c, grad, F, through_sigmoid(&c, call2(&c, "mul", of_cell, old), forget));
  }
  return finish(&c);
}

static tn_status* cell_gradient(void* self, tn_grad_call* grad) {
  (void)self;
  chain c = {0};
  tn_tensor* of_cell = host->grad_output(grad, CELL);
  tn_tensor* of_hidden = host->grad_output(grad, HIDDEN); /* NULL if nothing used it */
  if (of_hidden != NULL) {
    tn_tensor* out = gate(&c, "sigmoid", grad, O);
    tn_tensor* shown = call1(&c, "tanh", host->grad_saved_output(grad, CELL));
    set(&c, grad, O, through_sigmoid(&c, call2(&c, "mul", of_hidden, shown), out));
    tn_tensor* through = through_tanh(&c, call2(&c, "mul", of_hidden, out), shown);
    of_cell = of_cell == NULL ? through : call2(&c, "add", of_cell, through);
  }
  if (c.status == NULL && of_cell != NULL &&
      (host->grad_needed(grad, I) || host->grad_needed(grad, G)))
    c.status = add_gradients(grad, of_cell);
  if (c.status == NULL && of_cell != NULL &&
      (host->grad_needed(grad, F) || host->grad_needed(grad, C)))
    c.status = keep_gradients(grad, of_cell);
  return finish(&c);
}

/* Loops over any layout; the operands are the results followed by the arguments. */
#define CELL_KERNEL(type, exp, tanh)                                                     \
  static type sigmoid_##type(type x) { return 1 / (1 + exp(-x)); }                       \
  static tn_status* run_##type(void* self, void* plan, const tn_call* call) {            \
    (void)self, (void)plan;                                                              \
    const type* in[5];                                                                   \
    for (uint32_t k = 0; k < 5; ++k) in[k] = (const type*)call->args[k].as.view->data;   \
    type* hidden = (type*)call->outs[HIDDEN]->data;                                      \
    type* cell = (type*)call->outs[CELL]->data;                                          \
    const int64_t n = tn_view_numel(call->outs[CELL]);                                   \
    for (int64_t at = 0; at < n; ++at) {                                                 \
      type x[5];                                                                         \
      for (uint32_t k = 0; k < 5; ++k) x[k] = in[k][tn_at(call->loop, 2 + k, at)];       \
      const type next = sigmoid_##type(x[F]) * x[C] + sigmoid_##type(x[I]) * tanh(x[G]); \
      cell[tn_at(call->loop, 1, at)] = next;                                             \
      hidden[tn_at(call->loop, 0, at)] = sigmoid_##type(x[O]) * tanh(next);              \
    }                                                                                    \
    return NULL;                                                                         \
  }
CELL_KERNEL(float, expf, tanhf)
CELL_KERNEL(double, exp, tanh)

static const char kCell[] =
    "acme.lstm_cell(Tensor i, Tensor f, Tensor g, Tensor o, Tensor c) -> Tensor h, Tensor cell @1";

/* ---- The layer over a sequence -------------------------------------------------------------------------------------------- */

enum { X, H0, C0, W_IH, W_HH, BIAS };

static tn_status* lstm_infer(void* self, const tn_value* args, uint32_t nargs,
                             tn_result* const* results, uint32_t nresults) {
  (void)self, (void)nargs;
  const tn_view* x = args[X].as.view;
  const tn_view* h = args[H0].as.view;
  if (x->ndim != 3 || h->ndim != 2 || args[W_IH].as.view->ndim != 2)
    return tn_error(host, TN_INVALID_ARGUMENT,
                    "[acme.lstm] x is (steps, batch, features), h and c (batch, hidden)");
  for (uint32_t k = 0; k < nresults; ++k) {
    const int64_t shape[3] = {x->shape[0], x->shape[1], h->shape[1]};
    results[k]->dtype = x->dtype;
    results[k]->ndim = k == 0 ? 3 : 2;
    memcpy(results[k]->shape, shape + (k == 0 ? 0 : 1), results[k]->ndim * sizeof *shape);
  }
  return NULL;
}

/* One step: replaces *h and *c by new references. `x` is the step's share of the gates. */
static tn_status* lstm_step(tn_tensor* x, tn_value w_hh, int64_t hidden, tn_tensor** h,
                            tn_tensor** c) {
  chain s = {0};
  const tn_value recurrent[2] = {tn_tensor_value(*h), w_hh};
  tn_tensor* gates = call2(&s, "add", x, call(&s, "linear", recurrent, 2));
  tn_value args[5];
  for (uint32_t k = 0; k < 4; ++k)
    args[k] = tn_tensor_value(part(&s, gates, 1, k * hidden, (k + 1) * hidden));
  args[C] = tn_tensor_value(*c);
  tn_tensor* outs[2] = {NULL, NULL};
  if (s.status == NULL)
    s.status = host->op_call(host->op_find((tn_str)TN_STR("acme.lstm_cell")), args, 5, outs, 2);
  if (s.status == NULL) {
    host->tensor_release(*h), host->tensor_release(*c);
    *h = outs[HIDDEN], *c = outs[CELL];
  }
  return finish(&s);
}

static tn_status* join_steps(chain* c, tn_tensor* const* steps, uint32_t count, tn_tensor** out) {
  tn_value list = {TN_VALUE_TENSORS, count, {0}};
  list.as.tensors = steps;
  *out = host->tensor_retain(call(c, "stack", &list, 1));
  return c->status;
}

#define MOST_STEPS 1024
static tn_status* lstm_decompose(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                                 uint32_t nouts) {
  (void)self, (void)nargs, (void)nouts;
  const tn_view* x = host->tensor_view(args[X].as.tensor);
  const int64_t hidden = host->tensor_view(args[H0].as.tensor)->shape[1];
  if (x->shape[0] == 0 || x->shape[0] > MOST_STEPS)
    return tn_error(host, TN_INVALID_ARGUMENT, "[acme.lstm] 1 to 1024 steps");
  const uint32_t steps = (uint32_t)x->shape[0];
  chain c = {0};
  const tn_value product[3] = {args[X], args[W_IH], args[BIAS]};
  tn_tensor* gates = call(&c, "linear", product, 3); /* of all steps at once */
  tn_tensor* h = host->tensor_retain(args[H0].as.tensor);
  tn_tensor* cell = host->tensor_retain(args[C0].as.tensor);
  tn_tensor* shown[MOST_STEPS] = {0};
  uint32_t t = 0;
  for (; c.status == NULL && t < steps; ++t) {
    chain s = {0};
    const tn_value place[3] = {tn_tensor_value(gates), tn_int_value(0), tn_int_value(t)};
    tn_tensor* share = call(&s, "select", place, 3);
    if (s.status == NULL) s.status = lstm_step(share, args[W_HH], hidden, &h, &cell);
    c.status = finish(&s);
    shown[t] = host->tensor_retain(h);
  }
  if (c.status == NULL) c.status = join_steps(&c, shown, steps, &outs[0]);
  for (uint32_t k = 0; k < t; ++k) host->tensor_release(shown[k]);
  outs[1] = h, outs[2] = cell;
  if (c.status != NULL)
    for (uint32_t k = 0; k < 3; ++k) host->tensor_release(outs[k]);
  return finish(&c);
}

/* ---- A step of gradient descent: writes its argument, has no result -------------------------------------------------------- */

static tn_status* descend(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                          uint32_t nouts) {
  (void)self, (void)nargs, (void)outs, (void)nouts;
  chain c = {0};
  const tn_value scaled[2] = {args[1], args[2]};
  tn_tensor* step = call(&c, "mul", scaled, 2);
  const tn_value moved[2] = {args[0], tn_tensor_value(step)};
  if (c.status == NULL)
    c.status =
        host->op_call_into(host->op_find((tn_str)TN_STR("sub")), moved, 2, &args[0].as.tensor, 1);
  return finish(&c);
}

/* ---- Products in bf16 -------------------------------------------------------------------------------------------------------- */

static tn_tensor* as_dtype(chain* c, tn_tensor* x, tn_dtype dtype) {
  tn_value args[2] = {tn_tensor_value(x), {TN_VALUE_DTYPE, 0, {0}}};
  args[1].as.i = dtype;
  return call(c, "cast", args, 2);
}

static int is_product(const tn_op* op) {
  return op == host->op_find((tn_str)TN_STR("matmul")) ||
         op == host->op_find((tn_str)TN_STR("linear"));
}

static tn_status* cast_products(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                                tn_tensor** outs, uint32_t nouts, uint32_t* done) {
  (void)ctx, (void)nouts;
  if (!is_product(op)) return NULL;
  chain c = {0};
  tn_value narrow[4];
  for (uint32_t i = 0; i < nargs; ++i) {
    narrow[i] = args[i];
    if (args[i].tag != TN_VALUE_TENSOR) continue;
    if (host->tensor_view(args[i].as.tensor)->dtype != TN_DTYPE_F32) return finish(&c);
    narrow[i] = tn_tensor_value(as_dtype(&c, args[i].as.tensor, TN_DTYPE_BF16));
  }
  tn_tensor* product = NULL;
  if (c.status == NULL) c.status = host->op_call(op, narrow, nargs, &product, 1);
  if (c.status == NULL) outs[0] = host->tensor_retain(as_dtype(&c, product, TN_DTYPE_F32));
  host->tensor_release(product);
  *done = c.status == NULL;
  return finish(&c);
}

static const tn_call_layer autocast_layer = {.struct_size = sizeof autocast_layer,
                                             .call = cast_products};
static tn_status* begin(void) { return host->call_layer_push(&autocast_layer); }
static tn_status* end(void) { return host->call_layer_pop(&autocast_layer); }
/* For programs that look up layers by name, and for `tenon check`: bf16 keeps 8 bits. */
static const tn_offered_layer offered[] = {{TN_STR("bf16"), &autocast_layer, 0.02}};
static const tn_layers layers = {
    .struct_size = sizeof layers, .layers = offered, .count = 1, .stride = sizeof *offered};
static const acme_autocast autocast = {.struct_size = sizeof autocast, .begin = begin, .end = end};

/* ---- The plugin ---------------------------------------------------------------------------------------------------------------- */

static int is(tn_str name, const char* known) {
  return name.size == strlen(known) && memcmp(name.data, known, name.size) == 0;
}
static const void* get_interface(void* state, tn_str name, uint32_t revision) {
  (void)state;
  if (is(name, TN_LAYERS_NAME) && revision == TN_LAYERS_REVISION) return &layers;
  return is(name, "acme.autocast") && revision == 1 ? &autocast : NULL;
}

static tn_status* register_ops(void* plugin) {
  const tn_op_def ops[] = {
      {.struct_size = sizeof(tn_op_def),
       .schema = {kCell, sizeof kCell - 1},
       .decompose = cell_decompose,
       .gradient = cell_gradient,
       .saved_inputs = READS(I) | READS(F) | READS(G) | READS(O) | READS(C),
       .saved_outputs = READS(CELL),
       .form = TN_OP_ELEMENTWISE,
       .promotion = TN_OP_FRACTION,
       .saves = cell_saves},
      {.struct_size = sizeof(tn_op_def),
       .schema = TN_STR("acme.lstm(Tensor x, Tensor h, Tensor c, Tensor w_ih, Tensor w_hh, "
                        "Tensor bias) -> Tensor y, Tensor hn, Tensor cn @1"),
       .infer = lstm_infer,
       .decompose = lstm_decompose},
      {.struct_size = sizeof(tn_op_def),
       .schema = TN_STR("acme.descend(Tensor! parameter, Tensor gradient, float rate) -> () @1"),
       .decompose = descend},
  };
  tn_status* status = NULL;
  for (size_t k = 0; status == NULL && k < sizeof ops / sizeof *ops; ++k)
    status = host->register_op(plugin, &ops[k]);
  return status;
}

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  (void)directory, (void)state;
  host = from;
  tn_status* status = register_ops(plugin);
  const tn_kernel kernels[] = {{.struct_size = sizeof(tn_kernel),
                                .op = {kCell, sizeof kCell - 1},
                                .dtypes = TN_MASK(TN_DTYPE_F32),
                                .run = run_float},
                               {.struct_size = sizeof(tn_kernel),
                                .op = {kCell, sizeof kCell - 1},
                                .dtypes = TN_MASK(TN_DTYPE_F64),
                                .run = run_double}};
  if (status == NULL)
    status = host->register_kernels(plugin, (tn_str)TN_STR("cpu"), kernels, 2, sizeof *kernels);
  return status;
}
static const tn_plugin plugin_table = {.struct_size = sizeof plugin_table,
                                       .abi_major = TN_ABI_MAJOR,
                                       .abi_minor = TN_ABI_MINOR,
                                       .min_host_minor = 1,
                                       .id = TN_STR("com.acme.lstm"),
                                       .version = TN_STR("1.0.0"),
                                       .start = start,
                                       .get_interface = get_interface};
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  return (void)host_major, (void)host_minor, *out = &plugin_table, NULL;
}
