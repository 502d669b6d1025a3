#include <algorithm>
#include <bit>

#include "ir/graph.hpp"

namespace tenon::graph {
namespace {

// -0 differs from 0.
bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool same_optional(const std::optional<View>& a, const std::optional<View>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

struct SameAs {
  const Argument& other;
  template <class T>
  bool operator()(const T& value) const {
    const T& beside = std::get<T>(other);
    if constexpr (std::is_empty_v<T>)
      return true;
    else if constexpr (std::is_same_v<T, double>)
      return same_bits(value, beside);
    else if constexpr (std::is_same_v<T, std::complex<double>>)
      return same_bits(value.real(), beside.real()) && same_bits(value.imag(), beside.imag());
    else if constexpr (std::is_same_v<T, std::vector<double>>)
      return std::ranges::equal(value, beside, same_bits);
    else if constexpr (std::is_same_v<T, Number>)
      return value.dtype == beside.dtype && value.bytes == beside.bytes;
    else if constexpr (std::is_same_v<T, View>)
      return same(value, beside);
    else if constexpr (std::is_same_v<T, Views>)
      return std::ranges::equal(value, beside, same_optional);
    else
      return value == beside;
  }
};

}  // namespace

bool same(const View& a, const View& b) {
  return a.buffer == b.buffer && a.dtype == b.dtype && a.offset == b.offset && a.shape == b.shape &&
         a.strides == b.strides;
}

bool same(const Argument& a, const Argument& b) {
  return a.index() == b.index() && std::visit(SameAs{b}, a);
}

}  // namespace tenon::graph
