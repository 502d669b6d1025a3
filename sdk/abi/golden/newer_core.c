/* A core of the next minor version, as a plugin sees one: every struct it hands over is larger, its
 * table has more slots, and what lies beyond a plugin's knowledge is poison. It is itself a plugin
 * of the core that runs the test, built with the newer headers, and passes what its inner plugin
 * registers on to that core. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/plugin.h"

#ifndef TN_NEXT_MINOR
#error "compile with the headers that sdk/abi/newer.py writes"
#endif
#define STR(text) \
  { text, sizeof(text) - 1 }
#define POISON 0x5a
#define MAX_KERNELS 16
#define MAX_OPERANDS 8

static const tn_host* core;     /* of this process */
static tn_host newer;           /* what the inner plugin gets */
static tn_device_table devices; /* the inner plugin's, behind a wrapped info */
static tn_device_table inner_devices;
static tn_kernel inner_kernels[MAX_KERNELS];
static uint32_t kernel_count;
static tn_op_def inner_op;

static tn_status* error(const char* message) {
  const tn_str text = {message, strlen(message)};
  return core->make_status(TN_INTERNAL, text);
}
static tn_status* trap(void* self, uint64_t value) {
  (void)self, (void)value;
  abort(); /* a plugin of the earlier minor does not know this slot */
}

/* As much as the giver knows, poison beyond it, and the newer size. */
static void enlarge(void* to, size_t size, const void* from) {
  uint32_t known, all = (uint32_t)size;
  memcpy(&known, from, sizeof known);
  memset(to, POISON, size);
  memcpy(to, from, known < size ? known : size);
  memcpy(to, &all, sizeof all);
}

/* ---- Calls into the inner plugin, with larger structs */

typedef struct {
  tn_call call;
  tn_loop loop;
  tn_value args[MAX_OPERANDS];
  tn_view inputs[MAX_OPERANDS], outputs[MAX_OPERANDS];
  const tn_view* outs[MAX_OPERANDS];
} larger_call;

static int enlarge_call(larger_call* to, const tn_call* from) {
  if (from->nargs > MAX_OPERANDS || from->nouts > MAX_OPERANDS) return 0;
  enlarge(&to->call, sizeof to->call, from);
  for (uint32_t i = 0; i < from->nargs; ++i) {
    to->args[i] = from->args[i];
    if (from->args[i].tag != TN_VALUE_VIEW) continue;
    enlarge(&to->inputs[i], sizeof to->inputs[i], from->args[i].as.view);
    to->args[i].as.view = &to->inputs[i];
  }
  for (uint32_t i = 0; i < from->nouts; ++i) {
    enlarge(&to->outputs[i], sizeof to->outputs[i], from->outs[i]);
    to->outs[i] = &to->outputs[i];
  }
  to->call.args = to->args;
  to->call.outs = to->outs;
  if (from->loop != NULL) {
    enlarge(&to->loop, sizeof to->loop, from->loop);
    to->call.loop = &to->loop;
  }
  return 1;
}
static tn_status* run(void* self, void* plan, const tn_call* call) {
  const tn_kernel* inner = self;
  larger_call larger;
  if (!enlarge_call(&larger, call)) return error("too many operands for the simulated core");
  return inner->run(inner->self, plan, &larger.call);
}
static tn_status* supports(void* self, const tn_call* call, uint32_t* yes) {
  const tn_kernel* inner = self;
  larger_call larger;
  if (!enlarge_call(&larger, call)) return error("too many operands for the simulated core");
  return inner->supports(inner->self, &larger.call, yes);
}
static tn_status* info(void* self, uint32_t index, tn_device_info* out) {
  tn_device_info larger;
  tn_status* status;
  memset(&larger, POISON, sizeof larger);
  larger.struct_size = sizeof larger;
  status = inner_devices.info(self, index, &larger);
  if (status == NULL && larger.struct_size != sizeof larger)
    return error("struct_size was changed");
  out->kind = larger.kind;
  out->name = larger.name;
  out->memory_total = larger.memory_total;
  out->memory_free = larger.memory_free;
  out->compute_units = larger.compute_units;
  out->subgroup_size = larger.subgroup_size;
  out->dtypes = larger.dtypes;
  return status;
}
static tn_status* infer(void* self, const tn_value* args, uint32_t nargs, tn_result* const* results,
                        uint32_t nresults) {
  tn_result larger;
  tn_result* const pointers[1] = {&larger};
  tn_status* status;
  (void)self, (void)nresults;
  enlarge(&larger, sizeof larger, results[0]);
  status = inner_op.infer(inner_op.self, args, nargs, pointers, 1);
  results[0]->dtype = larger.dtype;
  results[0]->ndim = larger.ndim;
  memcpy(results[0]->shape, larger.shape, sizeof larger.shape);
  return status;
}

