// Convolution and its two backward ops, compared with plain loops in double precision.
#include <thread>

#include "reference.hpp"
#include "resident.hpp"

namespace {

using namespace reference;
using tenon::DType;
using tenon::Tensor;

struct Case {
  Shape x, weight;
  Shape stride, padding, dilation;
  int64_t groups = 1;
};

std::string name(const Case& c) {
  std::string text;
  for (const Shape* s : {&c.x, &c.weight, &c.stride, &c.padding, &c.dilation}) {
    text += "(";
    for (const int64_t size : *s) text += std::to_string(size) + " ";
    text += ") ";
  }
  return text + "groups " + std::to_string(c.groups);
}

int64_t entry(const Shape& list, size_t d) { return list.size() == 1 ? list[0] : list[d]; }

Shape output_shape(const Case& c) {
  Shape out = {c.x[0], c.weight[0]};
  for (size_t d = 0; d + 2 < c.x.size(); ++d)
    out.push_back(
        (c.x[d + 2] + 2 * entry(c.padding, d) - entry(c.dilation, d) * (c.weight[d + 2] - 1) - 1) /
            entry(c.stride, d) +
        1);
  return out;
}

// visit(index of out, of x, of weight) for each product of the convolution.
template <class Visit>
void for_products(const Case& c, Visit&& visit) {
  const Shape out = output_shape(c);
  const size_t n = c.x.size() - 2;
  const int64_t places = count(out) / std::max<int64_t>(1, out[0] * out[1]),
                taps = count(c.weight) / (c.weight[0] * c.weight[1]);
  const int64_t plane = count(Shape(c.x.begin() + 2, c.x.end())), filters = c.weight[0] / c.groups;
  for (int64_t b = 0; b < c.x[0]; ++b)
    for (int64_t o = 0; o < c.weight[0]; ++o)
      for (int64_t p = 0; p < places; ++p)
        for (int64_t t = 0; t < taps; ++t) {
          int64_t rest_p = p, rest_t = t, at = 0, step = 1;
          bool inside = true;
          for (size_t d = n; d-- > 0;) {
            const int64_t i = rest_p % out[d + 2] * entry(c.stride, d) - entry(c.padding, d) +
                              rest_t % c.weight[d + 2] * entry(c.dilation, d);
            inside = inside && i >= 0 && i < c.x[d + 2];
            at += i * step;
            step *= c.x[d + 2];
            rest_p /= out[d + 2];
            rest_t /= c.weight[d + 2];
          }
          if (!inside) continue;
          for (int64_t q = 0; q < c.weight[1]; ++q)
            visit((b * c.weight[0] + o) * places + p,
                  (b * c.x[1] + o / filters * c.weight[1] + q) * plane + at,
                  (o * c.weight[1] + q) * taps + t);
        }
}

void check(const Case& c, DType dtype, uint32_t seed, bool has_bias = true) {
  const Array x = whole_numbers(c.x, seed), w = whole_numbers(c.weight, seed + 1),
              b = has_bias ? whole_numbers({c.weight[0]}, seed + 2) : Array({c.weight[0]}),
              g = whole_numbers(output_shape(c), seed + 3);
  Array out(output_shape(c)), gx(c.x), gw(c.weight);
  const int64_t places = out.v.empty() ? 1 : count(out.shape) / (out.shape[0] * out.shape[1]);
  for (int64_t i = 0; i < count(out.shape); ++i) out[i] = b[i / places % c.weight[0]];
  for_products(c, [&](int64_t o, int64_t i, int64_t k) {
    out[o] += x[i] * w[k];
    gx[i] += g[o] * w[k];
    gw[k] += g[o] * x[i];
  });
  const Tensor tx = to_tensor(x, dtype), tw = to_tensor(w, dtype),
               tb = has_bias ? to_tensor(b, dtype) : Tensor(), tg = to_tensor(g, dtype);
  const double tolerance = dtype == DType::BF16 || dtype == DType::F16 ? tolerance_of(dtype) : 0;
  const std::string what = std::string(tenon::name_of(dtype)) + " " + name(c);
  expect_close(conv(tx, tw, tb, c.stride, c.padding, c.dilation, c.groups), out, tolerance,
               "conv " + what);
  expect_close(conv_backward_input(tg, tw, c.x, c.stride, c.padding, c.dilation, c.groups), gx,
               tolerance, "input " + what);
  expect_close(conv_backward_weight(tg, tx, c.weight, c.stride, c.padding, c.dilation, c.groups),
               gw, tolerance, "weight " + what);
}

const Case kCases[] = {
    {{2, 3, 10}, {4, 3, 3}, {1}, {0}, {1}},
    {{2, 4, 11}, {6, 2, 3}, {2}, {1}, {2}, 2},
    {{1, 2, 40}, {3, 2, 5}, {3}, {4}, {1}},
    {{2, 3, 7, 9}, {4, 3, 3, 3}, {1}, {1}, {1}},
    {{2, 3, 7, 9}, {4, 3, 1, 1}, {1}, {0}, {1}},
    {{2, 3, 8, 9}, {4, 3, 1, 1}, {2}, {0}, {1}},
    {{3, 4, 9, 8}, {4, 1, 3, 2}, {2, 1}, {1, 0}, {1, 2}, 4},
    {{1, 6, 12, 13}, {9, 2, 3, 5}, {1, 2}, {2, 3}, {2, 1}, 3},
    {{2, 1, 28, 28}, {16, 1, 3, 3}, {1}, {1}, {1}},
    {{2, 3, 5, 5}, {2, 3, 5, 5}, {1}, {4}, {1}},
    {{1, 2, 2, 2}, {2, 2, 3, 3}, {1}, {5}, {2}},
    {{2, 2, 4, 5, 6}, {4, 2, 2, 3, 3}, {1}, {1}, {1}},
    {{1, 4, 5, 4, 6}, {6, 2, 3, 2, 1}, {2, 1, 2}, {1, 0, 0}, {1, 2, 1}, 2},
};

TEST(Conv, EveryDtype) {
  uint32_t seed = 1;
  for (const Case& c : kCases)
    for (const DType dtype :
         {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::I16})
      check(c, dtype, seed += 5);
}

TEST(Conv, LargeEnoughForThreads) {
  check({{5, 16, 30, 31}, {33, 16, 3, 3}, {1}, {1}, {1}}, DType::F32, 100);
  check({{5, 16, 30, 31}, {33, 16, 3, 3}, {2}, {1}, {1}}, DType::F32, 101);
  check({{1, 16, 50, 64}, {32, 16, 3, 3}, {1}, {1}, {1}}, DType::F32, 102);
  check({{1, 24, 33, 34}, {130, 24, 3, 3}, {1}, {1}, {1}}, DType::F64, 103);
  check({{9, 48, 14, 14}, {20, 48, 1, 1}, {1}, {0}, {1}}, DType::F32, 104);
}

// Planes too narrow for vectors along rows: oneDNN's layouts, or a single product over all positions.
TEST(Conv, NarrowPlanes) {
  uint32_t seed = 200;
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    check({{9, 20, 14, 13}, {24, 20, 3, 3}, {1}, {1}, {1}}, dtype, seed += 5);
    check({{9, 32, 15, 14}, {70, 32, 3, 2}, {2, 1}, {1, 0}, {1, 2}}, dtype, seed += 5);
    check({{1, 40, 20, 20}, {50, 40, 3, 3}, {1}, {2}, {2}}, dtype, seed += 5);
    check({{8, 24, 18, 18}, {48, 12, 3, 3}, {1}, {1}, {1}, 2}, dtype, seed += 5);
    check({{8, 32, 18, 18}, {32, 1, 5, 5}, {1}, {2}, {1}, 32}, dtype, seed += 5);
    check({{5, 3, 40, 41}, {32, 3, 7, 7}, {2}, {3}, {1}}, dtype, seed += 5);
    check({{4, 16, 5, 9, 8}, {32, 16, 3, 3, 3}, {1}, {1}, {1}}, dtype, seed += 5);
    check({{6, 32, 90}, {40, 32, 5}, {1}, {2}, {1}}, dtype, seed += 5);
  }
  for (const DType dtype : {DType::F32, DType::F64}) {
    check({{3, 40, 5, 6}, {33, 40, 3, 3}, {1}, {1}, {1}}, dtype, seed += 5);
    check({{1, 40, 9, 8}, {33, 40, 3, 3}, {2, 1}, {2, 0}, {1, 2}}, dtype, seed += 5);
    check({{2, 8, 3, 4, 4}, {20, 8, 3, 3, 3}, {1}, {1}, {1}}, dtype, seed += 5);
    check({{1, 60, 7, 7}, {130, 60, 3, 3}, {1}, {1}, {1}}, dtype, seed += 5);
    check({{1, 60, 14, 13}, {130, 60, 3, 3}, {2}, {1}, {1}}, dtype, seed += 5);
    check({{1, 200, 7, 7}, {130, 200, 1, 1}, {1}, {0}, {1}}, dtype, seed += 5);
    check({{1, 20, 9, 9}, {16, 20, 2, 2}, {5}, {1}, {3}}, dtype,
          seed += 5);  // some rows are never read
    check({{1, 30, 4, 4}, {16, 30, 2, 2}, {700}, {1400}, {1}}, dtype, seed += 5);  // mostly padding
    check({{5, 70, 20}, {16, 70, 3}, {1}, {1}, {1}}, dtype, seed += 5);
  }
}

