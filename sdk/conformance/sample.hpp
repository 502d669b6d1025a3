// The table of samples that drives tests of values, gradients and layouts on every backend. Each family has a file in samples/; add samples
// for a new op there. An op without samples fails the suite.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <variant>

#include "array.hpp"

namespace tenon::conformance {

// An argument of a call, in schema order. monostate: left out.
struct Number {  // where the schema says Scalar, or Tensor of an elementwise op
  Scalar value;
  double real;
};
using Arg = std::variant<std::monostate, Array, std::vector<Array>, Number, int64_t, double, bool,
                         std::string, Shape, DType, Device>;
using Args = std::vector<Arg>;

inline const Array& array(const Args& args, size_t i) { return std::get<Array>(args[i]); }
inline const std::vector<Array>& arrays(const Args& args, size_t i) {
  return std::get<std::vector<Array>>(args[i]);
}
inline bool has(const Args& args, size_t i) {
  return i < args.size() && !std::holds_alternative<std::monostate>(args[i]);
}
inline int64_t integer(const Args& args, size_t i) { return std::get<int64_t>(args[i]); }
inline double real(const Args& args, size_t i) { return std::get<double>(args[i]); }
inline bool flag(const Args& args, size_t i) { return std::get<bool>(args[i]); }
inline const std::string& text(const Args& args, size_t i) {
  return std::get<std::string>(args[i]);
}
inline const Shape& ints(const Args& args, size_t i) { return std::get<Shape>(args[i]); }

// The wanted results in double precision, each with its dtype and shape. For an op without results, written arguments ("Tensor!") count as
// its results, in order.
using Reference = std::function<std::vector<Array>(const Args& args)>;

struct Sample {
  std::string op;
  std::string label;    // unique among the op's samples
  uint64_t dtypes = 0;  // dtypes that `make` is called with
  std::function<Args(DType dtype, Rng& rng)> make;
  Reference reference;
  bool gradient = true;  // checked in f64 if the op is differentiable
  bool complex_gradient = true;
  std::vector<size_t> fixed;  // arguments without a gradient
  bool layouts = true;        // also tries layouts other than row-major
  double tolerance = 1;       // a factor on the dtype's tolerance
  // For results without a reference (random numbers); empty if they are right.
  std::function<std::string(const Args& args, const std::vector<Array>& results)> check;
};

class Table {
 public:
  Sample& add(Sample sample) { return samples_.emplace_back(std::move(sample)); }
  Sample& add(std::string op, std::string label, uint64_t dtypes,
              std::function<Args(DType, Rng&)> make, Reference reference) {
    Sample sample;
    sample.op = std::move(op), sample.label = std::move(label), sample.dtypes = dtypes;
    sample.make = std::move(make), sample.reference = std::move(reference);
    return add(std::move(sample));
  }
  const std::deque<Sample>& samples() const { return samples_; }
  std::vector<const Sample*> of(std::string_view op) const;

 private:
  std::deque<Sample> samples_;  // references stay valid as it grows
};

// The samples of every family. To add one, write a file in samples/ that defines `void add_NAME_samples(Table& table)`, and put its name
// into samples/families.def.
const Table& table();

}  // namespace tenon::conformance
