// The passes of a convolution.
#pragma once

#include "../../common/conv_geometry.hpp"
#include "kernels.hpp"

namespace tenon::cpu {

// Fewer channels leave most lanes of oneDNN's layouts empty.
constexpr int64_t kFewChannels = 16;

// Whether a pointwise convolution is a product for each image: planes of fewer places are too narrow for several.
inline bool suits_products(const ConvGeometry& g) {
  constexpr int64_t kLeastPlaces = 64;
  return g.batch <= 1 || g.out_plane() >= kLeastPlaces;
}

// The forward and backward passes on contiguous arrays.
template <class T>
void conv_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out);
template <class T>
void conv_backward_input(const ConvGeometry& g, const T* grad, const T* weight, T* gx);
template <class T>
void conv_backward_weight(const ConvGeometry& g, const T* grad, const T* x, T* gweight);

}  // namespace tenon::cpu
