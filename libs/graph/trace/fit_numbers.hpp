// Expresses the numbers in which graphs differ as formulas of sizes.
#pragma once

#include <array>
#include <optional>

#include "ir/graph.hpp"
#include "trace/formula.hpp"

namespace tenon::graph {

// The numbers of one graph, by place, in the order of each_number. Integers are stored as they are, floating-point numbers beside them.
struct Numbers {
  explicit Numbers(const Graph& graph);
  void add(int64_t number);
  void add(double number);
  void add(const Number& number);

  std::vector<int64_t> whole;
  std::vector<std::optional<double>> real;
  std::vector<DType> dtype;  // of the floating-point numbers
  // Their bits: a complex number has no other form here, and NaN is not equal to itself.
  std::vector<std::array<unsigned char, 16>> bits;
};

// Throws Error(TN_FAILED_PRECONDITION) with an op whose number fits no formula.
class Numbered {
 public:
  // `probes`: the sizes of the dims, by graph.
  Numbered(const std::vector<Graph>& graphs, const std::vector<std::vector<int64_t>>& probes,
           const std::vector<Dim>& dims);
  const Formulas& formulas() const { return formulas_; }
  const std::vector<Varying>& varying() const { return varying_; }

 private:
  enum class Pass : uint8_t { Results, Easy, All };
  void find(uint32_t place, const Node* node, size_t argument, Pass pass);
  bool varies(uint32_t place) const;
  std::optional<Varying> find_whole(uint32_t place, bool shape);
  std::optional<Varying> find_real(uint32_t place);
  std::optional<Varying> find_scaled(uint32_t place, double plus);
  std::optional<Varying> find_part(uint32_t place);
  std::optional<Varying> scaled_by(Varying how, const Samples& sizes);
  bool is_of(const Varying& how, const Samples& sizes) const;

  Formulas formulas_;
  std::vector<Numbers> numbers_;
  std::vector<Varying> varying_;
};

}  // namespace tenon::graph
