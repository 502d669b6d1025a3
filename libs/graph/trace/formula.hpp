// What a number is of sizes, from what it was at some of them.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "ir/sizes.hpp"

namespace tenon::graph {

// Values of one number: by probe.
using Samples = std::vector<int64_t>;

class Formulas {
 public:
  // `probes`: the dims' sizes, by probe.
  Formulas(size_t dims, const std::vector<std::vector<int64_t>>& probes);

  // The index among sizes() of the formula that gives these values; nothing where none does. `shape`: a size of a tensor, of which others
  // are likely to be products.
  std::optional<uint32_t> find(const Samples& values, bool shape);
  // The same for values that are known by halves: the first multiple of a product that is near the smallest of them, and that `is` takes.
  std::optional<uint32_t> find_near(const Samples& near,
                                    const std::function<bool(const Samples&)>& is);
  const std::vector<Size>& sizes() const { return sizes_; }
  // Of dims, and of sizes() behind them.
  const std::vector<Samples>& values() const { return values_; }
  // Formulas between which the probes do not tell: the number `of`, rounded down by `by` with anything from `low` to `high` added.
  struct Ambiguous {
    int64_t factor;
    uint32_t of;  // a dim, or from their count on a size
    int64_t by, low, high;
  };
  const std::optional<Ambiguous>& ambiguous() const { return ambiguous_; }

 private:
  struct Product {
    std::vector<uint32_t> of;
    Samples values;
  };
  void make_products();
  std::optional<Size> linear(const Samples& values) const;
  std::optional<Size> two_products(const Samples& values) const;
  std::optional<Size> quotient(const Samples& values);
  std::optional<Size> bounded(const Samples& values) const;
  uint32_t keep(Size size, const Samples& values, bool factor);

  size_t dims_;
  size_t probes_;
  std::vector<Samples> values_;
  std::vector<Size> sizes_;
  std::vector<uint32_t> factors_;  // what products are made of
  std::vector<Product> products_;
  std::map<Samples, uint32_t> known_;
  std::optional<Ambiguous> ambiguous_;
};

}  // namespace tenon::graph
