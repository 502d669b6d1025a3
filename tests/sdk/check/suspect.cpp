// A small backend whose streams delay work until somebody waits, with a fault chosen by TENON_SUSPECT, which `tenon check` must find.
// Without a fault it is correct.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "tenon/plugin.hpp"

using tenon::sdk::fail;
using tenon::sdk::guard;
using tenon::sdk::Status;

namespace {

bool is_eager() {
  const char* chosen = std::getenv("TENON_SUSPECT");
  return chosen != nullptr && std::string_view(chosen).starts_with("eager");
}
bool faulty(std::string_view fault) {
  const char* chosen = std::getenv("TENON_SUSPECT");
  return chosen != nullptr && fault == chosen;
}

// ---- Streams: enqueued work runs when somebody waits for it

std::recursive_mutex g_mutex;  // of everything below
using Lock = std::lock_guard<std::recursive_mutex>;

struct Stream {
  std::vector<std::function<void()>> work;
  size_t done = 0;
  void run_to(size_t position) {
    while (done < position && done < work.size()) {
      const auto now = std::move(work[done++]);
      now();
    }
  }
  void run() {
    run_to(work.size());
    work.clear();
    ++finished;
    done = 0;
  }
  uint64_t finished = 0;  // how often all work had run
};
std::set<Stream*> g_streams;
Stream g_immediate;

struct Event {
  Stream* stream = nullptr;
  size_t position = 0;
  uint64_t round = 0;
  double seconds = 0;
  bool is_done() const {
    return stream == nullptr || stream->finished > round || stream->done >= position;
  }
  void finish() const {
    if (!is_done()) stream->run_to(position);
  }
};

void run_all() {
  for (Stream* stream : g_streams) stream->run();
}

// Faults that begin with "eager" have a thread that does the work as fast as it can, one piece of each stream in turn.
void be_eager() {
  static const bool once = [] {
    std::thread([] {
      for (;; std::this_thread::yield()) {
        const Lock lock(g_mutex);
        for (Stream* stream : g_streams)
          if (stream->run_to(stream->done + 1); stream->done == stream->work.size()) stream->run();
      }
    }).detach();
    return true;
  }();
  static_cast<void>(once);
}

void enqueue(void* stream, std::function<void()> work) {
  const Lock lock(g_mutex);
  if (stream == nullptr) return work();
  static_cast<Stream*>(stream)->work.push_back(std::move(work));
}

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status stream_create(void*, uint32_t, void** out) {
  return guard([&] {
    const Lock lock(g_mutex);
    auto* stream = new Stream;
    g_streams.insert(stream);
    *out = stream;
  });
}
void stream_destroy(void*, void* handle) {
  const Lock lock(g_mutex);
  auto* stream = static_cast<Stream*>(handle);
  stream->run();
  g_streams.erase(stream);
  delete stream;
}
Status stream_synchronize(void*, void* stream) {
  return guard([&] {
    const Lock lock(g_mutex);
    static_cast<Stream*>(stream)->run();
  });
}
Status event_create(void*, uint32_t, void** out) {
  return guard([&] { *out = new Event; });
}
void event_destroy(void*, void* event) { delete static_cast<Event*>(event); }
Status event_record(void*, void* event, void* stream) {
  return guard([&] {
    const Lock lock(g_mutex);
    auto& at = *static_cast<Event*>(event);
    at.stream = static_cast<Stream*>(stream);
    at.position = at.stream->work.size();
    at.round = at.stream->finished;
    at.seconds = clock_seconds();
  });
}
Status event_wait(void*, void* event, void* stream) {
  return guard([&] {
    if (faulty("event_wait") || faulty("eager_event_wait")) return;
    const Event at = *static_cast<Event*>(event);
    enqueue(stream, [at] { at.finish(); });
  });
}
Status event_query(void*, void* event, uint32_t* done) {
  return guard([&] {
    const Lock lock(g_mutex);
    const auto& at = *static_cast<Event*>(event);
    if (!at.is_done()) at.stream->run_to(at.stream->done + 1);
    *done = faulty("event_query") || at.is_done() ? 1 : 0;
  });
}
Status event_synchronize(void*, void* event) {
  return guard([&] {
    const Lock lock(g_mutex);
    static_cast<Event*>(event)->finish();
  });
}
Status event_elapsed(void*, void* start, void* end, double* seconds) {
  *seconds = static_cast<Event*>(end)->seconds - static_cast<Event*>(start)->seconds;
  if (faulty("elapsed")) *seconds = -1;
  return nullptr;
}

// ---- Devices and memory

Status count(void*, uint32_t* devices, tn_str* reason) {
  *devices = 2;
  *reason = {nullptr, 0};
  return nullptr;
}
Status info(void*, uint32_t, tn_device_info* out) {
  out->kind = TN_DEVICE_KIND_OTHER;
  out->name = tenon::sdk::str_of("Suspect");
  out->memory_total = out->memory_free = uint64_t{1} << 28;
  out->compute_units = out->subgroup_size = 1;
  out->dtypes = TN_MASK_ALL;
  return nullptr;
}
Status synchronize(void*, uint32_t) {
  return guard([&] {
    const Lock lock(g_mutex);
    run_all();
  });
}

Status allocate(void*, uint32_t, uint64_t bytes, void** buffer, void** address) {
  return guard([&] {
    *address = nullptr;
    if (faulty("absurd") && bytes > uint64_t{1} << 40) bytes = 64;
    if (bytes > uint64_t{1} << 40) fail(TN_OUT_OF_MEMORY, "there are not ", bytes, " bytes");
    *buffer = std::malloc(bytes < 64 ? 64 : bytes);
    if (*buffer == nullptr) fail(TN_OUT_OF_MEMORY, "there are not ", bytes, " bytes");
  });
}
void release(void*, uint32_t, void* buffer) {
  const Lock lock(g_mutex);
  run_all();  // some work may still use it
  std::free(buffer);
}
char* at(void* buffer, uint64_t offset) { return static_cast<char*>(buffer) + offset; }

Status copy_in(void*, uint32_t, void* stream, const void* src, void* buffer, uint64_t offset,
               uint64_t bytes) {
  return guard([&] {
    const auto* from = static_cast<const char*>(src);
    if (faulty("copy_in_late"))
      return enqueue(stream, [=] { std::memcpy(at(buffer, offset), from, bytes); });
    enqueue(stream, [=, kept = std::vector<char>(from, from + bytes)] {
      std::copy(kept.begin(), kept.end(), at(buffer, offset));
    });
  });
}
Status copy_out(void*, uint32_t, void* stream, void* buffer, uint64_t offset, void* dst,
                uint64_t bytes) {
  return guard([&] { enqueue(stream, [=] { std::memcpy(dst, at(buffer, offset), bytes); }); });
}
Status copy_within(void*, uint32_t, void* stream, void* src, uint64_t src_offset, void* dst,
                   uint64_t dst_offset, uint64_t bytes) {
  return guard([&] {
    enqueue(stream, [=] {
      if (!faulty("overlap")) {
        std::memmove(at(dst, dst_offset), at(src, src_offset), bytes);
        return;
      }
      volatile char* to = at(dst, dst_offset);
      for (uint64_t i = 0; i < bytes; ++i) to[i] = at(src, src_offset)[i];
    });
  });
}
Status copy_peer(void* self, uint32_t, void* src, uint64_t src_offset, uint32_t, void* dst,
                 uint64_t dst_offset, uint64_t bytes, void* stream) {
  return copy_within(self, 0, stream, src, src_offset, dst, dst_offset, bytes);
}
Status fill(void*, uint32_t, void* stream, void* buffer, uint64_t offset, uint64_t bytes,
            const void* pattern, uint32_t size) {
  return guard([&] {
    const auto* from = static_cast<const char*>(pattern);
    if (faulty("fill")) offset = 0;
    enqueue(stream, [=, value = std::vector<char>(from, from + size)] {
      for (uint64_t i = 0; i < bytes; ++i) *at(buffer, offset + i) = value[i % size];
    });
  });
}

// ---- Kernels: f32, elementwise, any strides

struct Operand {
  float* data;
  std::vector<int64_t> strides;
};
struct Elementwise {
  std::vector<int64_t> shape;
  std::vector<Operand> operands;

