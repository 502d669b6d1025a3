// Two-dimensional convolutions and their gradients.
#include "large.hpp"

namespace tenon::conformance::large {
namespace {

struct Conv {
  int64_t n, c, h, out, k, stride, padding, groups;  // images h × h, kernels k × k

  int64_t y() const { return (h + 2 * padding - k) / stride + 1; }
  Shape x_shape() const { return {n, c, h, h}; }
  Shape w_shape() const { return {out, c / groups, k, k}; }
  Shape y_shape() const { return {n, out, y(), y()}; }
  int64_t of_group() const { return c / groups; }
};

// A sum, term by term.
struct Sum {
  double value = 0, sizes = 0, terms = 0;
  void add(double term) { value += term, sizes += std::abs(term), ++terms; }
  Wanted wanted(DType dtype) const { return {value, sum_error(dtype, terms, sizes)}; }
};

std::string run_forward(Setting& s, const Conv& c) {
  const Numbers x = s.draw(c.x_shape()), w = s.draw(c.w_shape());
  const Tensor y = conv(x.tensor, w.tensor, {}, {c.stride}, {c.padding}, {1}, c.groups);
  return compare(s, y, c.y_shape(), [&](int64_t place) {
    const int64_t v = place % c.y(), u = place / c.y() % c.y(), o = place / (c.y() * c.y()) % c.out,
                  b = place / (c.y() * c.y() * c.out),
                  first = o / (c.out / c.groups) * c.of_group();
    Sum sum;
    for (int64_t i = 0; i < c.of_group(); ++i)
      for (int64_t p = 0; p < c.k; ++p)
        for (int64_t q = 0; q < c.k; ++q) {
          const int64_t row = u * c.stride - c.padding + p, column = v * c.stride - c.padding + q;
          if (row < 0 || row >= c.h || column < 0 || column >= c.h) continue;
          sum.add(x[((b * c.c + first + i) * c.h + row) * c.h + column] *
                  w[((o * c.of_group() + i) * c.k + p) * c.k + q]);
        }
    return sum.wanted(s.dtype);
  });
}

std::string run_input(Setting& s, const Conv& c) {
  const Numbers g = s.draw(c.y_shape()), w = s.draw(c.w_shape());
  const Tensor gx =
      conv_backward_input(g.tensor, w.tensor, c.x_shape(), {c.stride}, {c.padding}, {1}, c.groups);
  const int64_t outs = c.out / c.groups;
  return compare(s, gx, c.x_shape(), [&](int64_t place) {
    const int64_t column = place % c.h, row = place / c.h % c.h, i = place / (c.h * c.h) % c.c,
                  b = place / (c.h * c.h * c.c), group = i / c.of_group();
    Sum sum;
    for (int64_t o = group * outs; o < (group + 1) * outs; ++o)
      for (int64_t p = 0; p < c.k; ++p)
        for (int64_t q = 0; q < c.k; ++q) {
          const int64_t u = row + c.padding - p, v = column + c.padding - q;
          if (u < 0 || v < 0 || u % c.stride != 0 || v % c.stride != 0) continue;
          if (u / c.stride >= c.y() || v / c.stride >= c.y()) continue;
          sum.add(g[((b * c.out + o) * c.y() + u / c.stride) * c.y() + v / c.stride] *
                  w[((o * c.of_group() + i % c.of_group()) * c.k + p) * c.k + q]);
        }
    return sum.wanted(s.dtype);
  });
}

std::string run_weight(Setting& s, const Conv& c) {
  const Numbers g = s.draw(c.y_shape()), x = s.draw(c.x_shape());
  const Tensor gw =
      conv_backward_weight(g.tensor, x.tensor, c.w_shape(), {c.stride}, {c.padding}, {1}, c.groups);
  return compare(s, gw, c.w_shape(), [&](int64_t place) {
    const int64_t q = place % c.k, p = place / c.k % c.k, i = place / (c.k * c.k) % c.of_group(),
                  o = place / (c.k * c.k * c.of_group()),
                  from = o / (c.out / c.groups) * c.of_group() + i;
    Sum sum;
    for (int64_t b = 0; b < c.n; ++b)
      for (int64_t u = 0; u < c.y(); ++u)
        for (int64_t v = 0; v < c.y(); ++v) {
          const int64_t row = u * c.stride - c.padding + p, column = v * c.stride - c.padding + q;
          if (row < 0 || row >= c.h || column < 0 || column >= c.h) continue;
          sum.add(g[((b * c.out + o) * c.y() + u) * c.y() + v] *
                  x[((b * c.c + from) * c.h + row) * c.h + column]);
        }
    return sum.wanted(s.dtype);
  });
}

}  // namespace

void add_convolutions(Cases& cases) {
  struct Named {
    std::string label;
    Conv whole, small;
  };
  // Shapes of ResNet-50 and MobileNet: the stem, a 3 × 3, a strided 1 × 1, and a depthwise convolution.
  for (const Named& one :
       {Named{"stem", {2, 3, 224, 64, 7, 2, 3, 1}, {1, 3, 20, 8, 7, 2, 3, 1}},
        Named{"3 by 3", {4, 64, 28, 64, 3, 1, 1, 1}, {1, 16, 8, 16, 3, 1, 1, 1}},
        Named{"1 by 1", {4, 256, 28, 128, 1, 2, 0, 1}, {1, 32, 8, 16, 1, 2, 0, 1}},
        Named{"depthwise", {4, 64, 28, 64, 3, 1, 1, 64}, {1, 16, 8, 16, 3, 1, 1, 16}}}) {
    const auto add = [&](const char* op, std::string (*run)(Setting&, const Conv&)) {
      cases.push_back({op, one.label, TN_MASK_FLOAT,
                       [=](Setting& s) { return run(s, s.small ? one.small : one.whole); }});
    };
    add("conv", run_forward);
    add("conv_backward_input", run_input);
    add("conv_backward_weight", run_weight);
  }
}

}  // namespace tenon::conformance::large
