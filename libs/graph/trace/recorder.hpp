// Records this thread's calls on trace:0 as a graph.
#pragma once

#include <unordered_map>

#include "ir/graph.hpp"
#include "trace/interface.h"

namespace tenon::graph {

// The plugin's other device: tensors without elements.
Device meta_device();

// Listens from its construction to take(), on one thread that must not be capturing or tracing already.
class Recorder {
 public:
  // With a target, calls arrive in the form that its kernels want, and nodes know their kernels.
  explicit Recorder(Device target = {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // trace:0. Loads its plugin at the first use.
  static Device device();
  // The host's interface for what calls and tensors are.
  static const tn_dispatch& dispatch();
  // Grows whenever kernels of any device come or go.
  static uint64_t epoch();
  static bool traced(const tn_tensor* tensor) { return tn_tensor_device(tensor) == device().get(); }

  // What its tensors stand for, to layers over calls.
  void stands_for(const tn_device* device) { sink_.stands_for = device; }
  // Room for a graph about as large as this one.
  void reserve(const Graph& like);
  // A tensor without elements that stands for an outside buffer.
  Tensor add(Role role, DType dtype, std::span<const int64_t> shape, std::string name,
             Tensor constant = {});
  // The view that a traced tensor shows.
  View use(const Tensor& traced) { return use(*tn_tensor_view(traced.get())); }
  const Graph& graph() const { return graph_; }
  // Marks a buffer that nodes write to.
  void make_state(uint32_t buffer) { graph_.buffers[buffer].role = Role::State; }
  // The constant keeps its elements, whatever is written into the tensor that it was.
  void copy_constant(uint32_t buffer) {
    Tensor& held = graph_.buffers[buffer].constant;
    held = held.clone();
  }
  // The nodes from there on came from calling `node` with numbers in place of its symbols; puts the symbols back. If it was decomposed, or
  // its kernel keeps a plan, the node stays a call.
  void keep_symbols(const Node& node, size_t from);
  // Where the nodes from now on were called.
  void set_source(const std::string& text) {
    if (source_ == nullptr || *source_ != text) source_ = std::make_shared<const std::string>(text);
  }
  // Turns the host numbers that were copied in so far into constants.
  void settle_constants();
  // Removes the nodes from there on from the graph and returns them.
  std::vector<Node> cut(size_t from);
  void append(Node node) { graph_.nodes.push_back(std::move(node)); }
  // Ends the recording.
  Graph take();

 private:
  void allocated(uint64_t number);
  void called(const tn_op& op, const tn_call& call, const tn_kernel* kernel);
  void copied_in(const void* source, uint64_t number, uint64_t offset, uint64_t bytes);
  [[noreturn]] void refuse_read(uint64_t number) const;
  uint32_t index_of(uint64_t number) const;
  View use(const tn_view& view);
  void use(const tn_view& view, View& made);
  Argument argument(const tn_value& value, bool generator);

  tn_trace_sink sink_{};
  std::shared_ptr<const std::string> source_;
  Graph graph_;
  std::vector<uint64_t> numbers_;  // by buffer: its number on the device; ascending
  std::unordered_map<uint32_t, std::vector<unsigned char>>
      bytes_;                       // of constants that were given as bytes
  uint64_t seed_ = 0, offset_ = 0;  // the state of the default generator at the start
};

}  // namespace tenon::graph
