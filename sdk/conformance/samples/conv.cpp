// Convolution and its two adjoints, by definition.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

struct Conv {
  std::string label;
  Shape x, w;  // (N, C, spatial…), (O, C/groups, kernel…)
  Shape stride, padding, dilation;
  int64_t groups;
  bool bias;

  size_t rank() const { return x.size() - 2; }
  int64_t of(const Shape& list, size_t d) const { return list.size() == 1 ? list[0] : list[d]; }
  int64_t out(size_t d) const {
    return (x[2 + d] + 2 * of(padding, d) - of(dilation, d) * (w[2 + d] - 1) - 1) / of(stride, d) +
           1;
  }
  Shape result() const {
    Shape shape = {x[0], w[0]};
    for (size_t d = 0; d < rank(); ++d) shape.push_back(out(d));
    return shape;
  }
  Args attributes() const { return {stride, padding, dilation, groups}; }
};

const std::vector<Conv>& convs() {
  static const std::vector<Conv> list = {
      {"1d", {2, 3, 9}, {4, 3, 3}, {1}, {0}, {1}, 1, true},
      {"1d stride 2 dilation 2", {1, 2, 11}, {2, 2, 3}, {2}, {2}, {2}, 1, false},
      {"2d", {2, 3, 5, 6}, {4, 3, 3, 3}, {1}, {1}, {1}, 1, true},
      {"2d stride", {1, 2, 7, 6}, {3, 2, 3, 2}, {2, 3}, {1, 0}, {1}, 1, false},
      {"2d groups", {2, 4, 5, 5}, {6, 2, 3, 3}, {1}, {1}, {1}, 2, true},
      {"2d depthwise", {1, 3, 6, 5}, {3, 1, 3, 3}, {1}, {1}, {1}, 3, true},
      {"2d 1×1", {2, 3, 4, 4}, {5, 3, 1, 1}, {1}, {0}, {1}, 1, true},
      {"2d dilation", {1, 2, 8, 7}, {2, 2, 3, 3}, {1}, {2}, {2}, 1, true},
      {"2d empty batch", {0, 3, 5, 6}, {4, 3, 3, 3}, {1}, {1}, {1}, 1, true},
      {"2d wider", {2, 16, 9, 9}, {20, 16, 3, 3}, {1}, {1}, {1}, 1, true},
      {"3d", {1, 2, 4, 5, 4}, {3, 2, 2, 3, 2}, {1}, {1}, {1}, 1, true},
      {"3d stride groups", {1, 4, 5, 4, 5}, {4, 2, 2, 2, 3}, {2, 1, 2}, {0, 1, 1}, {1}, 2, false},
  };
  return list;
}

// Calls fn(position in x, in w, in the result) for each product of the definition.
template <class Fn>
void for_each_product(const Conv& c, Fn fn) {
  Array x(DType::F64, c.x), w(DType::F64, c.w), y(DType::F64, c.result());
  int64_t per_group = c.w[0] / c.groups;
  for_each_index(y.shape, [&](const Shape& at) {
    int64_t group = at[1] / per_group;
    Shape window(c.w.begin() + 1, c.w.end());  // (C/groups, kernel…)
    for_each_index(window, [&](const Shape& k) {
      Shape from = {at[0], group * c.w[1] + k[0]};
      for (size_t d = 0; d < c.rank(); ++d) {
        int64_t p =
            at[2 + d] * c.of(c.stride, d) - c.of(c.padding, d) + k[1 + d] * c.of(c.dilation, d);
        if (p < 0 || p >= c.x[2 + d]) return;
        from.push_back(p);
      }
      Shape weight = {at[1]};
      weight.insert(weight.end(), k.begin(), k.end());
      fn(x.at(from), w.at(weight), y.at(at));
    });
  });
}

Args with_attributes(Args args, const Conv& c) {
  Args rest = c.attributes();
  args.insert(args.end(), rest.begin(), rest.end());
  return args;
}

