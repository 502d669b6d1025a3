// Finds formulas of sizes for numbers that are known at a few sizes.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "ir/sizes.hpp"

namespace tenon::graph {

// The values of one number, by probe.
using Samples = std::vector<int64_t>;

class Formulas {
 public:
  // `probes`: the sizes of the dims, by probe. A dim of multiples divides without rest: the quotient is a factor from the start.
  Formulas(const std::vector<Dim>& dims, const std::vector<std::vector<int64_t>>& probes);

  // Index among sizes() of a formula that gives these values, or nothing. `shape`: this is a tensor's size, of which other numbers are
  // likely to be products.
  std::optional<uint32_t> find(const Samples& values, bool shape);
  // The same for values that are only known approximately: tries products near the smallest value until `is` accepts a multiple of one.
  std::optional<uint32_t> find_near(const Samples& near,
                                    const std::function<bool(const Samples&)>& is);
  const std::vector<Size>& sizes() const { return sizes_; }
  // Indices of dims, followed by sizes().
  const std::vector<Samples>& values() const { return values_; }
  // Formulas that the probes cannot tell apart: (`of` + c) / `by`, rounded down, for any c from `low` to `high`.
  struct Ambiguous {
    int64_t factor;
    uint32_t of;  // a dim, or beyond their count a size
    int64_t by, low, high;
  };
  const std::optional<Ambiguous>& ambiguous() const { return ambiguous_; }

 private:
  struct Product {
    std::vector<uint32_t> of;
    Samples values;
  };
  void add_factor(uint32_t factor);
  std::optional<Size> linear(const Samples& values) const;
  std::optional<Size> two_products(const Samples& values) const;
  std::optional<Size> half(const Samples& values) const;
  std::optional<Size> quotient(const Samples& values);
  std::optional<Size> quotient_of(const Samples& values, int64_t a, Product x, int64_t by);
  std::optional<Size> bounded(const Samples& values) const;
  uint32_t keep(Size size, const Samples& values, bool factor);

  size_t dims_;
  size_t probes_;
  std::vector<Samples> values_;
  std::vector<Size> sizes_;
  std::vector<uint32_t> factors_;               // what products are made of
  std::vector<std::vector<Product>> products_;  // by the number of their factors
  std::map<Samples, uint32_t> known_;
  std::optional<Ambiguous> ambiguous_;
};

}  // namespace tenon::graph
