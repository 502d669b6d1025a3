// Numbers of a graph that follow sizes of its inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon::graph {

struct Graph;

// A dimension of inputs whose size each run chooses.
struct Dim {
  std::string name;
  int64_t min = 1;
  int64_t max = int64_t{1} << 40;
};

// A sum of products, or what becomes of it beside `by`: quotient rounded down, least, greatest.
struct Size {
  enum class Kind : uint8_t { Sum, Quotient, Least, Greatest };
  struct Term {
    int64_t factor = 0;
    std::vector<uint32_t> of = {};  // dims, and from their count on: sizes before this one
  };
  Kind kind = Kind::Sum;
  std::vector<Term> terms = {};
  int64_t by = 1;
};

// A number of the graph, counted in the order of each_number, that is another at other sizes.
struct Varying {
  // What a floating number is of its size n: n, 1/n, sqrt(n), 1/sqrt(n), n/(n-1).
  enum class Form : uint8_t { Plain, Reciprocal, Root, ReciprocalRoot, Unbiased };
  uint32_t place = 0;
  uint32_t size = 0;
  Form form = Form::Plain;
};

struct Sizes {
  std::vector<Dim> dims = {};
  std::vector<std::vector<int32_t>> inputs = {};  // by input and dimension: a dim, or -1
  std::vector<Size> sizes = {};
  std::vector<Varying> varying = {};  // by place

  // With -1 where a size varies: of Graph::inputs and Graph::results.
  std::vector<std::vector<int64_t>> input_shapes = {}, result_shapes = {};

  bool empty() const { return dims.empty(); }
};

double in_form(Varying::Form form, int64_t size);
// Of every entry of `sizes`, for these sizes of the dims. Throws Error(TN_OUT_OF_RANGE) where one is too large for 64 bits.
std::vector<int64_t> evaluate(const Sizes& sizes, std::span<const int64_t> dims);
// "batch*64 + 2", "(length + 1) // 2".
std::string to_text(const Sizes& sizes, uint32_t size);
// The sizes of the dims that inputs of these shapes have. Throws Error where one lies out of its range, or two differ that are one.
std::vector<int64_t> dims_of(const Graph& graph, std::span<const std::span<const int64_t>> shapes);
// Those that vary, by where they stand in `graph`.
std::unordered_map<const void*, const Varying*> varying_numbers(const Graph& graph);
// Fills input_shapes and result_shapes.
void mark_shapes(Graph& graph);
// The graph for these sizes of its dims: none of its numbers varies. Throws Error where a view would leave its buffer.
Graph concrete(const Graph& graph, std::span<const int64_t> dims);

}  // namespace tenon::graph
