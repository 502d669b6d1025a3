// Convolution by plain loops, for integers and complex numbers.
#pragma once

#include <algorithm>
#include <type_traits>

#include "dispatch.hpp"
#include "ops/conv.hpp"
#include "threads.hpp"

namespace tenon::cpu {

constexpr uint64_t kConvAny = TN_MASK_INT | TN_MASK_COMPLEX;

// Products wrap around, which is undefined for signed integers.
template <class T>
T wrapping_add(T sum, T x, T y) {
  if constexpr (is_int_v<T>) {
    using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(static_cast<U>(sum) + static_cast<U>(x) * static_cast<U>(y));
  } else {
    return sum +
           T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  }
}

// visit(tap, input position) for each tap that output position p reads inside the image.
template <class Visit>
void for_taps(const ConvGeometry& g, int64_t p, Visit&& visit) {
  const int64_t at[3] = {p / (g.out[1] * g.out[2]), p / g.out[2] % g.out[1], p % g.out[2]};
  int64_t tap = 0;
  for (int64_t kz = 0; kz < g.kernel[0]; ++kz)
    for (int64_t ky = 0; ky < g.kernel[1]; ++ky)
      for (int64_t kx = 0; kx < g.kernel[2]; ++kx, ++tap) {
        const int64_t z = at[0] * g.stride[0] - g.padding[0] + kz * g.dilation[0],
                      y = at[1] * g.stride[1] - g.padding[1] + ky * g.dilation[1],
                      x = at[2] * g.stride[2] - g.padding[2] + kx * g.dilation[2];
        if (z >= 0 && z < g.in[0] && y >= 0 && y < g.in[1] && x >= 0 && x < g.in[2])
          visit(tap, (z * g.in[1] + y) * g.in[2] + x);
      }
}

template <class T>
void conv_forward_any(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* out) {
  const int64_t plane = g.out_plane(), in = g.in_plane(), taps = g.taps(),
                all = g.groups * g.filters;
  parallel_for(g.batch * all, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t filter = i % all, image = i / all * g.groups + filter / g.filters;
      for (int64_t p = 0; p < plane; ++p) {
        T sum = bias == nullptr ? T(0) : bias[filter];
        for_taps(g, p, [&](int64_t tap, int64_t at) {
          for (int64_t c = 0; c < g.channels; ++c)
            sum = wrapping_add(sum, x[(image * g.channels + c) * in + at],
                               weight[(filter * g.channels + c) * taps + tap]);
        });
        out[i * plane + p] = sum;
      }
    }
  });
}

template <class T>
void conv_backward_input_any(const ConvGeometry& g, const T* grad, const T* weight, T* gx) {
  const int64_t plane = g.out_plane(), in = g.in_plane(), taps = g.taps();
  parallel_for(g.batch * g.groups * g.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / g.channels, c = i % g.channels,
                    first = image % g.groups * g.filters;
      std::fill(gx + i * in, gx + (i + 1) * in, T(0));
      for (int64_t f = 0; f < g.filters; ++f)
        for (int64_t p = 0; p < plane; ++p)
          for_taps(g, p, [&](int64_t tap, int64_t at) {
            T& sum = gx[i * in + at];
            sum = wrapping_add(sum, grad[(image * g.filters + f) * plane + p],
                               weight[((first + f) * g.channels + c) * taps + tap]);
          });
    }
  });
}

template <class T>
void conv_backward_weight_any(const ConvGeometry& g, const T* grad, const T* x, T* gweight) {
  const int64_t plane = g.out_plane(), in = g.in_plane(), taps = g.taps();
  parallel_for(g.groups * g.filters * g.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t filter = i / g.channels, c = i % g.channels, group = filter / g.filters;
      std::fill(gweight + i * taps, gweight + (i + 1) * taps, T(0));
      for (int64_t n = 0; n < g.batch; ++n)
        for (int64_t p = 0; p < plane; ++p)
          for_taps(g, p, [&](int64_t tap, int64_t at) {
            T& sum = gweight[i * taps + tap];
            sum = wrapping_add(sum, grad[(n * g.groups * g.filters + filter) * plane + p],
                               x[((n * g.groups + group) * g.channels + c) * in + at]);
          });
    }
  });
}

}  // namespace tenon::cpu
