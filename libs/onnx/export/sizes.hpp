// Sizes that each run of a program chooses, and how numbers follow them.
#pragma once

#include "export/recorded.hpp"

namespace tenon::onnx {

// What a number is of sizes: an offset and multiples of products; or the root of that, or 1 by one of them.
struct Follows {
  enum class Form : uint8_t { Plain, Reciprocal, Root, ReciprocalRoot };
  struct Term {
    int64_t factor = 0;
    std::vector<uint32_t> of = {};  // dims, and from their count on formulas
  };
  Form form = Form::Plain;
  int64_t offset = 0;
  std::vector<Term> terms = {};
};

class Sizes {
 public:
  struct Dim {
    std::string name;
    int64_t min = 1, max = 1;
  };
  // Of a program's description; empty where none varies.
  explicit Sizes(const Json& description);

  bool empty() const { return dims_.empty(); }
  const std::vector<Dim>& dims() const { return dims_; }
  // Which dim each dimension of each input is, or -1.
  const std::vector<std::vector<int32_t>>& inputs() const { return inputs_; }
  const Json& formula(size_t index) const { return formulas_.at(index); }
  // Sizes of the dims that tell formulas apart.
  const std::vector<std::vector<int64_t>>& probes() const { return probes_; }
  // What has these values, one of each probe; nothing where no formula tells. `dtype`: what they were rounded to.
  std::optional<Follows> find(const std::vector<double>& values, DType dtype) const;

 private:
  void probe();
  std::vector<double> values_at(const std::vector<int64_t>& sizes) const;
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
  std::vector<Product> products_;            // those of one factor first
};

// The description of a program for sizes of its dims.
Json described(const tn_program* program, const std::vector<int64_t>& sizes);
// Notes at the views that differ among descriptions of one program that they vary.
void mark_varying(std::vector<Json>& descriptions);

}  // namespace tenon::onnx
