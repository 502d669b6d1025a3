// Calls a node's op the way a program would.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// A view as a tensor. `flats`: a flat tensor for each buffer, on one device.
Tensor view_in(const View& view, std::span<const Tensor> flats);

// Views of flat tensors as tensors. `kept` remembers the last view of each buffer, because a node often reads what the one before wrote.
class FlatViews {
 public:
  explicit FlatViews(std::span<const Tensor> flats) : flats_(flats) {}
  static FlatViews kept(std::span<const Tensor> flats) {
    FlatViews made(flats);
    made.last_.resize(flats.size());
    return made;
  }
  // `view` must outlive this object.
  Tensor at(const View& view);

 private:
  struct Last {
    const View* view = nullptr;
    Tensor tensor;
  };
  std::span<const Tensor> flats_;
  std::vector<Last> last_;  // by buffer
};

// Writes the node's results into their views. Records no gradients. `symbols`: the graph's.
void replay(const Node& node, FlatViews& views, const Device& device,
            std::span<const Symbol> symbols);

}  // namespace tenon::graph
