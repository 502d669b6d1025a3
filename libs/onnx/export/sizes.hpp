// Sizes that each run of a program chooses, and formulas of them.
#pragma once

#include "export/recorded.hpp"

namespace tenon::onnx {

// A formula: a sum of products and an offset, or its root or logarithm, or the reciprocal of one, times a factor.
struct Follows {
  enum class Form : uint8_t { Plain, Reciprocal, Root, ReciprocalRoot, Log };
  struct Term {
    int64_t factor = 0;
    std::vector<uint32_t> of = {};  // indices of dims, and beyond their count of formulas
  };
  Form form = Form::Plain;
  int64_t offset = 0;
  std::vector<Term> terms = {};
  double factor = 1;
};

class Sizes {
 public:
  struct Dim {
    std::string name;
    int64_t min = 1, max = 1, multiple = 1;
  };
  // From a program's description; empty if no size varies.
  explicit Sizes(const Json& description);

  bool empty() const { return dims_.empty(); }
  const std::vector<Dim>& dims() const { return dims_; }
  // The dim of each dimension of each input, or -1.
  const std::vector<std::vector<int32_t>>& inputs() const { return inputs_; }
  const Json& formula(size_t index) const { return formulas_.at(index); }
  // Sizes of the dims at which different formulas have different values.
  const std::vector<std::vector<int64_t>>& probes() const { return probes_; }
  // The formula with these values at the probes, or nothing. `dtype`: what the values were rounded to.
  std::optional<Follows> find(const std::vector<double>& values, DType dtype) const;

 private:
  void probe();
  std::vector<double> values_at(const std::vector<int64_t>& sizes) const;
  std::optional<Follows> in_form(Follows::Form form, const std::vector<double>& values,
                                 double tolerance) const;
  std::optional<Follows> scaled(const std::vector<double>& values, double tolerance) const;
  std::optional<Follows> linear(const std::vector<double>& values) const;
  void make_products();

  std::vector<Dim> dims_;
  std::vector<std::vector<int32_t>> inputs_;
  std::vector<Json> formulas_;
  std::vector<std::vector<int64_t>> probes_;
  struct Product {
    std::vector<uint32_t> of;
    std::vector<double> values;  // by probe
  };
  std::vector<std::vector<double>> values_;  // of dims and formulas, by probe
  std::vector<Product> products_;            // those with one factor first
};

// A program's description at these sizes of its dims.
Json described(const tn_program* program, const std::vector<int64_t>& sizes);
// Marks the views that differ between descriptions of one program.
void mark_varying(std::vector<Json>& descriptions);

}  // namespace tenon::onnx
