// All parameters as one vector, for algorithms that see a network as a point of a space.
#ifndef TENON_NN_VECTOR_HPP
#define TENON_NN_VECTOR_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/tenon.hpp"

namespace tenon::nn::utils {

// The elements of all parameters, one after the other; gradients flow through it.
inline Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  if (parameters.empty()) nn::detail::refuse("parameters_to_vector", "there are no parameters");
  std::vector<Tensor> flat;
  for (const Tensor& parameter : parameters) flat.push_back(parameter.flatten());
  return concat(flat, 0);
}

// Writes a vector back into parameters, in their order.
inline void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  int64_t count = 0;
  for (const Tensor& parameter : parameters) count += parameter.numel();
  if (vector.ndim() != 1 || vector.numel() != count)
    nn::detail::refuse("vector_to_parameters", "vector has shape " +
                                                   nn::detail::text_of(vector.shape()) +
                                                   ", must be one row of " + std::to_string(count));
  NoGrad guard;
  int64_t start = 0;
  for (Tensor parameter : parameters) {
    parameter.copy_(vector.narrow(0, start, parameter.numel()).reshape(parameter.shape()));
    start += parameter.numel();
  }
}

}  // namespace tenon::nn::utils
#endif