// Gradients whose vectors hold places: every number of taps at once, one filter and more, lines that end within a vector.
// In parts of some images, the last one of fewer.
TEST(Conv, ManyImages) {
  check({{37, 16, 12, 12}, {32, 16, 3, 3}, {1}, {1}, {1}}, DType::F32, 200);
  check({{67, 20, 18, 9}, {17, 20, 3, 2}, {2}, {1}, {1}}, DType::F32, 201);
}

// Copies in another layout are those of some images, not of a whole batch: both operands have 32 MiB.
TEST(Conv, ALargeBatchTakesLittleMemory) {
  const Tensor x = tenon::ones({256, 32, 32, 32}), weight = tenon::ones({32, 32, 3, 3});
  const int64_t copies = 12 + 2 * std::thread::hardware_concurrency();
  const auto grown = [&](const auto& pass) {
    pass(tenon::ones({2, 32, 32, 32}));  // loads what the first call loads
    testing_ops::most_resident();
    const int64_t before = testing_ops::most_resident();
    const Tensor result = pass(x);
    return testing_ops::most_resident() - before;
  };
  const auto forward = [&](const Tensor& of) { return tenon::conv(of, weight, {}, {1}, {1}); };
  EXPECT_LT(grown(forward), 32 + copies);
  EXPECT_LT(grown([&](const Tensor& of) {
              return tenon::conv_backward_input(of, weight, of.shape(), {1}, {1}, {1}, 1);
            }),
            32 + copies);
  EXPECT_LT(grown([&](const Tensor& of) {
              return tenon::conv_backward_weight(of, of, weight.shape(), {1}, {1}, {1}, 1);
            }),
            copies);
}

