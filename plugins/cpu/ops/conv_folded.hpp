// The gradient of a convolution's input where outputs are few beside inputs, as under kernels that span a side: each place of g times the
// weights is added where that place read, so that nothing is multiplied by padding.
#pragma once

#include "ops/conv.hpp"

namespace tenon::cpu {

bool wants_folding(const ConvGeometry& g);

template <class T>
void folded_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx);

}  // namespace tenon::cpu
