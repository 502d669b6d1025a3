// What ran when, on one thread, by the hooks around every call; and when devices ran it, by backends that tell.
#include "profiler.hpp"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bound.hpp"
#include "tenon/ext/draft/profiler.h"
#include "tenon/plugin.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tenon::python {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Appends dtype and shape of x to a list.
void append_shape(std::string& list, const tn_tensor* x) {
  if (!list.empty()) list += ", ";
  list += detail::to_view(tn_dtype_name(tn_tensor_dtype(x)));
  list += '[';
  for (uint32_t i = 0; i < tn_tensor_ndim(x); ++i)
    list += (i > 0 ? ", " : "") + std::to_string(tn_tensor_shape(x)[i]);
  list += ']';
}

// Paths of loaded plugins that have devices: of their libraries, or of their cards.
std::vector<std::string> plugins_with_devices() {
  std::vector<std::string> paths;
  for (const PluginInfo& info : plugins())
    if (info.state == PluginInfo::State::Loaded && info.devices > 0) paths.emplace_back(info.path);
  return paths;
}

// The profiler's table of a library that is loaded already; NULL where it has none.
const tn_profiler* profiler_of(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  const auto query = reinterpret_cast<tn_plugin_query_fn>(dlsym(handle, "tn_plugin_query"));
  const tn_plugin* table = nullptr;
  if (query != nullptr) detail::check(query(TN_ABI_MAJOR, TN_ABI_MINOR, &table));
  dlclose(handle);  // the core keeps the mapping
  if (table == nullptr || table->get_interface == nullptr) return nullptr;
  return static_cast<const tn_profiler*>(
      table->get_interface(nullptr, detail::to_str(TN_PROFILER_NAME), TN_PROFILER_REVISION));
}

