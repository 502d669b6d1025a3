// The activations that linear fuses.
#pragma once

#include <cstdint>

#include "../../common/product.hpp"

namespace tenon::cpu {

// x = activation(x) in place over threads.
void activate(Activation activation, float* x, int64_t n);
void activate(Activation activation, double* x, int64_t n);

}  // namespace tenon::cpu
