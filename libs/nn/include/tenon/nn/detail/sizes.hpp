// Sizes of the spatial dimensions of convolutions, pools and resampling.
#ifndef TENON_NN_DETAIL_SIZES_HPP
#define TENON_NN_DETAIL_SIZES_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <span>

#include "tenon/nn/detail/check.hpp"

namespace tenon::nn {

// One number for all spatial dimensions, or one for each: 3 or {3, 5}.
template <class T>
class PerDimension {
 public:
  template <class Number>
  requires(std::integral<Number> || std::same_as<Number, T>) constexpr PerDimension(Number all)
      : values_{static_cast<T>(all)}, count_(1) {}
  constexpr PerDimension(std::initializer_list<T> each) : count_(each.size()) {
    if (each.size() > values_.size() || each.size() == 0)
      throw Error(TN_INVALID_ARGUMENT,
                  "[nn] got " + std::to_string(each.size()) + " sizes, must be one to three");
    std::copy(each.begin(), each.end(), values_.begin());
  }
  std::span<const T> list() const { return {values_.data(), count_}; }
  size_t count() const { return count_; }
  T operator[](size_t i) const { return values_[count_ == 1 ? 0 : i]; }

 private:
  std::array<T, 3> values_{};
  size_t count_;
};
using Sizes = PerDimension<int64_t>;
using Factors = PerDimension<double>;

namespace detail {
// Checks for `dims` dimensions, each at least `least`.
inline void check_sizes(std::string_view where, std::string_view name, const Sizes& sizes,
                        int64_t least, size_t dims) {
  if (sizes.count() != 1 && sizes.count() != dims)
    refuse(where, std::string(name) + " " + text_of(sizes.list()) + " has " +
                      std::to_string(sizes.count()) + " sizes for " + std::to_string(dims) +
                      " dimensions: give one, or " + std::to_string(dims));
  check_sizes(where, name, sizes.list(), least);
}
}  // namespace detail

}  // namespace tenon::nn
#endif