/* ---- The newer core's table */

static tn_status* register_device_type(void* plugin, const tn_device_type* type) {
  tn_device_type passed;
  if (type->struct_size >= sizeof passed) return error("the plugin was built for the newer minor");
  memset(&passed, 0, sizeof passed);
  memcpy(&passed, type, type->struct_size);
  memcpy(&inner_devices, type->device, type->device->struct_size);
  memcpy(&devices, type->device, type->device->struct_size);
  devices.info = info;
  passed.device = &devices;
  return core->register_device_type(plugin, &passed);
}
static tn_status* register_kernels(void* plugin, tn_str device, const tn_kernel* kernels,
                                   uint32_t count, uint32_t stride) {
  tn_kernel wrapped[MAX_KERNELS];
  if (kernel_count + count > MAX_KERNELS) return error("too many kernels for the simulated core");
  memset(wrapped, 0, sizeof wrapped);
  for (uint32_t i = 0; i < count; ++i) {
    const tn_kernel* given = (const tn_kernel*)((const char*)kernels + (size_t)i * stride);
    tn_kernel* kept = &inner_kernels[kernel_count++];
    memcpy(kept, given, given->struct_size);
    memcpy(&wrapped[i], given, given->struct_size);
    wrapped[i].struct_size = sizeof wrapped[i];
    wrapped[i].run = run;
    if (kept->supports != NULL) wrapped[i].supports = supports;
    wrapped[i].self = kept;
  }
  return core->register_kernels(plugin, device, wrapped, count, sizeof wrapped[0]);
}
static tn_status* register_op(void* plugin, const tn_op_def* op) {
  tn_op_def passed;
  memset(&passed, 0, sizeof passed);
  memcpy(&inner_op, op, op->struct_size);
  memcpy(&passed, op, op->struct_size);
  passed.infer = infer;
  return core->register_op(plugin, &passed);
}

/* ---- Entry: the inner plugin lies beside this one. */

static tn_status* start(const tn_host* host, void* plugin, tn_str directory, void** state) {
  char path[4096];
  const tn_plugin* inner = NULL;
  void* library;
  core = host;
  if (directory.size + 32 > sizeof path) return error("the path is too long");
  memcpy(path, directory.data, directory.size);
  strcpy(path + directory.size, "/golden_inner.so");
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return error(dlerror());
  tn_plugin_query_fn query;
  *(void**)&query = dlsym(library, "tn_plugin_query");
  if (query == NULL) return error("the inner plugin has no entry");
  if (query(TN_ABI_MAJOR, TN_ABI_MINOR, &inner) != NULL || inner == NULL)
    return error("the inner plugin gave no table");
  if (inner->abi_minor >= TN_ABI_MINOR) return error("the inner plugin is not of an earlier minor");
  enlarge(&newer, sizeof newer, host);
  newer.abi_minor = TN_ABI_MINOR;
  newer.register_device_type = register_device_type;
  newer.register_kernels = register_kernels;
  newer.register_op = register_op;
  newer.slot_of_next_minor = trap;
  return inner->start(&newer, plugin, directory, state);
}
static const tn_plugin plugin = {.struct_size = sizeof plugin,
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .min_host_minor = TN_ABI_MINOR - 1,
                                 .id = STR("org.example.newer_core"),
                                 .version = STR("1.0"),
                                 .start = start};
TN_EXPORT tn_status* tn_plugin_query(uint32_t host_major, uint32_t host_minor,
                                     const tn_plugin** out) {
  (void)host_major, (void)host_minor;
  *out = &plugin;
  return NULL;
}
