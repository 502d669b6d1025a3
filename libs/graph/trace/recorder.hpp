// What this thread calls on trace:0, as a graph.
#pragma once

#include <unordered_map>

#include "ir/graph.hpp"
#include "trace/interface.h"

namespace tenon::graph {

// Listens from its construction to take(), on one thread, which must not capture or trace already.
class Recorder {
 public:
  // With a target calls arrive as its kernels want them, and nodes know their kernels.
  explicit Recorder(Device target = {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // trace:0; its plugin is loaded at the first use.
  static Device device();
  // What the host tells of calls and tensors.
  static const tn_dispatch& dispatch();
  // Grows whenever kernels of any device come or go.
  static uint64_t epoch();
  static bool traced(const tn_tensor* tensor) { return tn_tensor_device(tensor) == device().get(); }

  // A tensor without elements that stands for a buffer from outside.
  Tensor add(Role role, DType dtype, std::span<const int64_t> shape, std::string name,
             Tensor constant = {});
  // Where a traced tensor lies.
  View use(const Tensor& traced) { return use(*tn_tensor_view(traced.get())); }
  const Graph& graph() const { return graph_; }
  // It holds what nodes write to.
  void make_state(uint32_t buffer) { graph_.buffers[buffer].role = Role::State; }
  // The nodes from there on are calls of `node`, with numbers for its symbols: these become symbols again. Where it was made of other
  // ops, or its kernel keeps a plan, it stays a call of its own.
  void keep_symbols(const Node& node, size_t from);
  // Of the nodes from now on.
  void set_source(const std::string& text) {
    if (source_ == nullptr || *source_ != text) source_ = std::make_shared<const std::string>(text);
  }
  // Numbers of the host that were copied in so far, as constants.
  void settle_constants();
  // Takes the nodes from there on out of the graph.
  std::vector<Node> cut(size_t from);
  void append(Node node) { graph_.nodes.push_back(std::move(node)); }
  // Ends it.
  Graph take();

 private:
  void allocated(uint64_t number);
  void called(const tn_op& op, const tn_call& call, const tn_kernel* kernel);
  void copied_in(const void* source, uint64_t number, uint64_t offset, uint64_t bytes);
  [[noreturn]] void refuse_read(uint64_t number) const;
  uint32_t index_of(uint64_t number) const;
  View use(const tn_view& view);
  Argument argument(const tn_value& value, bool generator);

  tn_trace_sink sink_;
  std::shared_ptr<const std::string> source_;
  Graph graph_;
  std::vector<uint64_t> numbers_;  // of the device's buffers, which grow; by buffer
  std::unordered_map<uint32_t, std::vector<unsigned char>>
      bytes_;                       // of constants that came as such
  uint64_t seed_ = 0, offset_ = 0;  // where the default generator was
};

}  // namespace tenon::graph
