// What ran when, on one thread, by the hooks around every call.
#include "profiler.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "guard.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tenon::python {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string shape_of(const tn_tensor* x) {
  std::string text(detail::to_view(tn_dtype_name(tn_tensor_dtype(x))));
  text += '[';
  for (uint32_t i = 0; i < tn_tensor_ndim(x); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(tn_tensor_shape(x)[i]);
  return text + ']';
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
  ~Profiler() { stop(); }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void start() {
    if (running_ != nullptr)
      throw Error(TN_FAILED_PRECONDITION, "[profiler] another one runs on this thread");
    running_ = this;
    tn_call_hooks_set(&hooks_);
  }
  void stop() {
    if (running_ != this) return;
    tn_call_hooks_set(nullptr);
    running_ = nullptr;
  }

  // (op, provider, operands, start, end, depth, bytes used behind it) of each call that came to its end; times in ns.
  nb::list events() const {
    nb::list out;
    for (const Event& event : events_)
      if (event.end != 0)
        out.append(nb::make_tuple(detail::to_view(tn_op_name(event.op)), event.provider,
                                  event.operands, event.start, event.end, event.depth, event.used));
    return out;
  }

 private:
  struct Event {
    const tn_op* op;
    int64_t start, end;
    size_t depth;
    uint64_t used;
    std::string_view provider;  // static storage
    std::string operands;
  };

  void before(const tn_op* op, const tn_value* args, uint32_t count) {
    std::string operands;
    for (uint32_t i = 0; i < count; ++i)
      if (args[i].tag == TN_VALUE_TENSOR)
        operands += (operands.empty() ? "" : ", ") + shape_of(args[i].as.tensor);
    open_.push_back(events_.size());
    events_.push_back({op, 0, 0, open_.size() - 1, 0, {}, std::move(operands)});
    events_.back().start = now();
  }

  void after(const tn_op* op, tn_tensor* const* outs, uint32_t count, tn_str provider) {
    const int64_t end = now();
    // Calls that failed have no end.
    while (!open_.empty() && events_[open_.back()].op != op) open_.pop_back();
    if (open_.empty()) return;
    Event& event = events_[open_.back()];
    open_.pop_back();
    event.end = end;
    event.depth = open_.size();
    event.provider = detail::to_view(provider);
    if (count > 0 && outs[0] != nullptr) {
      tn_memory_stats stats{};
      stats.struct_size = sizeof(stats);
      if (tn_status* status = tn_memory_get_stats(tn_tensor_device(outs[0]), &stats))
        tn_status_release(status);
      event.used = stats.used;
    }
  }

  static thread_local Profiler* running_;
  tn_call_hooks hooks_{};
  std::vector<Event> events_;
  std::vector<size_t> open_;
};
thread_local Profiler* Profiler::running_ = nullptr;

}  // namespace

void add_profiler(nb::module_& m) {
  nb::class_<Profiler>(m, "_Profiler")
      .def(nb::init<>())
      .def("start",
           [](Profiler& p) {
             if (!guarded<bool>(false, [&] { return p.start(), true; })) throw nb::python_error();
           })
      .def("stop", &Profiler::stop)
      .def("events", &Profiler::events);
}

}  // namespace tenon::python