// Calls of the thread that started it; the calls an op is made of lie inside its own.
class Profiler {
 public:
  Profiler() {
    hooks_.struct_size = sizeof(hooks_);
    hooks_.ctx = this;
    hooks_.before = [](void* self, const tn_op* op, const tn_value* args, uint32_t count) {
      return detail::guarded("profiler",
                             [&] { static_cast<Profiler*>(self)->before(op, args, count); });
    };
    hooks_.after = [](void* self, const tn_op* op, const tn_value*, uint32_t,
                      tn_tensor* const* outs, uint32_t count, tn_str provider) {
      static_cast<Profiler*>(self)->after(op, outs, count, provider);
    };
  }
  ~Profiler() {
    try {
      stop();
    } catch (const Error&) {  // of a device; the next wait on it tells as well
    }
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void start(const std::vector<std::string>& libraries, bool calls) {
    if (running_ != nullptr)
      throw Error(TN_FAILED_PRECONDITION, "[profiler] another one runs on this thread");
    running_ = this;
    try {
      for (const std::string& library : libraries)
        if (const tn_profiler* backend = profiler_of(library)) {
          detail::check(backend->start());
          backends_.push_back(backend);
        }
    } catch (...) {
      stop();
      throw;
    }
    calls_ = calls;
    if (calls) tn_call_hooks_set(&hooks_);
  }
  // Waits for the devices that tell.
  void stop() {
    if (running_ != this) return;
    if (std::exchange(calls_, false)) tn_call_hooks_set(nullptr);
    running_ = nullptr;
    tn_status* failed = nullptr;
    for (const tn_profiler* backend : std::exchange(backends_, {})) {
      telling_ = backend;
      tn_status* status = backend->stop(
          [](void* self, const tn_profiler_span* span) {
            static_cast<Profiler*>(self)->hear(*span);
          },
          this);
      tn_status_release(std::exchange(failed, status));
    }
    detail::check(failed);
  }

  // (op, provider, operands, start, end, depth, bytes used behind it, results) of each call that came to its end; times in ns.
  nb::list events() const {
    nb::list out;
    for (const Event& event : events_)
      if (event.end != 0)
        out.append(nb::make_tuple(detail::to_view(tn_op_name(event.op)), event.provider,
                                  event.operands, event.start, event.end, event.depth, event.used,
                                  event.results));
    return out;
  }

  // (device, op, what, index of the call or -1, start, end, bytes, whether the thread waited) of each span; times in seconds.
  nb::list spans() const {
    std::vector<int64_t> place = {-1};  // of a tag, among the calls that came to their end
    int64_t ended = 0;
    for (const Event& event : events_) place.push_back(event.end != 0 ? ended++ : -1);
    nb::list out;
    for (const Span& span : spans_)
      out.append(nb::make_tuple(span.device, span.op, span.what, place.at(span.tag), span.start,
                                span.end, span.bytes, span.waited));
    return out;
  }

 private:
  struct Span {
    std::string device;
    std::string_view op, what;  // static storage
    uint64_t tag;
    double start, end;
    uint64_t bytes;
    bool waited;
  };
  struct Event {
    const tn_op* op;
    int64_t start, end;
    size_t depth;
    uint64_t used;
    std::string_view provider;  // static storage
    std::string operands, results;
  };

  void before(const tn_op* op, const tn_value* args, uint32_t count) {
    std::string operands;
    for (uint32_t i = 0; i < count; ++i)
      if (args[i].tag == TN_VALUE_TENSOR) append_shape(operands, args[i].as.tensor);
    open_.push_back(events_.size());
    events_.push_back({op, 0, 0, open_.size() - 1, 0, {}, std::move(operands), {}});
    tag(events_.size());
    events_.back().start = now();
  }

  void after(const tn_op* op, tn_tensor* const* outs, uint32_t count, tn_str provider) {
    const int64_t end = now();
    // Calls that failed have no end.
    while (!open_.empty() && events_[open_.back()].op != op) open_.pop_back();
    if (open_.empty()) return;
    Event& event = events_[open_.back()];
    open_.pop_back();
    tag(open_.empty() ? 0 : open_.back() + 1);
    event.end = end;
    event.depth = open_.size();
    event.provider = detail::to_view(provider);
    for (uint32_t i = 0; i < count; ++i)
      if (outs[i] != nullptr) append_shape(event.results, outs[i]);
    if (count > 0 && outs[0] != nullptr) {
      tn_memory_stats stats{};
      stats.struct_size = sizeof(stats);
      if (tn_status* status = tn_memory_get_stats(tn_tensor_device(outs[0]), &stats))
        tn_status_release(status);
      event.used = stats.used;
    }
  }

  // What is enqueued from now on belongs to that call, counted from 1.
  void tag(uint64_t call) {
    for (const tn_profiler* backend : backends_) backend->tag(call);
  }

  void hear(const tn_profiler_span& span) {
    std::string device(detail::to_view(telling_->device_type));
    device += ':' + std::to_string(span.device_index);
    spans_.push_back({std::move(device), detail::to_view(span.op), detail::to_view(span.what),
                      span.tag, span.start, span.end, span.bytes, span.kind == TN_PROFILER_WAITED});
  }

  static thread_local Profiler* running_;
  bool calls_ = false;
  tn_call_hooks hooks_{};
  std::vector<Event> events_;
  std::vector<size_t> open_;
  std::vector<const tn_profiler*> backends_;
  const tn_profiler* telling_ = nullptr;
  std::vector<Span> spans_;
};
thread_local Profiler* Profiler::running_ = nullptr;

}  // namespace

void add_profiler(nb::module_& m) {
  nb::class_<Profiler>(m, "_Profiler")
      .def(nb::init<>())
      .def("start", [](Profiler& p, const std::vector<std::string>& libraries,
                       bool calls) { run([&] { p.start(libraries, calls); }); })
      .def("stop", [](Profiler& p) { run([&] { p.stop(); }); })
      .def("events", &Profiler::events)
      .def("spans", &Profiler::spans);
  m.def("_plugins_with_devices", &plugins_with_devices);
}

}  // namespace tenon::python