TEST(Conv, FewFiltersOfAGroup) {
  uint32_t seed = 800;
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (int64_t taps = 1; taps <= 12; ++taps) {
      check({{2, 3, 40}, {3, 1, taps}, {1}, {taps / 2}, {1}, 3}, dtype, seed += 5);
      check({{2, 2, 19}, {6, 1, taps}, {1}, {0}, {1}, 2}, dtype, seed += 5);
    }
    check({{2, 40, 21, 20}, {40, 1, 7, 7}, {1}, {3}, {1}, 40}, dtype, seed += 5);
    check({{2, 40, 21, 20}, {40, 1, 5, 5}, {2}, {2}, {1}, 40}, dtype, seed += 5);
    check({{2, 40, 16, 17}, {80, 1, 3, 3}, {1}, {2}, {2}, 40}, dtype, seed += 5);
    check({{3, 40, 14, 14}, {40, 4, 3, 3}, {1}, {1}, {1}, 10}, dtype, seed += 5);
    check({{3, 24, 14, 14}, {56, 3, 3, 3}, {2, 1}, {1}, {1}, 8}, dtype, seed += 5);
    check({{1, 20, 6, 9, 7}, {20, 1, 3, 3, 3}, {1}, {1}, {1}, 20}, dtype, seed += 5);
    check({{2, 8, 3, 2}, {8, 1, 5, 7}, {1}, {3}, {1}, 8}, dtype, seed += 5);
  }
}

