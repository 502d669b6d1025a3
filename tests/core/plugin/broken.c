/* One plugin with many faults: each CASE_… is built into a library of its own. ID is the plugin's id. */
#include <stdlib.h>
#include <string.h>

#include "tenon/plugin.h"

#define STR(text) \
  { text, sizeof(text) - 1 }
#define ADD "add(Tensor x, Tensor y) -> Tensor @1"
#ifndef TYPE
#define TYPE ID
#endif
#ifndef DTYPE
#define DTYPE TN_DTYPE_F32
#endif

static const tn_host* host;

static tn_status* count(void* self, uint32_t* devices, tn_str* reason) {
  (void)self, (void)reason;
#if defined(CASE_NO_DEVICE)
  *devices = 0;
  *reason = (tn_str)STR("no driver found");
#elif defined(CASE_COUNT_FAILS)
  const tn_str message = STR("the driver crashed");
  return host->make_status(TN_DEVICE_LOST, message);
#elif defined(CASE_MANY_DEVICES)
  *devices = 0xffffffffu;
#else
  *devices = 1;
#endif
  return NULL;
}
static tn_status* info(void* self, uint32_t index, tn_device_info* out) {
  (void)self, (void)index;
  out->kind = TN_DEVICE_KIND_OTHER; /* strings stay NULL, which is allowed */
#if defined(CASE_LATIN)
  out->name = (tn_str)STR("Gr\xfcn"); /* Latin-1, as drivers may report it */
#endif
  return NULL;
}
static tn_status* allocate(void* self, uint32_t index, uint64_t bytes, void** buffer,
                           void** address) {
  (void)self, (void)index;
  *address = *buffer = malloc(bytes);
  return NULL;
}
static void release(void* self, uint32_t index, void* buffer) {
  (void)self, (void)index, free(buffer);
}
static tn_status* run(void* self, void* plan, const tn_call* call) {
  (void)self, (void)plan;
#if defined(CASE_LATIN)
  return host->make_status(TN_INTERNAL, (tn_str)STR("[Gr\xfcn] no answer"));
#endif
  for (int64_t i = 0; i < call->outs[0]->shape[0]; ++i)
    if (call->outs[0]->dtype == TN_DTYPE_F64)
      ((double*)call->outs[0]->data)[i] = 42;
    else
      ((float*)call->outs[0]->data)[i] = 42;
  return NULL;
}

static const tn_device_table devices = {
    .struct_size = sizeof devices, .count = count, .info = info};
static const tn_memory_table memory = {.struct_size = sizeof memory,
                                       .flags = TN_MEMORY_ADDRESSABLE,
                                       .allocate = allocate,
                                       .free = release};

static tn_status* register_type(void* plugin) {
  tn_device_type type = {
      .struct_size = sizeof type, .name = STR(TYPE), .device = &devices, .memory = &memory};
#if defined(CASE_TYPE_TAKEN)
  type.name = (tn_str)STR("cpu");
#elif defined(CASE_TYPE_NAME)
  type.name = (tn_str)STR("No Such:Name");
#elif defined(CASE_NULL_TABLES)
  type.device = NULL;
  type.memory = NULL;
#elif defined(CASE_SHORT_TYPE)
  type.struct_size = 8;
#elif defined(CASE_SHORT_MEMORY)
  static tn_memory_table short_memory;
  short_memory = memory;
  short_memory.struct_size = 8; /* ends before the first slot */
  type.memory = &short_memory;
#endif
  return host->register_device_type(plugin, &type);
}

static tn_status* register_add(void* plugin, const char* device) {
  tn_kernel kernel = {.struct_size = sizeof kernel,
                      .flags = TN_KERNEL_STRIDED,
                      .op = STR(ADD),
                      .dtypes = TN_MASK(DTYPE),
                      .run = run};
  uint32_t stride = sizeof kernel;
#if defined(CASE_UNKNOWN_OP)
  kernel.op = (tn_str)STR("no_such_op(Tensor x) -> Tensor @1");
#elif defined(CASE_OTHER_REVISION)
  kernel.op = (tn_str)STR("add(Tensor x, Tensor y) -> Tensor @99");
#elif defined(CASE_NO_RUN)
  kernel.run = NULL;
#elif defined(CASE_SHORT_KERNEL)
  kernel.struct_size = 12;
#elif defined(CASE_SHORT_STRIDE)
  stride = 16;
#elif defined(CASE_NULL_OP)
  kernel.op = (tn_str){NULL, 5};
#elif defined(CASE_FOREIGN_TOKEN)
  plugin = &kernel;
#endif
  return host->register_kernels(plugin, (tn_str){device, strlen(device)}, &kernel, 1, stride);
}

#if defined(CASE_EARLY) || defined(CASE_EARLY_OTHER) || defined(CASE_EARLY_NO_RUN) || \
    defined(CASE_LATE)
