// Convolution of few places by many weights: what all places of the batch read is written out, so that a pass is one product, whose
// vectors are full where a plane is narrow and which reads the weights once.
#pragma once

#include "ops/conv.hpp"

namespace tenon::cpu {

// Kernels that span a side, nearly: what few channels read are long lines.
bool reads_lines(const ConvGeometry& g);
bool wants_unfolding(const ConvGeometry& g, ConvPass pass);

template <class T>
void unfolded_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out);
template <class T>
void unfolded_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx);
template <class T>
void unfolded_backward_weight(const ConvGeometry& g, const T* grad, const T* x, T* gweight);

}  // namespace tenon::cpu
