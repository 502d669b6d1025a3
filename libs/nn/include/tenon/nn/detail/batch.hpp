// Functions of (N, C, spatial…) that take one example (C, spatial…) as well.
#ifndef TENON_NN_DETAIL_BATCH_HPP
#define TENON_NN_DETAIL_BATCH_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/tenon.hpp"

namespace tenon::nn::detail {

// Whether x, with `dims` dimensions behind the channels, is one example.
inline bool is_single(std::string_view where, const Tensor& x, size_t dims) {
  const int64_t rank = static_cast<int64_t>(dims) + 1;
  if (x.ndim() != rank && x.ndim() != rank + 1)
    refuse(where, "input has rank " + std::to_string(x.ndim()) + ", must be " +
                      std::to_string(rank) + " or " + std::to_string(rank + 1));
  return x.ndim() == rank;
}

// fn of a batch.
template <class Fn>
Tensor of_batch(std::string_view where, const Tensor& x, size_t dims, Fn&& fn) {
  return is_single(where, x, dims) ? fn(x.unsqueeze(0)).squeeze(0) : fn(x);
}
// The same of an fn that gives values and indices.
template <class Fn>
auto pairs_of_batch(std::string_view where, const Tensor& x, size_t dims, Fn&& fn) {
  if (!is_single(where, x, dims)) return fn(x);
  auto found = fn(x.unsqueeze(0));
  found.values = found.values.squeeze(0);
  found.indices = found.indices.squeeze(0);
  return found;
}

}  // namespace tenon::nn::detail
#endif
