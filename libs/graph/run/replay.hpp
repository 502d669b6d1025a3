// Calls the ops of nodes the way a program would.
#pragma once

#include "ir/graph.hpp"
#include "run/plain_value.hpp"

namespace tenon::graph {

// A view as a tensor. `flats`: a flat tensor for each buffer, on one device.
Tensor view_in(const View& view, std::span<const Tensor> flats);

// Calls nodes' ops on views of flat tensors. What it needs for a call is kept for the next.
class Replay : public PlainValue {
 public:
  // `symbols`: the graph's.
  Replay(std::span<const Tensor> flats, Device device, std::span<const Symbol> symbols)
      : flats_(flats), device_(device), symbols_(symbols) {}
  // Remembers the last view of each buffer from now on, because a node often reads what the one before wrote. Nodes must outlive this.
  void keep_views() { last_.resize(flats_.size()); }
  // With views kept: what a view shows.
  void remember(const View& view, const Tensor& tensor) { last_[view.buffer] = {&view, tensor}; }
  void forget(uint32_t buffer) { last_[buffer] = {}; }

  // Writes the node's results into their views. Records no gradients.
  void run(const Node& node);
  // The same, with views kept, for a node that makes whole buffers, which `flats` lacks so far: its results become these.
  void run_new(const Node& node, std::span<Tensor> flats);
  Tensor tensor(const View& view);

  // Arguments as the C ABI takes them.
  using PlainValue::operator();
  tn_value operator()(Here) const;
  tn_value operator()(const Symbolic& value);
  tn_value operator()(const Number& value);
  tn_value operator()(const View& view);
  tn_value operator()(const Views& views);

 private:
  uint32_t begin(const Node& node);
  tn_tensor* at(const View& view) { return hold(tensor(view)); }
  tn_tensor* hold(Tensor tensor);

  struct Last {
    const View* view = nullptr;
    Tensor tensor;
  };
  std::span<const Tensor> flats_;
  Device device_;
  std::span<const Symbol> symbols_;
  std::vector<Last> last_;  // by buffer
  std::vector<tn_value> values_;
  std::vector<Tensor> held_;  // what `values_` and `results_` point at
  std::vector<std::vector<tn_tensor*>> lists_;
  std::vector<tn_tensor*> results_;
};

}  // namespace tenon::graph