// Few outputs beside inputs, or a lone channel, whose gradients are folded: kernels that span a side, clipped by padding, in pieces of some
// rows; rows of taps that are longer than those of outputs, and shorter ones.
TEST(Conv, FewOutputs) {
  uint32_t seed = 1700;
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    check({{3, 1, 20, 30}, {24, 1, 3, 30}, {1}, {0}, {1}}, dtype, seed += 5);
    check({{2, 1, 22, 90}, {16, 1, 22, 1}, {1}, {0}, {1}}, dtype, seed += 5);
    check({{2, 3, 9, 70}, {32, 3, 9, 5}, {1}, {0, 2}, {1, 2}}, dtype, seed += 5);
    check({{2, 4, 40, 6}, {10, 2, 7, 6}, {1}, {2, 1}, {2, 1}, 2}, dtype, seed += 5);
    check({{1, 1, 50, 60}, {20, 1, 3, 3}, {2, 3}, {1, 4}, {1}}, dtype, seed += 5);
    check({{1, 5, 6, 12, 11}, {30, 5, 5, 4, 11}, {1, 2, 1}, {1, 0, 0}, {1}}, dtype, seed += 5);
    check({{2, 2, 12}, {16, 2, 4}, {3}, {5}, {3}}, dtype, seed += 5);
    check({{1, 1, 3, 3}, {8, 1, 2, 2}, {9}, {4}, {5}}, dtype, seed += 5);  // some are never read
  }
  check({{2, 2, 120, 100}, {48, 2, 9, 90}, {1}, {0}, {1}}, DType::F32, seed += 5);
}

// Rows of taps that are long beside those of outputs: unfolded image by image, or whole rows of a lone channel as they lie.
TEST(Conv, LongRowsOfTaps) {
  uint32_t seed = 2100;
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
    check({{3, 1, 30, 20}, {24, 1, 3, 20}, {1}, {0}, {1}}, dtype, seed += 5);
    check({{3, 1, 50, 20}, {9, 1, 5, 20}, {2, 1}, {0}, {1}}, dtype, seed += 5);
    check({{3, 1, 60, 20}, {8, 1, 3, 20}, {1}, {0}, {2, 1}}, dtype, seed += 5);
    check({{2, 1, 4, 30, 12}, {10, 1, 2, 3, 12}, {1}, {0}, {1}}, dtype, seed += 5);
    check({{2, 5, 40, 17}, {20, 5, 2, 16}, {1}, {1, 0}, {1}}, dtype, seed += 5);
    check({{1, 1, 200, 40}, {40, 1, 3, 41}, {1}, {0, 1}, {1}}, dtype, seed += 5);
    check({{2, 2, 6, 20, 9}, {12, 2, 3, 1, 9}, {1}, {1, 0, 0}, {1}}, dtype, seed += 5);
  }
}

// As of wav2vec's positions and of discriminators of sound.
TEST(Conv, LongKernelsOfGroups) {
  uint32_t seed = 1900;
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
    check({{2, 24, 70}, {24, 8, 32}, {1}, {16}, {1}, 3}, dtype, seed += 5);
    check({{2, 16, 230}, {32, 8, 41}, {4}, {20}, {1}, 2}, dtype, seed += 5);
    check({{1, 32, 3, 90}, {32, 16, 2, 20}, {1}, {1, 0}, {1, 2}, 2}, dtype, seed += 5);
  }
}

// Slices of depth that share a copy: a rest of them, strides and dilations of depth, more than the copy has room for, lines that are
// shorter and longer than vectors.
TEST(Conv, SlicesOfDepthShareACopy) {
  uint32_t seed = 1300;
  for (const DType dtype : {DType::F32, DType::F64})
    for (const int64_t width : {3, 9, 33}) {
      check({{1, 6, 13, 6, width}, {6, 1, 3, 3, 3}, {1}, {1}, {1}, 6}, dtype, seed += 5);
      check({{2, 4, 14, 5, width}, {8, 1, 3, 3, 2}, {2, 1, 1}, {1}, {3, 1, 1}, 4}, dtype,
            seed += 5);
      check({{1, 2, 12, 5, width}, {3, 2, 2, 3, 3}, {3, 1, 2}, {0, 1, 2}, {1}}, dtype, seed += 5);
    }
  check({{1, 3, 9, 80, 90}, {3, 1, 3, 3, 3}, {1}, {1}, {1}, 3}, DType::F32, seed += 5);
}

// A tap that never reads what is not finite, as it lies in the image's corner, keeps its gradient.
TEST(Conv, GradientOfTapsBesideInfinity) {
  Array x({1, 2, 6, 6});
  x[0] = std::numeric_limits<double>::infinity();
  const Array g = whole_numbers({1, 2, 6, 6}, 1);
  const auto gw = values(conv_backward_weight(to_tensor(g, DType::F32), to_tensor(x, DType::F32),
                                              {2, 1, 3, 3}, {1}, {1}, {1}, 2));
  for (size_t tap = 0; tap < 9; ++tap) {
    const bool reads =
        tap % 3 < 2 && tap / 3 < 2;  // the first places of the image, from its padding on
    EXPECT_EQ(std::isfinite(gw[tap]), !reads) << tap;
    EXPECT_EQ(gw[9 + tap], 0) << tap;
  }
}

