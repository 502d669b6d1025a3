// The backend: f32 add, mul, neg and clone, an op of its own, and streams whose work runs when somebody waits.
#include "faulty.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "tenon/plugin.hpp"

namespace tenon::test {
namespace {

FaultyControl g_control;
void* g_token = nullptr;

bool does(Misdeed misdeed) { return g_control.misdeed == misdeed; }
bool is(const char* wanted, std::string_view op) { return wanted != nullptr && op == wanted; }

tn_status* error(uint32_t code, const std::string& text) {
  return sdk::host()->make_status(code, sdk::str_of(text));
}

void forget_work();

// Counts a call. Returns an error if this call is the one to fail, or if the device is lost.
tn_status* enter(const char* slot) {
  const bool now = ++g_control.calls == g_control.fail_at;
  if (now && g_control.code == TN_DEVICE_LOST) {
    g_control.lost = true;
    forget_work();
  }
  if (!now && !g_control.lost) return nullptr;
  return error(g_control.code, std::string(slot) + ": the device does not answer");
}

// ---- Streams

struct Event {
  bool done = true;
  std::string failure;
};
struct Stream {
  std::deque<std::function<void(Stream&)>> work;
  std::string failure;  // reported once, to whoever waits; until then nothing runs

  void drain() {
    while (!work.empty()) {
      const auto next = std::move(work.front());
      work.pop_front();
      next(*this);
    }
  }
  tn_status* wait() {
    drain();
    if (failure.empty()) return nullptr;
    return error(TN_INTERNAL, std::exchange(failure, {}));
  }
};
Stream& stream_of(void* stream) { return *static_cast<Stream*>(stream); }

std::set<Stream*> g_streams;

// A lost device runs nothing more.
void forget_work() {
  for (Stream* stream : g_streams) stream->work.clear();
}

tn_status* stream_create(void*, uint32_t, void** stream) {
  if (tn_status* status = enter("stream.create")) return status;
  *stream = *g_streams.insert(new Stream).first;
  ++g_control.streams;
  return nullptr;
}
void stream_destroy(void*, void* stream) {
  g_streams.erase(&stream_of(stream));
  delete &stream_of(stream);
  --g_control.streams;
}
tn_status* stream_synchronize(void*, void* stream) {
  if (tn_status* status = enter("stream.synchronize")) return status;
  return stream_of(stream).wait();
}
tn_status* event_create(void*, uint32_t, void** event) {
  if (tn_status* status = enter("stream.event_create")) return status;
  *event = new Event;
  ++g_control.events;
  return nullptr;
}
void event_destroy(void*, void* event) {
  delete static_cast<Event*>(event);
  --g_control.events;
}
tn_status* event_record(void*, void* event, void* stream) {
  if (tn_status* status = enter("stream.event_record")) return status;
  auto* recorded = static_cast<Event*>(event);
  recorded->done = false;
  stream_of(stream).work.emplace_back([recorded](Stream& on) {
    recorded->done = true;
    recorded->failure = on.failure;
  });
  return nullptr;
}
constexpr tn_stream_table kStream = {.struct_size = sizeof(tn_stream_table),
                                     .flags = 0,
                                     .create = stream_create,
                                     .destroy = stream_destroy,
                                     .synchronize = stream_synchronize,
                                     .event_create = event_create,
                                     .event_destroy = event_destroy,
                                     .event_record = event_record,
                                     .event_wait = nullptr,
                                     .event_query = nullptr,
                                     .event_synchronize = nullptr,
                                     .event_elapsed = nullptr};

// ---- Devices and memory

tn_status* device_count(void*, uint32_t* count, tn_str*) { return *count = 1, nullptr; }

tn_status* device_info(void*, uint32_t, tn_device_info* out) {
  if (tn_status* status = enter("device.info")) return status;
  out->kind = does(Misdeed::KindUnknown) ? 77 : TN_DEVICE_KIND_OTHER;
  out->name = does(Misdeed::NameNotText) ? sdk::str_of("\xff\xfe") : sdk::str_of("Faulty");
  out->memory_total = 1 << 30;
  out->memory_free = does(Misdeed::MoreFreeThanThere) ? 1u << 31 : 1 << 30;
  out->dtypes = TN_MASK_ALL;
  if (does(Misdeed::GrowsStruct)) out->struct_size += 64;
  return nullptr;
}
tn_status* device_synchronize(void*, uint32_t) { return enter("device.synchronize"); }
constexpr tn_device_table kDevice = {sizeof(tn_device_table), 0, device_count, device_info,
                                     device_synchronize};

struct Header {
  uint64_t bytes;
};
constexpr uint64_t kHeader = 64;
void* g_last = nullptr;  // the latest block, while it lives

tn_status* memory_allocate(void*, uint32_t, uint64_t bytes, void** buffer, void** address) {
  if (tn_status* status = enter("memory.allocate")) return status;
  if (++g_control.allocations == g_control.fail_allocation ||
      static_cast<uint64_t>(g_control.bytes) + bytes > g_control.capacity)
    return error(TN_OUT_OF_MEMORY, "the device is full");
  if (does(Misdeed::NoBuffer)) return nullptr;
  if (does(Misdeed::SameBuffer) && g_last != nullptr) {
    *buffer = *address = g_last;
    return nullptr;
  }
  auto* block = static_cast<char*>(std::aligned_alloc(64, kHeader + (bytes + 127) / 64 * 64));
  if (block == nullptr) return error(TN_OUT_OF_MEMORY, "malloc failed");
  std::memset(block, 0, kHeader);
  reinterpret_cast<Header*>(block)->bytes = bytes;
  ++g_control.blocks;
  g_control.bytes += static_cast<int64_t>(bytes);
  g_last = *buffer = block + kHeader;
  *address = ADDRESSABLE && !does(Misdeed::NoAddress)
                 ? block + kHeader + (does(Misdeed::CrookedAddress) ? 8 : 0)
                 : nullptr;
  return nullptr;
}
void memory_free(void*, uint32_t, void* buffer) {
  char* block = static_cast<char*>(buffer) - kHeader;
  if (buffer == g_last) g_last = nullptr;
  --g_control.blocks;
  g_control.bytes -= static_cast<int64_t>(reinterpret_cast<Header*>(block)->bytes);
  std::free(block);
}

const tn_call* g_old_call = nullptr;

tn_status* memory_copy_in(void*, uint32_t, void* stream, const void* src, void* buffer,
                          uint64_t offset, uint64_t bytes) {
  if (tn_status* status = enter("memory.copy_in")) return status;
  if (does(Misdeed::OutputTooLate) && g_old_call != nullptr) {
    const tn_view* view = nullptr;
    const int64_t shape[] = {1};
    if (tn_status* status = sdk::host()->make_output(g_old_call, 0, 1, shape, &view)) return status;
  }
  stream_of(stream).drain();
  std::memcpy(static_cast<char*>(buffer) + offset, src, bytes);
  return nullptr;
}
tn_status* memory_copy_out(void*, uint32_t, void* stream, void* buffer, uint64_t offset, void* dst,
                           uint64_t bytes) {
  if (tn_status* status = enter("memory.copy_out")) return status;
  stream_of(stream).work.emplace_back([=](Stream& on) {
    if (on.failure.empty()) std::memcpy(dst, static_cast<char*>(buffer) + offset, bytes);
  });
  return nullptr;
}
tn_status* memory_copy_within(void*, uint32_t, void* stream, void* src, uint64_t src_offset,
                              void* dst, uint64_t dst_offset, uint64_t bytes) {
  if (tn_status* status = enter("memory.copy_within")) return status;
  stream_of(stream).work.emplace_back([=](Stream& on) {
    if (on.failure.empty())
      std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<char*>(src) + src_offset,
                   bytes);
  });
  return nullptr;
}
constexpr tn_memory_table kMemory = {.struct_size = sizeof(tn_memory_table),
                                     .flags = ADDRESSABLE ? TN_MEMORY_ADDRESSABLE : 0,
                                     .allocate = memory_allocate,
                                     .free = memory_free,
                                     .host_allocate = nullptr,
                                     .host_free = nullptr,
                                     .copy_in = memory_copy_in,
                                     .copy_out = memory_copy_out,
                                     .copy_within = memory_copy_within,
                                     .copy_peer = nullptr,
                                     .fill = nullptr};

// ---- Kernels

float* floats(const tn_view& view) {
  return ADDRESSABLE ? static_cast<float*>(view.data)
                     : reinterpret_cast<float*>(static_cast<char*>(view.buffer) + view.offset);
}
int64_t numel(const tn_view& view) {
  int64_t n = 1;
  for (uint32_t d = 0; d < view.ndim; ++d) n *= view.shape[d];
  return n;
}

struct Kernel {
  const char* op;
  float (*compute)(float, float);
  uint32_t operands;
};
constexpr Kernel kAdd = {"add", [](float x, float y) { return x + y; }, 2};
constexpr Kernel kMul = {"mul", [](float x, float y) { return x * y; }, 2};
constexpr Kernel kClone = {"clone", [](float x, float) { return x; }, 1};
constexpr Kernel kNeg = {"neg", [](float x, float) { return -x; }, 1};

float* g_old_output = nullptr;

// Breaches that concern no element.
tn_status* misbehave(const tn_call* call) {
  const tn_host* host = sdk::host();
  tn_status* status = nullptr;
  static char forged[64];
  switch (g_control.misdeed) {
    case Misdeed::ForgedStatus:
      return reinterpret_cast<tn_status*>(forged);
    case Misdeed::ReleasedStatus:
      host->status_release(status = error(TN_INTERNAL, "gone"));
      return status;
    case Misdeed::StatusReleasedTwice:
      host->status_release(status = error(TN_INTERNAL, "gone"));
      host->status_release(status);
      return nullptr;
    case Misdeed::NoErrorCode:
      return error(TN_OK, "all is well");
    case Misdeed::MessageNotText:
      return error(TN_INTERNAL, "\xc3");
    case Misdeed::LogLevel:
      host->log(9, sdk::str_of("loud"));
      return nullptr;
    case Misdeed::Throws:
      throw std::runtime_error("no barrier here");
    case Misdeed::ThrowsNumber:
      throw 42;
    case Misdeed::RegistersLate: {
      const tn_kernel none{};
      return host->register_kernels(g_token, sdk::str_of(TYPE), &none, 1, sizeof none);
    }
    case Misdeed::OutputTooLate:
      g_old_call = call;
      return nullptr;
    case Misdeed::WritesShape:
      const_cast<int64_t*>(call->outs[0]->shape)[0] = 99;
      return nullptr;
    case Misdeed::WritesLoop:
      const_cast<int64_t*>(call->loop->shape)[0] = 99;
      return nullptr;
    case Misdeed::FreesOutput:
      std::free(floats(*call->outs[0]));
      return nullptr;
    case Misdeed::Crashes:
      *const_cast<volatile int*>(static_cast<int*>(nullptr)) = 1;
      return nullptr;
    case Misdeed::Exits:
      std::exit(0);
    default:
      return nullptr;
  }
}

void compute(const Kernel& kernel, float* out, float* x, const float* y, int64_t n) {
  if (does(Misdeed::WritesAfterFree) && g_old_output != nullptr) *g_old_output = 1;
  g_old_output = out;
  const int64_t end = does(Misdeed::SkipsElement) ? n - 1 : does(Misdeed::WritesBehind) ? n + 1 : n;
  for (int64_t i = 0; i < end; ++i) {
    const int64_t from = i < n ? i : n - 1;
    out[i] = kernel.compute(x[from], y[from]);
  }
  if (does(Misdeed::CopiesBehind)) std::memcpy(out + n, x + n, sizeof(float));
  if (does(Misdeed::WritesFarBehind)) out[n + 4096] = 1;
  if (does(Misdeed::WritesInput)) x[0] += 1;
}

tn_status* run(void* self, void*, const tn_call* call) {
  const auto& kernel = *static_cast<const Kernel*>(self);
  if (tn_status* status = enter("kernel.run")) return status;
  if (tn_status* status = misbehave(call)) return status;
  return sdk::guard([&] {
    if (is(g_control.throws, kernel.op))
      throw std::runtime_error(std::string(kernel.op) + " could not go on");
    const tn_view& out_view = *call->outs[0];
    float* out = floats(out_view);
    float* x = floats(*call->args[0].as.view);
    const float* y = kernel.operands == 2 ? floats(*call->args[1].as.view) : x;
    stream_of(call->stream).work.emplace_back([=, n = numel(out_view), &kernel](Stream& on) {
      if (is(g_control.fails_later, kernel.op) && on.failure.empty())
        on.failure = (g_control.anonymous ? "" : std::string("[") + kernel.op + "] ") +
                     "the device stopped in the middle of it";
      if (on.failure.empty()) compute(kernel, out, x, y, n);
    });
  });
}

int g_same_plan = 0;

tn_status* supports(void*, const tn_call* call, uint32_t* yes) {
  static uint32_t turns = 0;
  if (tn_status* status = enter("kernel.supports")) return status;
  *yes = does(Misdeed::AnswersTwo)       ? 2
         : does(Misdeed::AnswersInTurns) ? ++turns % 2
                                         : (call->flags & TN_CALL_CONTIGUOUS) != 0;
  return nullptr;
}
tn_status* prepare(void*, const tn_call*, void** plan) {
  if (tn_status* status = enter("kernel.prepare")) return status;
  ++g_control.plans;
  *plan = does(Misdeed::SamePlan) ? static_cast<void*>(&g_same_plan) : new int(1);
  if (does(Misdeed::SamePlan)) --g_control.plans;
  return nullptr;
}
void release(void*, void* plan) {
  if (plan == &g_same_plan) return;
  delete static_cast<int*>(plan);
  --g_control.plans;
}
uint64_t scratch_size(void*, const tn_call*, void*) {
  return does(Misdeed::HugeScratch) ? uint64_t{1} << 60 : 100;
}

// ---- An op of its own: x + x

tn_grad_call* g_old_gradient = nullptr;

tn_status* infer(void*, const tn_value* args, uint32_t, tn_result* const* results, uint32_t) {
  const tn_view& x = *args[0].as.view;
  results[0]->dtype = x.dtype;
  results[0]->ndim = x.ndim;
  if (does(Misdeed::ResizesResult)) results[0]->struct_size = 4096;
  for (uint32_t d = 0; d < x.ndim; ++d)
    results[0]->shape[d] = does(Misdeed::NegativeResult)  ? -1
                           : does(Misdeed::InfersAnother) ? x.shape[d] + 1
                                                          : x.shape[d];
  return nullptr;
}
// Claims that an argument is the result, without a reference of its own.
tn_status* borrow(void*, const tn_op*, const tn_value* args, uint32_t, tn_tensor** outs, uint32_t,
                  uint32_t* done) {
  outs[0] = args[0].as.tensor;
  *done = 1;
  return nullptr;
}
const tn_call_layer kBorrows = {.struct_size = sizeof kBorrows,
                                .flags = 0,
                                .ctx = nullptr,
                                .call = borrow,
                                .call_into = nullptr};
tn_status* decompose(void*, const tn_value* args, uint32_t, tn_tensor** outs, uint32_t) {
  const tn_host* host = sdk::host();
  if (does(Misdeed::GradientTooLate) && g_old_gradient != nullptr)
    host->grad_output(g_old_gradient, 0);
  if (does(Misdeed::KeepsReference)) host->tensor_retain(args[0].as.tensor);
  if (does(Misdeed::ReleasesBorrowed)) host->tensor_release(args[0].as.tensor);
  if (does(Misdeed::BorrowedResult)) {
    outs[0] = args[0].as.tensor;
    return nullptr;
  }
  const tn_value both[] = {args[0], args[0]};
  if (!does(Misdeed::LayerBorrows))
    return host->op_call(host->op_find(sdk::str_of("add")), both, 2, outs, 1);
  if (tn_status* status = host->call_layer_push(&kBorrows)) return status;
  tn_status* status = host->op_call(host->op_find(sdk::str_of("add")), both, 2, outs, 1);
  tn_status* popped = host->call_layer_pop(&kBorrows);
  if (status == nullptr) return popped;
  host->status_release(popped);
  return status;
}
void saves(void*, const tn_value*, uint32_t, uint64_t, uint64_t* inputs, uint64_t*) {
  if (does(Misdeed::SavesMore)) *inputs = 0xff;
}
// The same tensor as often as the second argument says.
tn_status* count(void*, const tn_value* args, uint32_t, uint32_t* entries) {
  static uint32_t calls = 0;
  *entries = static_cast<uint32_t>(args[1].as.i) + (does(Misdeed::CountsAnew) ? calls++ % 2 : 0);
  return nullptr;
}
tn_status* infer_copies(void*, const tn_value* args, uint32_t, tn_result* const* results,
                        uint32_t n) {
  const tn_view& x = *args[0].as.view;
  for (uint32_t k = 0; k < n; ++k) {
    results[k]->dtype = x.dtype;
    results[k]->ndim = x.ndim;
    std::copy_n(x.shape, x.ndim, results[k]->shape);
  }
  return nullptr;
}
tn_status* copies(void*, const tn_value* args, uint32_t, tn_tensor** outs, uint32_t nouts) {
  const tn_host* host = sdk::host();
  for (uint32_t k = 0; k < nouts; ++k)
    if (tn_status* status =
            host->op_call(host->op_find(sdk::str_of("clone")), args, 1, &outs[k], 1))
      return status;
  return nullptr;
}
tn_status* gradient(void*, tn_grad_call* call) {
  const tn_host* host = sdk::host();
  g_old_gradient = call;
  tn_tensor* g = host->grad_output(call, 0);
  tn_value both[] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_TENSOR, 0, {}}};
  both[0].as.tensor = both[1].as.tensor = g;
  tn_tensor* twice = nullptr;
  if (tn_status* status = host->op_call(host->op_find(sdk::str_of("add")), both, 2, &twice, 1))
    return status;
  tn_status* status = host->grad_set(call, 0, twice);
  host->tensor_release(twice);
  return status;
}

