// Products with weights in eight bits.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// linear and matmul of f32 by a constant matrix of some size, which become linear_w8a8.
class Quantizer {
 public:
  // A recorded graph, which outlives it. Throws Error where nothing is to be done, or where runs write into state.
  explicit Quantizer(const Graph& graph);

  // The graph whose results are followed by what each product reads beside its weight.
  Graph observed() const;
  // Takes those of a run in.
  void observe(std::span<const Tensor> read);
  // The graph with such products. What was observed is quantised by the range that was seen; if nothing was, by that of each row in
  // each run.
  Graph quantized() const;

 private:
  struct Product {
    size_t node;
    View weight;               // (out, n)
    double low = 0, high = 0;  // of what it was seen to read
  };
  struct Packed {
    View weight;
    Tensor entries, scale;
  };
  // Numbers of the graph that follow sizes stay with what they stand in: `edit` changes a graph, with numbers of its own by `fixed`.
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