#define REGISTERS_LATE
#if defined(CASE_EARLY_OTHER)
#define LATE "test.late(Tensor x, int n=0) -> Tensor @1"
#else
#define LATE "test.late(Tensor x) -> Tensor @1"
#endif
/* A kernel that is registered before its op, and the op, which by itself can only be called through add. */
static tn_status* add_self(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                           uint32_t nouts) {
  (void)self, (void)nargs;
  const tn_str name = STR("add");
  const tn_value both[2] = {args[0], args[0]};
  return host->op_call(host->op_find(name), both, 2, outs, nouts);
}
static tn_status* register_late(void* plugin) {
#if defined(CASE_LATE)
  char schema[] = LATE; /* gone before the op is in service */
  const tn_op_def def = {.struct_size = sizeof def, .schema = STR(schema), .decompose = add_self};
  tn_status* status = host->register_op(plugin, &def);
  memset(schema, '?', sizeof schema);
  return status;
#else
  tn_kernel kernel = {
      .struct_size = sizeof kernel, .op = STR(LATE), .dtypes = TN_MASK(DTYPE), .run = run};
#if defined(CASE_EARLY_NO_RUN)
  kernel.run = NULL;
#endif
  return host->register_kernels(plugin, (tn_str)STR("cpu"), &kernel, 1, sizeof kernel);
#endif
}
#endif

#if defined(CASE_ENDLESS)
/* An op whose decomposition calls the op, and one that nothing computes. */
static tn_status* call_itself(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                              uint32_t nouts) {
  (void)self;
  return host->op_call(host->op_find((tn_str)STR("test.endless")), args, nargs, outs, nouts);
}
static tn_status* register_endless(void* plugin) {
  const tn_op_def def = {.struct_size = sizeof def,
                         .schema = STR("test.endless(Tensor x) -> Tensor @1"),
                         .decompose = call_itself};
  const tn_op_def empty = {.struct_size = sizeof empty,
                           .schema = STR("test.empty(Tensor x) -> Tensor @1")};
  tn_status* status = host->register_op(plugin, &def);
  return status != NULL ? status : host->register_op(plugin, &empty);
}
#endif

#if defined(CASE_FILL)
/* An op without results, whose kernel fails for negative values. */
static tn_status* fill(void* self, void* plan, const tn_call* call) {
  (void)self, (void)plan;
  const tn_view* x = call->args[0].as.view;
  if (call->nouts != 0) return host->make_status(TN_INTERNAL, (tn_str)STR("there are results"));
  if (call->args[1].as.f < 0)
    return host->make_status(TN_DEVICE_LOST, (tn_str)STR("[driver] negative"));
  for (int64_t i = 0; i < x->shape[0]; ++i) ((float*)x->data)[i] = (float)call->args[1].as.f;
  return NULL;
}
static uint64_t fill_scratch(void* self, const tn_call* call, void* plan) {
  (void)self, (void)call, (void)plan;
  return 1 << 20;
}
static tn_status* register_fill(void* plugin) {
#define FILL "test.fill(Tensor! x, float value=7.0) -> () @1"
  const tn_op_def def = {.struct_size = sizeof def, .schema = STR(FILL)};
  const tn_kernel kernel = {.struct_size = sizeof kernel,
                            .op = STR(FILL),
                            .dtypes = TN_MASK(DTYPE),
                            .scratch_size = fill_scratch,
                            .run = fill};
  tn_status* status = host->register_op(plugin, &def);
  if (status != NULL) return status;
  return host->register_kernels(plugin, (tn_str)STR("cpu"), &kernel, 1, sizeof kernel);
}
#elif defined(CASE_FILL_NOTHING)
static tn_status* register_fill(void* plugin) {
  const tn_op_def def = {.struct_size = sizeof def,
                         .schema = STR("test.nothing(Tensor x) -> () @1")};
  return host->register_op(plugin, &def);
}
#endif

#if defined(CASE_OP) || defined(CASE_OP_NO_DOT) || defined(CASE_OP_TAKEN) ||              \
    defined(CASE_OP_MALFORMED) || defined(CASE_OP_THEN_FAILS) || defined(CASE_OP_FORM) || \
    defined(CASE_OP_PROMOTION) || defined(CASE_OP_REDUCES_NOTHING) ||                     \
    defined(CASE_OP_LOOPS_OVER_NOTHING) || defined(CASE_OP_OPERANDS) ||                   \
    defined(CASE_OP_ARGUMENT_TWICE) || defined(CASE_OP_TWICE)
