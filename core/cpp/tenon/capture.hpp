// Work of a device recorded once and replayed as one piece: what each op costs on the host is paid once. Devices whose plugin offers
// tn.capture (tenon/ext/draft/capture.h) can do it.
//
//   Tensor x = empty({32, 784}, device), loss;          // static: what a replay reads, and what it writes
//   step();                                             // once as usual: what is prepared at first use is there then
//   Graph graph = capture(device, [&] { loss = step(); });
//   for (const Tensor& batch : batches) {
//     x.copy_(batch);
//     graph.replay();
//   }
//
// Decided by the host, and so the same at every replay: shapes, numbers among the operands (a learning rate), which ops run.
// Random numbers are drawn anew by each replay, from the default generator, as if the ops had been called then.
// Refused while a thread captures, with TN_FAILED_PRECONDITION: reading elements, copies from or to the host or another device,
// results whose shape depends on data, draws from other generators, steps of an optimizer that count (Adam's: take them between
// replays).
#ifndef TENON_CAPTURE_HPP
#define TENON_CAPTURE_HPP

#include <exception>
#include <string>
#include <utility>

#include "tenon/device.hpp"
#include "tenon/ext/draft/capture.h"
#include "tenon/ext/draft/device.h"
#include "tenon/random.hpp"

namespace tenon {

namespace detail {
// fn(extension, table) for a device of a plugin with tn.capture; what it throws comes through. False where there is none.
template <class Fn>
bool with_capture(const Device& device, Fn&& fn) {
  struct Call {
    Fn& fn;
    std::string_view type;
    bool offered = false;
    std::exception_ptr thrown;
  } call{fn, device.id().substr(0, device.id().find(':')), false, nullptr};
  check(tn_device_extend(
      device.get(), to_str(TN_CAPTURE_NAME), TN_CAPTURE_REVISION,
      [](void* ctx, const tn_extension* extension) -> tn_status* {
        Call& here = *static_cast<Call*>(ctx);
        const auto* table = static_cast<const tn_capture*>(extension->table);
        if (table == nullptr || to_view(table->device_type) != here.type) return nullptr;
        here.offered = true;
        try {
          here.fn(*extension, *table);
        } catch (...) {
          here.thrown = std::current_exception();
        }
        return nullptr;
      },
      &call));
  if (call.thrown != nullptr) std::rethrow_exception(call.thrown);
  return call.offered;
}
}  // namespace detail

// Whether the device's work can be captured.
inline bool can_capture(const Device& device) {
  return device.defined() &&
         detail::with_capture(device, [](const tn_extension&, const tn_capture&) {});
}

// What was captured. Memory that its work uses, of tensors that were made while it was captured, is not given to others as long as it
// lives. Tensors from before (inputs, parameters) are the program's to keep. Movable; used from one thread at a time.
class Graph {
 public:
  Graph() noexcept = default;
  Graph(Graph&& other) noexcept { swap(other); }
  Graph& operator=(Graph&& other) noexcept {
    Graph moved(std::move(other));
    swap(moved);
    return *this;
  }
  // Waits for its replays.
  ~Graph() { reset(); }

  bool defined() const noexcept { return handle_ != nullptr; }
  const Device& device() const noexcept { return device_; }
  // Pieces of work: kernels, copies, fills.
  uint64_t nodes() const noexcept { return info_.nodes; }
  // Bytes on the device that it keeps, its results' included. Device::memory() counts only what tensors hold of it.
  uint64_t memory() const noexcept { return info_.bytes; }

  // Enqueues all of it, in order with the device's other work.
  void replay() const {
    if (!defined()) throw Error(TN_FAILED_PRECONDITION, "[Graph] nothing was captured, or reset");
    if (tn_device_redirected() != nullptr)
      throw Error(TN_FAILED_PRECONDITION, "[Graph] a replay while this thread captures a graph");
    detail::with_capture(device_, [&](const tn_extension& given, const tn_capture& table) {
      const Generator::State now = default_generator().state();
      detail::check(table.launch(table.self, handle_, given.stream, now.seed, now.offset));
      if (draws_ != 0) default_generator().set_state({now.seed, now.offset + draws_});
    });
  }
  void reset() noexcept {
    if (!defined()) return;
    try {
      detail::with_capture(device_, [&](const tn_extension& given, const tn_capture& table) {
        table.destroy(table.self, handle_);
        given.streams->destroy(given.self, stream_);
      });
    } catch (const Error&) {  // its plugin has gone, and took it along
    }
    handle_ = stream_ = nullptr;
    info_ = {};
  }