// Products of the images as they lie, cut along the images, the filters or the places.
TEST(Conv, PointwiseHalves) {
  uint32_t seed = 500;
  for (const DType dtype : {DType::BF16, DType::F16})
    for (const int64_t batch : {1, 2, 9})
      for (const auto& [channels, filters] : {std::pair<int64_t, int64_t>{70, 130}, {200, 24}})
        for (const int64_t width : {9, 24})
          check({{batch, channels, 8, width}, {filters, channels, 1, 1}, {1}, {0}, {1}}, dtype,
                seed += 5, false);
}

TEST(Conv, Complex) {
  const Case c{{2, 3, 6, 5}, {4, 3, 3, 2}, {1}, {1}, {1}};
  const auto pair = [](const Shape& s, uint32_t seed) {
    return complex(to_tensor(whole_numbers(s, seed), DType::F64),
                   to_tensor(whole_numbers(s, seed + 1), DType::F64));
  };
  const Tensor x = pair(c.x, 1), w = pair(c.weight, 3);
  const Tensor y = conv(x, w, {}, c.stride, c.padding, c.dilation), re = real(x).contiguous(),
               im = imag(x).contiguous(), wr = real(w).contiguous(), wi = imag(w).contiguous();
  const auto f = [&](const Tensor& a, const Tensor& b) {
    return conv(a, b, {}, c.stride, c.padding, c.dilation);
  };
  EXPECT_EQ(values(real(y)), values(f(re, wr) - f(im, wi)));
  EXPECT_EQ(values(imag(y)), values(f(re, wi) + f(im, wr)));
}

TEST(Conv, EmptyAndViews) {
  const Tensor w = to_tensor(whole_numbers({4, 3, 3, 3}, 1), DType::F32);
  EXPECT_EQ(shape_of(conv(tenon::zeros({0, 3, 8, 8}), w)), (Shape{0, 4, 6, 6}));
  expect_close(
      conv_backward_weight(tenon::zeros({0, 4, 6, 6}), tenon::zeros({0, 3, 8, 8}), {4, 3, 3, 3}),
      Array({4, 3, 3, 3}), 0, "no image");
  EXPECT_EQ(shape_of(conv_backward_input(tenon::zeros({0, 4, 6, 6}), w, {0, 3, 8, 8})),
            (Shape{0, 3, 8, 8}));
  const Tensor x = to_tensor(whole_numbers({2, 3, 9, 8}, 2), DType::F32);
  const Tensor turned = x.transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_EQ(values(conv(turned, w)), values(conv(x, w)));
}

TEST(Conv, Errors) {
  const Tensor x = tenon::zeros({2, 3, 8, 8}), w = tenon::zeros({4, 3, 3, 3});
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error_of([&] {
                    conv(x, tenon::zeros({4, 2, 3, 3}));
                  }),
                  "[conv] weight of shape (4, 2, 3, 3) takes 2 channels"));
  EXPECT_TRUE(has(error_of([&] { conv(x, tenon::zeros({4, 3, 3})); }), "ranks differ"));
  EXPECT_TRUE(has(error_of([&] { conv(x, tenon::zeros({4, 3, 9, 9})); }), "exceeds"));
  EXPECT_TRUE(has(error_of([&] { conv(x, w, {}, {0}); }), "stride must be 1 or more"));
  EXPECT_TRUE(has(error_of([&] { conv(x, w, {}, {1, 1, 1}); }), "[conv]"));
  EXPECT_TRUE(has(error_of([&] { conv(x, w, {}, {1}, {0}, {1}, 2); }), "groups 2 must divide"));
  EXPECT_TRUE(has(error_of([&] { conv(x, w, tenon::zeros({3})); }), "bias must have shape (4,)"));
  EXPECT_TRUE(has(error_of([&] {
                    conv(tenon::zeros({3, 8}), tenon::zeros({3, 8}));
                  }),
                  "1 to 3 spatial dimensions"));
  EXPECT_TRUE(has(error_of([&] {
                    conv_backward_input(tenon::zeros({2, 4, 5, 6}), w, {2, 3, 8, 8});
                  }),
                  "the convolution gives (2, 4, 6, 6)"));
}

}  // namespace