  explicit Elementwise(const tn_call& call) {
    const tn_loop& loop = *call.loop;
    shape.assign(loop.shape, loop.shape + loop.ndim);
    const auto add = [&](const tn_view& view) {
      const int64_t* strides = loop.strides[operands.size()];
      operands.push_back({reinterpret_cast<float*>(at(view.buffer, 0) + view.offset),
                          {strides, strides + loop.ndim}});
    };
    add(*call.outs[0]);
    for (uint32_t i = 0; i < call.nargs; ++i)
      if (call.args[i].tag == TN_VALUE_VIEW) add(*call.args[i].as.view);
  }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t each : shape) n *= each;
    return n;
  }
  template <class Fn>
  void run(Fn&& fn, int64_t n, bool dense) const {
    for (int64_t i = 0; i < n; ++i) {
      float* where[3] = {};
      for (size_t k = 0; k < operands.size(); ++k) {
        int64_t offset = 0, rest = i;
        for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
          offset += rest % shape[d] * operands[k].strides[d];
        where[k] = operands[k].data + (dense ? i : offset);
      }
      *where[0] = fn(*where[1], operands.size() > 2 ? *where[2] : 0.0f);
    }
  }
};

// State that a careless author shares between threads.
std::mutex g_shared_mutex;
std::condition_variable g_shared_changed;
const tn_call* g_shared = nullptr;