 private:
  friend class Capture;
  void swap(Graph& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(stream_, other.stream_);
    std::swap(info_, other.info_);
    std::swap(draws_, other.draws_);
  }
  Device device_;
  void* handle_ = nullptr;
  void* stream_ = nullptr;  // that it was recorded on
  tn_capture_info info_{};
  uint64_t draws_ = 0;  // of the default generator, by each replay
};

// Records what the thread that made it enqueues on a device, until end(); none of it runs. Other threads are not affected. Without an
// end() what was recorded is dropped.
class Capture {
 public:
  explicit Capture(const Device& device) {
    if (!device.defined()) throw Error(TN_INVALID_ARGUMENT, "[capture] undefined device");
    if (tn_device* other = tn_device_redirected(); other != nullptr)
      throw Error(TN_FAILED_PRECONDITION, "[capture] this thread captures a graph of " +
                                              std::string(Device(other).id()) + " already");
    const bool offered =
        detail::with_capture(device, [&](const tn_extension& given, const tn_capture& table) {
          void* stream = nullptr;
          detail::check(given.streams->create(given.self, given.index, &stream));
          first_ = default_generator().state();
          if (tn_status* failed =
                  table.begin(table.self, given.index, stream, first_.seed, first_.offset)) {
            given.streams->destroy(given.self, stream);
            detail::throw_status(failed);
          }
          graph_.stream_ = stream;
        });
    if (!offered) refuse(device);
    graph_.device_ = device;
    tn_device_redirect(device.get(), graph_.stream_);
  }
  ~Capture() {
    if (!recording_) return;
    try {
      finish(nullptr);
    } catch (const Error&) {  // it is dropped all the same
    }
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // On the thread that began.
  Graph end() {
    if (!recording_) throw Error(TN_FAILED_PRECONDITION, "[capture] it has ended already");
    if (tn_device_redirected() != graph_.device_.get())
      throw Error(TN_FAILED_PRECONDITION, "[capture] another thread than this one captures");
    finish(&graph_.handle_);
    return std::move(graph_);
  }

 private:
  void finish(void** handle) {
    recording_ = false;
    if (tn_device_redirected() == graph_.device_.get()) tn_device_redirect(nullptr, nullptr);
    void* const stream = std::exchange(graph_.stream_, nullptr);
    detail::with_capture(graph_.device_, [&](const tn_extension& given, const tn_capture& table) {
      graph_.info_.struct_size = sizeof graph_.info_;
      tn_status* failed = table.end(table.self, given.index, stream, handle, &graph_.info_);
      if (failed == nullptr && handle != nullptr)
        graph_.stream_ = stream;
      else
        given.streams->destroy(given.self, stream);
      detail::check(failed);
    });
    // Nothing was drawn: each replay draws.
    const Generator::State now = default_generator().state();
    if (handle == nullptr || now.seed != first_.seed || now.offset <= first_.offset) return;
    graph_.draws_ = now.offset - first_.offset;
    default_generator().set_state(first_);
  }
  [[noreturn]] static void refuse(const Device& device) {
    std::string able;
    for (const Device& other : devices()) {
      const std::string_view type = other.id().substr(0, other.id().find(':'));
      if (can_capture(other) && able.find(type) == std::string::npos)
        able.append(able.empty() ? "" : ", ").append(type);
    }
    throw Error(TN_UNIMPLEMENTED, "[capture] " + std::string(device.id()) +
                                      " cannot capture graphs; device types that can: " +
                                      (able.empty() ? "none of those there are" : able));
  }

  Graph graph_;
  Generator::State first_;  // where the default generator was
  bool recording_ = true;
};

// The graph of what body() enqueues on the device; where it throws, nothing is left of the capture.
template <class Body>
Graph capture(const Device& device, Body&& body) {
  Capture recording(device);
  std::forward<Body>(body)();
  return recording.end();
}

}  // namespace tenon
#endif
