// The tensors among the arguments and results of a module.
#ifndef TENON_NN_DETAIL_TENSORS_HPP
#define TENON_NN_DETAIL_TENSORS_HPP

#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::nn::detail {

template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

// Calls fn for each Tensor of a value in order: itself, or those of a tuple, pair, optional, array or vector. Other types have none.
template <class T, class Fn>
void each_tensor(T& value, Fn&& fn) {
  using Value = std::remove_cv_t<T>;
  if constexpr (std::same_as<Value, Tensor>) {
    fn(value);
  } else if constexpr (TupleLike<Value>) {
    std::apply([&](auto&... each) { (each_tensor(each, fn), ...); }, value);
  } else if constexpr (requires { value.has_value() ? *value : *value; }) {
    if (value.has_value()) each_tensor(*value, fn);
  } else if constexpr (std::ranges::forward_range<T>) {
    for (auto& each : value) each_tensor(each, fn);
  }
}

template <class T>
std::vector<Tensor> tensors_of(const T& value) {
  std::vector<Tensor> found;
  each_tensor(value, [&](const Tensor& x) { found.push_back(x); });
  return found;
}
// Puts tensors in the place of those of a value; how many were used.
template <class T>
size_t set_tensors(T& value, std::span<const Tensor> tensors) {
  size_t used = 0;
  each_tensor(value, [&](Tensor& x) {
    if (used < tensors.size()) x = tensors[used++];
  });
  return used;
}

}  // namespace tenon::nn::detail
#endif
