// Replaces products with constant weights by products of 8-bit weights.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// Turns each linear and matmul of f32 by a sufficiently large constant matrix into linear_w8a8.
class Quantizer {
 public:
  // A recorded graph, which must outlive this. Throws Error if nothing can be quantised, or if runs write to state.
  explicit Quantizer(const Graph& graph);

  // The graph with additional results: what each product reads besides its weight.
  Graph observed() const;
  // Adds those results of one run to the ranges.
  void observe(std::span<const Tensor> read);
  // The graph with quantised products. Uses the observed ranges, or without any, the range of each row in each run.
  Graph quantized() const;

 private:
  struct Product {
    size_t node;
    View weight;               // (out, n)
    double low = 0, high = 0;  // the range of what it was seen to read
  };
  struct Packed {
    View weight;
    Tensor entries, scale;
  };
  // Numbers that depend on sizes keep their place: `edit` changes a graph through `fixed`, which supplies its numbers.
  using Fixed = int64_t (*)(int64_t);
  template <class Edit>
  Graph edited(Edit&& edit) const;
  void put_in(Graph& graph, Fixed fixed, std::span<const Packed> weights) const;
  void find(size_t node);

  const Graph& graph_;
  std::vector<Product> products_;
  bool observed_ = false;
};

}  // namespace tenon::graph