bool disturbed(const tn_call* call) {
  std::unique_lock lock(g_shared_mutex);
  g_shared = call;
  g_shared_changed.notify_all();
  // Long enough for another thread to arrive, if there is one.
  return g_shared_changed.wait_for(lock, std::chrono::milliseconds(20),
                                   [&] { return g_shared != call; });
}

float negated(float x, float) { return -x; }
float positive(float x, float) { return x > 0 || x != x ? x : 0; }
float sum(float x, float y) { return x + y; }
float product(float x, float y) { return x * y; }

enum Which { kAdd, kMul, kNeg, kRelu };

Status run_kernel(void* self, void*, const tn_call* call) {
  return guard([&] {
    const auto which = static_cast<Which>(reinterpret_cast<intptr_t>(self));
    if (which == kAdd && faulty("crash")) std::raise(SIGSEGV);
    while (which == kMul && faulty("hang")) pause();
    if (which == kAdd && faulty("lost")) fail(TN_DEVICE_LOST, "the device fell off");
    const Elementwise work(*call);
    const bool wrong = (which == kAdd && faulty("value")) ||
                       (which == kNeg && faulty("shared") && disturbed(call));
    if (which == kRelu && faulty("exit")) std::exit(0);
    static int calls = 0;
    const bool odd = which == kNeg && faulty("unrepeatable") && ++calls % 2 == 1;
    const bool dense = which == kMul && faulty("false_yes");
    int64_t n = work.size();
    if (which == kRelu && faulty("tail")) n -= n % 4;
    enqueue(call->stream, [=] {
      if (which == kMul && faulty("overrun")) work.operands[0].data[n] = 0;
      if (odd) return work.run([](float x, float) { return -x * 1.0000002f; }, n, false);
      if (wrong)
        work.run([](float x, float y) { return x + y + 1; }, n, false);
      else
        work.run(which == kAdd   ? sum
                 : which == kMul ? product
                 : which == kNeg ? negated
                                 : positive,
                 n, dense);
    });
  });
}

Status supports(void* self, const tn_call* call, uint32_t* yes) {
  static uint32_t asked = 0;
  const auto which = static_cast<Which>(reinterpret_cast<intptr_t>(self));
  *yes = call->loop != nullptr && call->loop->ndim <= 4 ? 1 : 0;
  if (which == kNeg && faulty("empty_claim")) *yes = 0;
  if (which == kRelu && faulty("moody")) *yes = ++asked % 3 == 0 ? 0 : 1;
  return nullptr;
}

// ---- Plans, of mul

Status prepare(void*, const tn_call*, void** plan) { return *plan = new char[40], nullptr; }
void forget(void*, void* plan) {
  if (!faulty("plan_leak")) delete[] static_cast<char*>(plan);
}