void add_conv(Table& t, const Conv& c) {
  bool small = Array::count(c.x) * Array::count(c.w) < 20000;
  Sample& forward = t.add(
      "conv", c.label, kFloats,
      [=](DType dtype, Rng& rng) {
        Arg bias;
        if (c.bias) bias = random_array(rng, dtype, {c.w[0]});
        return with_attributes({random_array(rng, dtype, c.x), random_array(rng, dtype, c.w), bias},
                               c);
      },
      [=](const Args& a) {
        using arg = tenon::arg::conv;
        Array out(array(a, arg::x).dtype, c.result());
        for_each_product(c, [&](size_t x, size_t w, size_t y) {
          out.v[y] += array(a, arg::x).v[x] * array(a, arg::weight).v[w];
        });
        int64_t inner = Array::count(out.shape) / std::max<int64_t>(1, out.shape[0] * out.shape[1]);
        for (size_t i = 0; c.bias && i < out.size(); ++i)
          out.v[i] +=
              array(a, arg::bias).v[i / static_cast<size_t>(inner) % static_cast<size_t>(c.w[0])];
        return one(out);
      });
  Sample& input = t.add(
      "conv_backward_input", c.label, kFloats,
      [=](DType dtype, Rng& rng) {
        return with_attributes(
            {random_array(rng, dtype, c.result()), random_array(rng, dtype, c.w), c.x}, c);
      },
      [=](const Args& a) {
        Array out(array(a, arg::conv_backward_input::g).dtype, c.x);
        for_each_product(c, [&](size_t x, size_t w, size_t y) {
          out.v[x] += array(a, arg::conv_backward_input::g).v[y] *
                      array(a, arg::conv_backward_input::weight).v[w];
        });
        return one(out);
      });
  Sample& weight = t.add(
      "conv_backward_weight", c.label, kFloats,
      [=](DType dtype, Rng& rng) {
        return with_attributes(
            {random_array(rng, dtype, c.result()), random_array(rng, dtype, c.x), c.w}, c);
      },
      [=](const Args& a) {
        Array out(array(a, arg::conv_backward_weight::g).dtype, c.w);
        for_each_product(c, [&](size_t x, size_t w, size_t y) {
          out.v[w] += array(a, arg::conv_backward_weight::g).v[y] *
                      array(a, arg::conv_backward_weight::x).v[x];
        });
        return one(out);
      });
  for (Sample* s : {&forward, &input, &weight}) {
    s->tolerance = 60;
    s->gradient = small && c.x[0] > 0;
  }
}

// The adjoint of a convolution, which conv_backward_input computes: from the small side to the large one.
void add_transposed(Table& t) {
  struct Transposed {
    std::string label;
    Conv conv;  // x is the result of the transposed convolution
    Shape output_padding;
  };
  const std::vector<Transposed> list = {
      {"1d", {"", {2, 3, 9}, {4, 3, 3}, {2}, {1}, {1}, 1, true}, {0}},
      {"2d", {"", {1, 2, 5, 6}, {3, 2, 3, 3}, {1}, {1}, {1}, 1, true}, {0}},
      {"2d stride", {"", {1, 2, 8, 7}, {3, 2, 3, 3}, {2}, {1}, {1}, 1, false}, {1, 0}},
      {"2d groups", {"", {1, 4, 5, 5}, {6, 2, 3, 3}, {1}, {0}, {1}, 2, true}, {0}},
      {"3d", {"", {1, 2, 4, 3, 4}, {2, 2, 2, 2, 2}, {1}, {0}, {1}, 1, true}, {0}},
  };
  for (const Transposed& each : list) {
    const Conv c = each.conv;
    t.add(
         "conv_transpose", each.label, kFloats,
         [=, pad = each.output_padding](DType dtype, Rng& rng) {
           Arg bias;
           if (c.bias) bias = random_array(rng, dtype, {c.x[1]});
           return Args{random_array(rng, dtype, c.result()),
                       random_array(rng, dtype, c.w),
                       bias,
                       c.stride,
                       c.padding,
                       pad,
                       c.dilation,
                       c.groups};
         },
         [=](const Args& a) {
           using arg = tenon::arg::conv_transpose;
           Array out(array(a, arg::x).dtype, c.x);
           for_each_product(c, [&](size_t x, size_t w, size_t y) {
             out.v[x] += array(a, arg::x).v[y] * array(a, arg::weight).v[w];
           });
           size_t inner = out.size() / static_cast<size_t>(c.x[0] * c.x[1]);
           for (size_t i = 0; c.bias && i < out.size(); ++i)
             out.v[i] += array(a, arg::bias).v[i / inner % static_cast<size_t>(c.x[1])];
           return one(out);
         })
        .tolerance = 60;
  }
}

}  // namespace

void add_conv_samples(Table& table) {
  for (const Conv& c : convs()) add_conv(table, c);
  add_transposed(table);
}

}  // namespace tenon::conformance