// ---- Entry

tn_kernel kernel_of(const char* schema, const Kernel& kernel) {
  tn_kernel table{};
  table.struct_size = sizeof table;
  table.op = sdk::str_of(schema);
  table.dtypes = TN_MASK(TN_DTYPE_F32);
  table.supports = supports;
  table.run = run;
  table.self = const_cast<Kernel*>(&kernel);
  return table;
}

tn_status* start(const tn_host* from, void* token, tn_str, void** state) {
  sdk::adopt_host(from);
  g_token = token;
  *state = &g_control;
  return sdk::guard([&] {
    sdk::Registry registry(sdk::host(), token, "");
    tn_device_type type{};
    type.struct_size = sizeof type;
    type.name = sdk::str_of(TYPE);
    type.device = &kDevice;
    type.memory = &kMemory;
    type.stream = &kStream;
    registry.device_type(type);
    tn_kernel mul = kernel_of("mul(Tensor x, Tensor y) -> Tensor @1", kMul);
    mul.prepare = prepare;
    mul.release = release;
    mul.scratch_size = scratch_size;
    registry.kernels(TYPE, {kernel_of("add(Tensor x, Tensor y) -> Tensor @1", kAdd), mul,
                            kernel_of("neg(Tensor x) -> Tensor @1", kNeg),
                            kernel_of("clone(Tensor x) -> Tensor @1", kClone)});
    tn_op_def twice{};
    twice.struct_size = sizeof twice;
    twice.schema = sdk::str_of(TYPE ".twice(Tensor x) -> Tensor @1");
    twice.infer = infer;
    twice.decompose = decompose;
    twice.gradient = gradient;
    twice.saves = saves;
    twice.saved_inputs = 1;  // where nothing may be saved, nothing is asked for
    registry.op(twice);
    tn_op_def list{};
    list.struct_size = sizeof list;
    list.schema = sdk::str_of(TYPE ".copies(Tensor x, int n) -> Tensor[] ys @1");
    list.infer = infer_copies;
    list.decompose = copies;
    list.count = count;
    registry.op(list);
  });
}

const void* get_interface(void*, tn_str name, uint32_t) {
  return sdk::view_of(name) == kControlInterface ? &g_control : nullptr;
}

}  // namespace
}  // namespace tenon::test

extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  using namespace tenon::test;
  static const tn_plugin plugin = {.struct_size = sizeof(tn_plugin),
                                   .abi_major = TN_ABI_MAJOR,
                                   .abi_minor = TN_ABI_MINOR,
                                   .min_host_minor = 0,
                                   .id = {"test." TYPE, sizeof("test." TYPE) - 1},
                                   .version = {"1", 1},
                                   .start = start,
                                   .quiesce = nullptr,
                                   .stop = nullptr,
                                   .get_interface = get_interface};
  *out = &plugin;
  return nullptr;
}