// ---- Kernels for the host

// Through scratch memory that all calls share, or correctly.
Status run_on_host(void*, void*, const tn_call* call) {
  return guard([&] {
    static float shared[64];
    float own[64];
    float* scratch = faulty("scratch") ? shared : own;
    const tn_view &x = *call->args[0].as.view, &y = *call->outs[0];
    const auto* from = static_cast<const float*>(x.data);
    auto* to = static_cast<float*>(y.data);
    const int64_t n = call->loop->ndim == 0 ? 1 : call->loop->shape[0];
    for (int64_t i = 0; i < n; i += 64) {
      const int64_t some = std::min<int64_t>(64, n - i);
      for (int64_t k = 0; k < some; ++k) scratch[k] = from[i + k] * from[i + k];
      std::atomic_signal_fence(std::memory_order_seq_cst);
      // Lets other threads run here, however busy the machine is.
      if (scratch == shared) std::this_thread::sleep_for(std::chrono::microseconds(20));
      for (int64_t k = 0; k < some; ++k) to[i + k] = faulty("host_value") ? 1 : scratch[k];
    }
  });
}
Status only_dense(void*, const tn_call* call, uint32_t* yes) {
  *yes = (call->flags & TN_CALL_CONTIGUOUS) != 0 ? 1 : 0;
  return nullptr;
}

// ---- An op of its own: x³

Status call_op(std::string_view name, tn_value x, tn_value y, tn_tensor** out) {
  const tn_value args[] = {x, y};
  const tn_host* host = tenon::sdk::host();
  return host->op_call(host->op_find(tenon::sdk::str_of(name)), args, 2, out, 1);
}
tn_value tensor_value(tn_tensor* tensor) {
  tn_value value{TN_VALUE_TENSOR, 0, {}};
  value.as.tensor = tensor;
  return value;
}
Status infer_cube(void*, const tn_value* args, uint32_t, tn_result* const* results, uint32_t) {
  const tn_view& x = *args[0].as.view;
  results[0]->dtype = x.dtype;
  results[0]->ndim = x.ndim;
  for (uint32_t d = 0; d < x.ndim; ++d)
    results[0]->shape[d] = x.shape[faulty("infer") ? x.ndim - 1 - d : d];
  return nullptr;
}
Status cube(void*, const tn_value* args, uint32_t, tn_tensor** outs, uint32_t) {
  tn_tensor* square = nullptr;
  if (Status status = call_op("mul", args[0], args[0], &square)) return status;
  Status status = call_op("mul", tensor_value(square), args[0], outs);
  if (!faulty("op_leak")) tenon::sdk::host()->tensor_release(square);
  if (faulty("retain")) tenon::sdk::host()->tensor_retain(args[0].as.tensor);
  return status;
}
// 3·x²·g
Status cube_gradient(void*, tn_grad_call* call) {
  const tn_host* host = tenon::sdk::host();
  const tn_value x = tensor_value(host->grad_saved_input(call, 0));
  tn_value three{TN_VALUE_FLOAT, 0, {}};
  three.as.f = faulty("gradient") ? 2 : 3;
  tn_tensor *square = nullptr, *scaled = nullptr, *result = nullptr;
  Status status = call_op("mul", x, x, &square);
  if (status == nullptr) status = call_op("mul", tensor_value(square), three, &scaled);
  if (status == nullptr)
    status =
        call_op("mul", tensor_value(scaled), tensor_value(host->grad_output(call, 0)), &result);
  if (status == nullptr) status = host->grad_set(call, 0, result);
  for (tn_tensor* tensor : {square, scaled, result})
    if (tensor != square || !faulty("gradient_leak")) host->tensor_release(tensor);
  return status;
}

// ---- Start

