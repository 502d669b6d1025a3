// Numbers of a graph that depend on the sizes of its inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon::graph {

struct Graph;

// A dimension of the inputs whose size may differ from run to run.
struct Dim {
  std::string name;
  int64_t min = 1;
  int64_t max = int64_t{1} << 40;
  int64_t multiple = 1;  // every size is a multiple of it, as are min and max
};

// A formula: a sum of products. `by` turns it into a quotient rounded down, a minimum or a maximum.
struct Size {
  enum class Kind : uint8_t { Sum, Quotient, Least, Greatest };
  struct Term {
    int64_t factor = 0;
    std::vector<uint32_t> of = {};  // indices of dims, and beyond their count of earlier formulas
  };
  Kind kind = Kind::Sum;
  std::vector<Term> terms = {};
  int64_t by = 1;
};

// A number of the graph that depends on sizes. Its place is counted in the order of each_number.
struct Varying {
  // How a floating-point number depends on n: n, 1/n, sqrt(n), 1/sqrt(n), n/(n-1) or log(n).
  enum class Form : uint8_t { Plain, Reciprocal, Root, ReciprocalRoot, Unbiased, Log };
  // And how that is combined with a factor: not at all, times it, divided by it, or it divided by that.
  enum class Scale : uint8_t { None, Times, By, Over };
  uint32_t place = 0;
  uint32_t size = 0;
  Form form = Form::Plain;
  Scale scale = Scale::None;
  double factor = 1;
  double plus = 0;  // what is added to that
};

struct Sizes {
  std::vector<Dim> dims = {};
  std::vector<std::vector<int32_t>> inputs = {};  // by input and dimension: a dim, or -1
  std::vector<Size> sizes = {};
  std::vector<Varying> varying = {};  // in order of their places

  // Shapes of Graph::inputs and Graph::results, with -1 where a size varies.
  std::vector<std::vector<int64_t>> input_shapes = {}, result_shapes = {};

  bool empty() const { return dims.empty(); }
};

double in_form(Varying::Form form, int64_t size);
// The floating-point number at this value of its size.
double number_at(const Varying& how, int64_t size);
// The value of every formula in `sizes` at these dims. Throws Error(TN_OUT_OF_RANGE) if one does not fit into 64 bits.
std::vector<int64_t> evaluate(const Sizes& sizes, std::span<const int64_t> dims);
// "batch*64 + 2", "(length + 1) // 2".
std::string to_text(const Sizes& sizes, uint32_t size);
// The dims that inputs of these shapes imply. Throws Error if one is out of range, or if two sizes of one dim differ.
std::vector<int64_t> dims_of(const Graph& graph, std::span<const std::span<const int64_t>> shapes);
// The numbers of `graph` that vary, by their place.
std::unordered_map<const void*, const Varying*> varying_numbers(const Graph& graph);
// Fills input_shapes and result_shapes.
void mark_shapes(Graph& graph);
// The graph at these dims, with every number fixed. Throws Error if a view would leave its buffer.
Graph concrete(const Graph& graph, std::span<const int64_t> dims);
// Makes the same of a graph that is concrete at other dims.
void make_concrete(Graph& made, const Sizes& sizes, std::span<const int64_t> dims);

}  // namespace tenon::graph
