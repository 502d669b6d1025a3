// Finds the tensors among a module's arguments and results. These templates are instantiated for every signature, so they are kept small.
#ifndef TENON_NN_DETAIL_TENSORS_HPP
#define TENON_NN_DETAIL_TENSORS_HPP

#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::nn::detail {

// Tensors on their way into or out of a module; `next` is the position of the next one.
struct Tensors {
  std::vector<Tensor> list;
  size_t next = 0;

  void take(const Tensor& x) { list.push_back(x); }
  void put(Tensor& x) {
    if (next < list.size()) x = list[next++];
  }
};

template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

// Takes the tensors out of a value in order, or puts others in their place. The value is a tensor, a tuple, pair, optional, array or vector
// of such values; other types contain none.
template <class T>
void pass(Tensors& tensors, T& value) {
  if constexpr (std::is_same_v<T, const Tensor>)
    tensors.take(value);
  else if constexpr (std::is_same_v<T, Tensor>)
    tensors.put(value);
  else if constexpr (TupleLike<std::remove_const_t<T>>)
    std::apply([&](auto&... each) { (pass(tensors, each), ...); }, value);
  else if constexpr (requires { value.has_value(), *value; }) {
    if (value.has_value()) pass(tensors, *value);
  } else if constexpr (requires { value.begin(), value.end(); })
    for (auto& each : value) pass(tensors, each);
}

template <class... T>
std::vector<Tensor> tensors_of(const T&... values) {
  Tensors tensors;
  (pass(tensors, values), ...);
  return std::move(tensors.list);
}
// Returns how many were used.
template <class... T>
size_t set_tensors(std::span<const Tensor> list, T&... values) {
  Tensors tensors{{list.begin(), list.end()}};
  (pass(tensors, values), ...);
  return tensors.next;
}

}  // namespace tenon::nn::detail
#endif
