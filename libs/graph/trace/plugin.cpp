// trace:0, a device that only records. The dispatcher checks a call, infers its results, brings it into canonical form and passes it to a
// kernel here, as to any other device; the kernel reports it to its thread's sink.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tenon/device_type.hpp"
#include "tenon/ext/draft/call_layers.h"
#include "trace/elementless.hpp"
#include "trace/interface.h"
#include "trace/meta.hpp"

namespace {

using namespace tenon::sdk;

constexpr uint32_t kForms = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS;

thread_local const tn_trace_sink* t_sink = nullptr;
thread_local tn_device* t_target = nullptr;
const tn_dispatch* g_dispatch = nullptr;

uint64_t number_of(const void* buffer) { return reinterpret_cast<uintptr_t>(buffer); }

const tn_trace_sink& sink() {
  if (t_sink == nullptr)
    fail(TN_FAILED_PRECONDITION,
         "[graph] trace:0 only records, while tenon.graph traces: its tensors have no elements");
  return *t_sink;
}

// Throws the error of a sink or of another plugin's kernel as one of this plugin's.
void pass_on(tn_status* status) {
  if (status == nullptr) return;
  const uint32_t code = host()->status_code(status);
  const std::string message(view_of(host()->status_message(status)));
  sink().release(status);
  fail(code, message);
}

// ---- Kernels --------------------------------------------------------------------------------------------------------------

// Records calls of one op, for operands in one form.
struct Recorder {
  const tn_op* op;
  uint32_t form;
};

template <class Use>
void each_view(const tn_call& call, Use&& use) {
  for (uint32_t i = 0; i < call.nargs; ++i) {
    const tn_value& arg = call.args[i];
    if (arg.tag == TN_VALUE_VIEW) use(*arg.as.view);
    for (uint32_t k = 0; arg.tag == TN_VALUE_VIEWS && k < arg.count; ++k)
      if (arg.as.views[k] != nullptr) use(*arg.as.views[k]);
  }
}

// The dtype by which kernels are found: that of the first tensor, or of the result.
tn_dtype key_dtype(const tn_call& call) {
  tn_dtype found = TN_DTYPE_COUNT;
  each_view(call, [&](const tn_view& view) {
    if (found == TN_DTYPE_COUNT) found = view.dtype;
  });
  if (found != TN_DTYPE_COUNT) return found;
  return call.nouts > 0 && call.outs[0] != nullptr ? call.outs[0]->dtype : TN_DTYPE_F32;
}

// The properties of this call that a kernel might not support.
uint32_t wants(const tn_call& call) {
  uint32_t forms = (call.flags & TN_CALL_ANY_DIM) != 0 ? TN_KERNEL_ANY_DIM : 0;
  each_view(call, [&](const tn_view& view) {
    if ((view.flags & TN_VIEW_SCALAR) != 0)
      forms |= TN_KERNEL_HOST_SCALARS;
    else if ((view.flags & TN_VIEW_CONTIGUOUS) == 0 && call.loop == nullptr)
      forms |= TN_KERNEL_STRIDED;
  });
  return forms;
}

// The target's kernel for a call as it is. NULL if there is none, or if a better one needs another form: the dispatcher then asks again
// in that form, as it does on the target itself.
const tn_kernel* kernel_for(const Recorder& recorder, const tn_call& call) {
  const uint32_t given = wants(call);
  const tn_dtype dtype = key_dtype(call);
  for (uint32_t i = 0;; ++i) {
    const tn_kernel* kernel = g_dispatch->kernel_at(recorder.op, t_target, dtype, i);
    if (kernel == nullptr || (given & ~kernel->flags) != 0) return nullptr;
    uint32_t yes = 1;
    if (kernel->supports != nullptr) pass_on(kernel->supports(kernel->self, &call, &yes));
    if (yes != 0) return kernel;
  }
}

Status supports(void* self, const tn_call* call, uint32_t* yes) {
  return guard([&] {
    const auto& recorder = *static_cast<Recorder*>(self);
    // An op without a kernel or decomposition is recorded as a program would call it: the target leaves it to the host.
    const bool last = recorder.form == 0 && g_dispatch->decomposes(recorder.op) == 0;
    *yes = t_target == nullptr || last || kernel_for(recorder, *call) != nullptr;
  });
}

Status run(void* self, void*, const tn_call* call) {
  return guard([&] {
    const auto& recorder = *static_cast<Recorder*>(self);
    for (uint32_t k = 0; k < call->nouts; ++k)
      if (call->outs[k] == nullptr)
        fail(TN_FAILED_PRECONDITION,
             "the shape of its result depends on elements, which a graph does not know");
    const tn_kernel* kernel = t_target == nullptr ? nullptr : kernel_for(recorder, *call);
    pass_on(sink().called(sink().ctx, recorder.op, call, kernel));
  });
}

// ---- The device -----------------------------------------------------------------------------------------------------------

class Trace : public Elementless {
 public:
  void info(uint32_t, tn_device_info* out) {
    describe("records what is called", uint64_t{1} << 50, out);
  }
  void allocate(uint32_t, uint64_t, void** buffer, void** address) {
    sink().allocated(sink().ctx, number(buffer, address));
  }
  void free(uint32_t, void*) {}
  void copy_in(uint32_t, void*, const void* src, void* buffer, uint64_t offset, uint64_t bytes) {
    pass_on(sink().copied_in(sink().ctx, src, number_of(buffer), offset, bytes));
  }
  void copy_out(uint32_t, void*, void* buffer, uint64_t, void*, uint64_t) {
    pass_on(sink().read(sink().ctx, number_of(buffer)));
  }
  void copy_within(uint32_t, void*, void*, uint64_t, void*, uint64_t, uint64_t) {
    fail(TN_UNIMPLEMENTED, "[graph] no copies of bytes");
  }
  void fill(uint32_t, void*, void*, uint64_t, uint64_t, const void*, uint32_t) {
    fail(TN_UNIMPLEMENTED, "[graph] no fills of bytes");
  }
};

Trace g_trace;
std::deque<Recorder> g_recorders;  // kernels refer to them by address

void start(Registry& registry) {
  g_dispatch = static_cast<const tn_dispatch*>(
      host()->get_interface(str_of(TN_DISPATCH_NAME), TN_DISPATCH_REVISION));
  if (g_dispatch == nullptr) fail(TN_UNIMPLEMENTED, "the host offers no tn.dispatch");
  register_devices(registry, "trace", g_trace);
  std::vector<tn_kernel> kernels;
  for (uint32_t i = 0; i < g_dispatch->op_count(); ++i)
    for (uint32_t form = 0; form <= kForms; ++form) {  // the dispatcher asks the most general form
                                                       // first
      const tn_op* op = g_dispatch->op_at(i);
      g_recorders.push_back({op, form});
      const uint32_t flags = form == 0 ? 0 : form | TN_KERNEL_ANY_DIM;
      tn_kernel kernel = make_kernel(view_of(g_dispatch->op_schema(op)), TN_MASK_ALL | TN_MASK_F8,
                                     &run, static_cast<int32_t>(form), flags);
      kernel.self = &g_recorders.back();
      kernel.supports = &supports;
      kernels.push_back(kernel);
    }
  registry.kernels("trace", kernels);
  start_meta(registry, *g_dispatch);
}

void listen(const tn_trace_sink* sink, tn_device* target) {
  t_sink = sink;
  t_target = target;
}

tn_status* start_plugin(const tn_host* from, void* token, tn_str directory, void** state) {
  *state = nullptr;
  const tn_host* host = adopt_host(from);
  return guard(host, [&] {
    Registry registry(host, token, view_of(directory));
    start(registry);
  });
}

const void* get_interface(void*, tn_str name, uint32_t revision) {
  static tn_trace_table table{};
  static constexpr tn_stand_in stand_in{
      sizeof(tn_stand_in), 0, [] { return t_sink == nullptr ? nullptr : t_sink->stands_for; }};
  table = {g_dispatch, &listen};
  if (view_of(name) == TN_STAND_IN_NAME && revision == TN_STAND_IN_REVISION) return &stand_in;
  return view_of(name) == TN_TRACE_NAME && revision == TN_TRACE_REVISION ? &table : nullptr;
}

}  // namespace

extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  static const tn_plugin plugin = {
      sizeof(tn_plugin),   TN_ABI_MAJOR,
      TN_ABI_MINOR,        0,
      str_of(TN_TRACE_ID), str_of(TN_VERSION_STRING),
      &start_plugin,       [](void*) -> tn_status* { return nullptr; },
      [](void*) {},        &get_interface,
  };
  *out = &plugin;
  return nullptr;
}