void start(tenon::sdk::Registry& registry) {
  static const tn_device_table device = {sizeof device, 0, count, info, synchronize};
  static const tn_memory_table memory = {sizeof memory, 0,         allocate, release,
                                         nullptr,       nullptr,   copy_in,  copy_out,
                                         copy_within,   copy_peer, fill};
  static const tn_stream_table stream = {sizeof stream,      0,
                                         stream_create,      stream_destroy,
                                         stream_synchronize, event_create,
                                         event_destroy,      event_record,
                                         event_wait,         event_query,
                                         event_synchronize,  event_elapsed};
  static const tn_device_type type = {
      sizeof type, 0, tenon::sdk::str_of("suspect"), nullptr, &device, &memory, &stream};
  static const tn_op_def def = [] {
    tn_op_def cubed{};
    cubed.struct_size = sizeof cubed;
    cubed.schema = tenon::sdk::str_of("suspect.cube(Tensor x) -> Tensor @1");
    cubed.infer = infer_cube;
    cubed.decompose = cube;
    cubed.gradient = cube_gradient;
    cubed.saved_inputs = 1;
    return cubed;
  }();
  if (is_eager()) be_eager();
  if (faulty("start_leak")) static_cast<void>(std::memset(std::malloc(64), 1, 64));
  if (faulty("start_file")) static_cast<void>(dup(0));
  try {
    registry.device_type(type);
  } catch (const tenon::sdk::Error&) {
    if (!faulty("deaf")) throw;
    return;
  }
  constexpr std::pair<const char*, Which> kKernels[] = {
      {"add(Tensor x, Tensor y) -> Tensor @1", kAdd},
      {"mul(Tensor x, Tensor y) -> Tensor @1", kMul},
      {"neg(Tensor x) -> Tensor @1", kNeg},
      {"relu(Tensor x) -> Tensor @1", kRelu}};
  for (const auto& [schema, which] : kKernels) {
    tn_kernel kernel = tenon::sdk::make_kernel(schema, TN_MASK(TN_DTYPE_F32), run_kernel);
    kernel.supports = supports;
    kernel.self = reinterpret_cast<void*>(static_cast<intptr_t>(which));
    if (which == kMul) kernel.prepare = prepare, kernel.release = forget;
    registry.kernels("suspect", {kernel});
  }
  tn_kernel square = tenon::sdk::make_kernel("square(Tensor x) -> Tensor @1", TN_MASK(TN_DTYPE_F32),
                                             run_on_host, 1000);
  square.supports = only_dense;
  registry.kernels("cpu", {square});
  registry.op(def);
}

// ---- A layer that computes x · y as y · x

Status swap_factors(void*, const tn_op* op, const tn_value* args, uint32_t, tn_tensor** outs,
                    uint32_t, uint32_t* done) {
  const tn_host* host = tenon::sdk::host();
  const tn_op* mul = host->op_find(tenon::sdk::str_of("mul"));
  if (op != mul) return nullptr;
  tn_value swapped[] = {args[1], args[0]};
  if (faulty("layer_value")) swapped[0] = swapped[1];
  if (faulty("layer_leak") && args[0].tag == TN_VALUE_TENSOR)
    host->tensor_retain(args[0].as.tensor);
  Status status = host->op_call(mul, swapped, 2, outs, 1);
  *done = status == nullptr;
  return status;
}

const void* get_interface(void*, tn_str name, uint32_t) {
  static const tn_call_layer layer = {sizeof layer, 0, nullptr, swap_factors, nullptr};
  static const tn_offered_layer offered[] = {{{"swapped", 7}, &layer, 0}};
  static const tn_layers layers = {sizeof layers, 0, offered, 1, sizeof *offered};
  return tenon::sdk::view_of(name) == TN_LAYERS_NAME ? &layers : nullptr;
}

}  // namespace

// Written without TENON_PLUGIN, so that the query itself can be at fault.
extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  static tn_plugin plugin = {
      sizeof(tn_plugin),
      TN_ABI_MAJOR,
      TN_ABI_MINOR,
      0,
      {"test.suspect", 12},
      {"1.0", 3},
      [](const tn_host* from, void* token, tn_str directory, void** state) -> tn_status* {
        *state = nullptr;
        const tn_host* host = tenon::sdk::adopt_host(from);
        return guard(host, [&] {
          tenon::sdk::Registry registry(host, token, tenon::sdk::view_of(directory));
          start(registry);
        });
      },
      nullptr,
      nullptr,
      get_interface};
  if (faulty("query")) plugin.version.size ^= 2;
  *out = &plugin;
  return nullptr;
}
