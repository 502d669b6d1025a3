// Work of a device recorded once and replayed as one piece: what each op costs on the host is paid once. Devices whose plugin offers
// tn.capture (tenon/ext/draft/capture.h) can do it. In C: tenon/capture.h.
//
//   Tensor x = empty({32, 784}, device), loss;          // static: what a replay reads, and what it writes
//   step();                                             // once as usual: what is prepared at first use is there then
//   Graph graph = capture(device, [&] { loss = step(); });
//   for (const Tensor& batch : batches) {
//     x.copy_(batch);
//     graph.replay();
//   }
//
// Decided by the host, and so the same at every replay: shapes, numbers among the operands (a
// learning rate), which ops run. Random numbers are drawn anew by each replay, from the default
// generator, as if the ops had been called then. Adam and AdamW count on, by the rate that they
// have then. Refused while a thread captures, with TN_FAILED_PRECONDITION: reading elements, copies
// from or to the host or another device, results whose shape depends on data, draws from other
// generators, the first step with momentum, Adagrad's with a decay of its rate.
#ifndef TENON_CAPTURE_HPP
#define TENON_CAPTURE_HPP

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tenon/capture.h"
#include "tenon/device.hpp"

namespace tenon {

namespace detail {
struct ReleaseGraph {
  void operator()(tn_graph* graph) const noexcept { tn_graph_release(graph); }
};
using GraphHandle = std::unique_ptr<tn_graph, ReleaseGraph>;

// What this thread captures, and what each of its replays calls first.
struct Captured {
  Device device;
  std::vector<std::function<void()>> before;
};
inline thread_local Captured* captured = nullptr;
}  // namespace detail

// Whether the device's work can be captured.
inline bool can_capture(const Device& device) {
  return device.defined() && tn_graph_supported(device.get()) != 0;
}

// Whether this thread captures the device's work.
inline bool is_captured(const Device& device) {
  return detail::captured != nullptr && detail::captured->device == device;
}
// While it does: each replay calls fn() first, for what the host must tell the graph then. What fn() throws ends the replay.
inline void before_replay(std::function<void()> fn) {
  if (detail::captured == nullptr)
    throw Error(TN_FAILED_PRECONDITION, "[before_replay] this thread captures nothing");
  detail::captured->before.push_back(std::move(fn));
}

// What was captured. Memory that its work uses, of tensors that were made while it was captured, is not given to others as long as it
// lives. Tensors from before (inputs, parameters) are the program's to keep. Movable; used from one thread at a time.
class Graph {
 public:
  Graph() noexcept = default;

  bool defined() const noexcept { return handle_ != nullptr; }
  const Device& device() const noexcept { return device_; }
  // Pieces of work: kernels, copies, fills.
  uint64_t nodes() const { return stats().nodes; }
  // Bytes on the device that it keeps, its results' included. Device::memory() counts only what tensors hold of it.
  uint64_t memory() const { return stats().bytes; }

  // Enqueues all of it, in order with the device's other work.
  void replay() const {
    if (!defined()) throw Error(TN_FAILED_PRECONDITION, "[graph] nothing was captured, or reset");
    for (const std::function<void()>& fn : before_) fn();
    detail::check(tn_graph_replay(handle_.get()));
  }
  // Waits for its replays.
  void reset() noexcept {
    before_.clear();
    handle_.reset();
  }

 private:
  friend class Capture;
  Graph(detail::Captured captured, detail::GraphHandle handle)
      : device_(captured.device), before_(std::move(captured.before)), handle_(std::move(handle)) {}
  tn_graph_stats stats() const {
    tn_graph_stats stats{};
    stats.struct_size = sizeof stats;
    if (defined()) detail::check(tn_graph_get_stats(handle_.get(), &stats));
    return stats;
  }

  Device device_;
  std::vector<std::function<void()>> before_;
  detail::GraphHandle handle_;
};

// Records what the thread that made it enqueues on a device, until end(); none of it runs. Other threads are not affected. Without an
// end() what was recorded is dropped.
class Capture {
 public:
  explicit Capture(const Device& device)
      : captured_(std::make_unique<detail::Captured>(detail::Captured{device, {}})) {
    tn_graph* graph = nullptr;
    detail::check(tn_graph_begin(device.get(), &graph));
    handle_.reset(graph);
    detail::captured = captured_.get();
  }
  Capture(Capture&&) noexcept = default;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() { forget(); }

  // On the thread that began.
  Graph end() {
    if (handle_ == nullptr) throw Error(TN_FAILED_PRECONDITION, "[capture] it has ended already");
    detail::check(tn_graph_end(handle_.get()));
    forget();
    return Graph(std::move(*captured_), std::move(handle_));
  }

 private:
  void forget() noexcept {
    if (captured_ != nullptr && detail::captured == captured_.get()) detail::captured = nullptr;
  }
  std::unique_ptr<detail::Captured> captured_;
  detail::GraphHandle handle_;
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
