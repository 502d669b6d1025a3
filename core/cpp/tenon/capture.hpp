// Records a device's work once and replays it as a whole, so that the host's cost of each op is paid once. Works for devices whose plugin
// offers tn.capture (tenon/ext/draft/capture.h). In C: tenon/capture.h.
//
//   Tensor x = empty({32, 784}, device), loss;          // static: what a replay reads, and what it writes
//   step();                                             // once as usual, to prepare what is made at first use
//   Graph graph = capture(device, [&] { loss = step(); });
//   for (const Tensor& batch : batches) {
//     x.copy_(batch);
//     graph.replay();
//   }
//
// Every replay repeats what the host decided while recording: shapes, numbers among the operands (a learning rate), which ops run. Random
// numbers are drawn anew from the default generator, as if the ops were called again. Adam and AdamW go on counting, at their current
// rate. While a thread captures, these fail with TN_FAILED_PRECONDITION: reading elements, copies from or to the host or another device,
// results whose shape depends on data, draws from other generators, the first step with momentum, Adagrad's with a decaying rate.
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

// A captured graph. It keeps the memory of tensors made during the capture for as long as it lives. Older tensors (inputs, parameters) are
// the program's to keep. Movable; use it from one thread at a time.
class Graph {
 public:
  Graph() noexcept = default;

  bool defined() const noexcept { return handle_ != nullptr; }
  const Device& device() const noexcept { return device_; }
  // Number of kernels, copies and fills.
  uint64_t nodes() const { return stats().nodes; }
  // Bytes of device memory that it keeps, including its results. Device::memory() only counts what tensors hold of them.
  uint64_t memory() const { return stats().bytes; }

  // Enqueues the graph, in order with the device's other work.
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

// Records what its thread enqueues on a device until end(); none of it runs. Other threads are not affected. Without end(), the recording
// is dropped.
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

  // Call it on the thread that began.
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

// The graph of what body() enqueues on the device. If body() throws, the recording is dropped.
template <class Body>
Graph capture(const Device& device, Body&& body) {
  Capture recording(device);
  std::forward<Body>(body)();
  return recording.end();
}

}  // namespace tenon
#endif