static tn_status* twice(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                        uint32_t nouts) {
  (void)self, (void)nargs;
  const tn_str name = STR("add");
  const tn_value both[2] = {args[0], args[0]};
  return host->op_call(host->op_find(name), both, 2, outs, nouts);
}
static tn_status* register_twice(void* plugin) {
  tn_op_def def = {.struct_size = sizeof def,
                   .schema = STR("test.twice(Tensor x) -> Tensor @1"),
                   .decompose = twice};
#if defined(CASE_OP_NO_DOT)
  def.schema = (tn_str)STR("twice(Tensor x) -> Tensor @1");
#elif defined(CASE_OP_TAKEN)
  def.schema = (tn_str)STR(ADD);
#elif defined(CASE_OP_MALFORMED)
  def.schema = (tn_str)STR("test.malformed(Tensor x -> Tensor @1");
#elif defined(CASE_OP_ARGUMENT_TWICE)
  def.schema = (tn_str)STR("test.again(Tensor x, Tensor x) -> Tensor @1");
#elif defined(CASE_OP_THEN_FAILS)
  def.schema = (tn_str)STR("test.left_behind(Tensor x) -> Tensor @1");
#elif defined(CASE_OP_FORM)
  def.form = 3;
#elif defined(CASE_OP_PROMOTION)
  def.promotion = 3;
#elif defined(CASE_OP_REDUCES_NOTHING)
  def.form = TN_OP_REDUCE;
#elif defined(CASE_OP_OPERANDS)
  def.form = TN_OP_ELEMENTWISE;
  def.schema = (tn_str)STR(
      "test.crowd(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, Tensor g) -> Tensor "
      "x, Tensor y @1");
#elif defined(CASE_OP_LOOPS_OVER_NOTHING)
  def.form = TN_OP_ELEMENTWISE;
  def.schema = (tn_str)STR("test.writes(Tensor! x) -> () @1");
#elif defined(CASE_OP_TWICE)
  tn_status* status = host->register_op(plugin, &def);
  if (status != NULL) return status;
#endif
  return host->register_op(plugin, &def);
}
#define HAS_OP
#endif

static tn_status* start(const tn_host* from, void* plugin, tn_str directory, void** state) {
  host = from;
  *state = &host;
  if (directory.size == 0) return host->make_status(TN_INTERNAL, (tn_str)STR("no directory"));
  host->op_find((tn_str)STR("add")); /* looks for plugins during the search for plugins */
#if defined(CASE_ABSENT_TYPE)
  return register_add(plugin, "no_such_type");
#elif defined(ADDS_TO)
  return register_add(plugin, ADDS_TO);
#elif defined(REGISTERS_LATE)
  return register_late(plugin);
#elif defined(CASE_ENDLESS)
  return register_endless(plugin);
#elif defined(CASE_FILL) || defined(CASE_FILL_NOTHING)
  return register_fill(plugin);
#else
  tn_status* status = register_type(plugin);
#if defined(HAS_OP)
  if (status == NULL) status = register_twice(plugin);
#endif
  if (status == NULL) status = register_add(plugin, TYPE);
#if defined(CASE_START_FAILS) || defined(CASE_OP_THEN_FAILS)
  if (status == NULL) status = host->make_status(TN_DEVICE_LOST, (tn_str)STR("changed its mind"));
#endif
  return status;
#endif
}

static tn_status* quiesce(void* state) {
  if (state != &host) abort();
#if defined(CASE_QUIESCE_FAILS)
  return host->make_status(TN_DEVICE_LOST, (tn_str)STR("still busy"));
#else
  return NULL;
#endif
}

static const tn_plugin table = {
#if defined(CASE_SHORT_TABLE)
    .struct_size = 16,
#elif defined(CASE_OLDER_TABLE)
    .struct_size = offsetof(tn_plugin, quiesce), /* it has no slot after start */
#elif defined(CASE_NEWER_TABLE)
    .struct_size = sizeof(tn_plugin), /* see below: the core knows nothing of the rest */
#else
    .struct_size = sizeof(tn_plugin),
#endif
#if defined(CASE_WRONG_MAJOR)
    .abi_major = TN_ABI_MAJOR + 1,
#else
    .abi_major = TN_ABI_MAJOR,
#endif
#if defined(CASE_NEWER_HOST)
    .min_host_minor = 9999,
#endif
#if !defined(CASE_NO_ID)
    .id = STR(ID),
#endif
    .version = STR("1.2.3"),
#if !defined(CASE_NO_START)
    .start = start,
#endif
    .quiesce = quiesce};

#if defined(CASE_NEWER_TABLE)
static const struct {
  tn_plugin known;
  void* later[4];
} newer = {{.struct_size = sizeof newer,
            .abi_major = TN_ABI_MAJOR,
            .abi_minor = TN_ABI_MINOR + 1,
            .id = STR(ID),
            .version = STR("1.2.3"),
            .start = start},
           {NULL}};
#endif

#if defined(CASE_CORE_SYMBOL)
extern uint32_t tn_plugin_count(void);
#endif

#if defined(CASE_NO_SYMBOL)
TN_EXPORT int some_other_library(void);
int some_other_library(void) { return table.struct_size != 0; }
#else
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out);
tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor, const tn_plugin** out) {
  (void)host_major, (void)host_minor;
#if defined(CASE_CORE_SYMBOL)
  if (tn_plugin_count() == 12345) return NULL;
#endif
#if defined(CASE_NEWER_TABLE)
  *out = &newer.known;
#elif !defined(CASE_NULL_TABLE)
  *out = &table;
#endif
  return NULL;
}
#endif
