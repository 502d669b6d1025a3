// Pooling, interpolation and padding, compared with plain loops in double precision.
#include <limits>

#include "reference.hpp"

namespace {

using namespace reference;
using tenon::DType;
using tenon::Tensor;

constexpr DType kFloats[] = {DType::F16, DType::BF16, DType::F32, DType::F64};

int64_t entry(const Shape& list, size_t d) { return list.size() == 1 ? list[0] : list[d]; }

struct Case {
  Shape x, kernel, stride, padding, dilation;
  bool ceil = false, include_pad = true;
};

Shape pooled(const Case& c) {
  Shape out = {c.x[0], c.x[1]};
  for (size_t d = 0; d + 2 < c.x.size(); ++d) {
    const int64_t s = entry(c.stride, d), p = entry(c.padding, d);
    const int64_t room = c.x[d + 2] + 2 * p - entry(c.dilation, d) * (entry(c.kernel, d) - 1) - 1;
    int64_t n = (c.ceil ? (room + s - 1) / s : room / s) + 1;
    if (c.ceil && (n - 1) * s >= c.x[d + 2] + p) --n;
    out.push_back(n);
  }
  return out;
}

// Calls visit(output, input or -1 for padding) for each position of each window; positions beyond the padding are left out.
template <class Visit>
void for_windows(const Case& c, Visit&& visit) {
  const Shape out = pooled(c);
  const size_t n = c.x.size() - 2;
  const int64_t places = count(Shape(out.begin() + 2, out.end())),
                plane = count(Shape(c.x.begin() + 2, c.x.end()));
  int64_t taps = 1;
  for (size_t d = 0; d < n; ++d) taps *= entry(c.kernel, d);
  for (int64_t i = 0; i < c.x[0] * c.x[1] * places; ++i)
    for (int64_t t = 0; t < taps; ++t) {
      int64_t p = i % places, rest = t, at = 0, step = 1;
      bool inside = true, padding = true;
      for (size_t d = n; d-- > 0; p /= out[d + 2]) {
        const int64_t k = entry(c.kernel, d);
        const int64_t j = p % out[d + 2] * entry(c.stride, d) - entry(c.padding, d) +
                          rest % k * entry(c.dilation, d);
        rest /= k;
        inside = inside && j >= 0 && j < c.x[d + 2];
        padding = padding && j < c.x[d + 2] + entry(c.padding, d);
        at += j * step;
        step *= c.x[d + 2];
      }
      if (inside)
        visit(i, i / places * plane + at);
      else if (padding)
        visit(i, -1);
    }
}

const Case kCases[] = {
    {{2, 3, 10}, {2}, {2}, {0}, {1}},
    {{2, 3, 11}, {3}, {2}, {1}, {1}, true},
    {{2, 3, 8, 8}, {2}, {2}, {0}, {1}},
    {{2, 3, 28, 28}, {2}, {2}, {0}, {1}},
    {{2, 3, 9, 40}, {3}, {2}, {1}, {1}, false, false},
    {{1, 2, 7, 33}, {3}, {1}, {1}, {1}},
    {{1, 2, 6, 19}, {5, 4}, {2}, {2}, {1}},
    {{2, 2, 4, 9}, {3}, {1}, {1}, {1}},
    {{1, 1, 3, 4}, {2}, {1}, {1}, {1}},
    {{2, 3, 9, 11}, {3, 2}, {2, 3}, {1, 0}, {1}, true},
    {{2, 3, 9, 11}, {3, 2}, {2, 3}, {1, 1}, {1}, true, false},
    {{1, 2, 5, 6, 7}, {2}, {2}, {1}, {1}, true},
    {{1, 2, 5, 6, 7}, {2, 3, 2}, {1, 2, 2}, {0, 1, 1}, {1}},
    {{2, 3, 6, 9, 40}, {3}, {2}, {1}, {1}, true},
    {{2, 3, 6, 9, 41}, {2, 3, 4}, {2, 1, 1}, {1, 1, 2}, {1}, false, false},
    {{2, 3, 61}, {3}, {3}, {1}, {1}, true},
    {{2, 3, 9, 80}, {2, 5}, {3, 4}, {0, 2}, {1}, true, false},
    {{2, 3, 7, 15}, {7, 15}, {1}, {0}, {1}},
    {{2, 3, 3, 5, 15}, {5, 5, 15}, {1}, {1, 0, 0}, {1}},
    // Vectors along the windows: of 4 and 8 numbers, whole and with a rest.
    {{2, 3, 21, 27}, {4}, {5}, {0}, {1}},
    {{2, 3, 21, 22}, {5, 7}, {3}, {2, 3}, {1}, true},
    {{2, 3, 21, 22}, {5, 8}, {4, 5}, {2, 4}, {1}, false, false},
    {{1, 2, 9, 10, 55}, {3, 4, 37}, {3, 4, 9}, {1, 2, 18}, {1}},
};

TEST(MaxPool, EveryDtype) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.push_back({{2, 2, 12, 13}, {3}, {2}, {1}, {2}});
  cases.push_back({{2, 2, 12, 13}, {2, 3}, {1}, {0}, {3, 2}});
  for (const Case& c : cases)
    for (const DType dtype : {DType::U8, DType::I8, DType::I32, DType::I64, DType::F16, DType::BF16,
                              DType::F32, DType::F64}) {
      const Array x = whole_numbers(c.x, 3, dtype != DType::U8);
      Array want(pooled(c), -std::numeric_limits<double>::infinity()), at(pooled(c), -1);
      const int64_t plane = count(Shape(c.x.begin() + 2, c.x.end()));
      for_windows(c, [&](int64_t o, int64_t i) {
        if (i >= 0 && x[i] > want[o]) want[o] = x[i], at[o] = static_cast<double>(i % plane);
      });
      const auto got =
          max_pool(to_tensor(x, dtype), c.kernel, c.stride, c.padding, c.dilation, c.ceil);
      expect_close(got.values, want, 0, "max_pool");
      expect_close(got.indices, at, 0, "indices");
      const Array g = whole_numbers(want.shape, 4, dtype != DType::U8);
      Array gx(c.x);
      const int64_t places = count(Shape(want.shape.begin() + 2, want.shape.end()));
      for (int64_t o = 0; o < count(want.shape); ++o)
        gx[o / places * plane + static_cast<int64_t>(at[o])] += g[o];
      expect_close(max_pool_backward(to_tensor(g, dtype), got.indices, c.x), gx, 0,
                   "max_pool_backward");
    }
}

TEST(MaxPool, NotANumberWins) {
  for (const int64_t width : {5, 40}) {
    Array x({1, 1, 4, width}, 1);
    x[width + 2] = std::nan("");
    const auto got = max_pool(to_tensor(x, DType::F32), {2}, {1});
    EXPECT_TRUE(std::isnan(values(got.values)[1]));
    EXPECT_EQ(values(got.indices)[1], width + 2);
    EXPECT_EQ(values(got.indices)[0], 0);
    Array deep({1, 1, 3, 4, width}, 1);
    deep[5 * width + 2] = std::nan("");
    const auto found = max_pool(to_tensor(deep, DType::F32), {2}, {1});
    EXPECT_TRUE(std::isnan(values(found.values)[1]));
    EXPECT_EQ(values(found.indices)[1], 5 * width + 2);
    Array low({1, 1, 4, width}, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(values(max_pool(to_tensor(low, DType::F32), {2}).indices)[1], 2);
  }
}

// Along the lines of wide windows, wherever in a vector it lies.
TEST(MaxPool, NotANumberWinsInWideWindows) {
  const double low = -std::numeric_limits<double>::infinity();
  for (const int64_t width : {4, 7, 8, 16, 21, 70}) {
    const int64_t plane = 5 * width;
    for (int64_t at = 0; at + 1 < plane; ++at) {
      Array x({1, 2, 5, width}, low);
      x[at] = std::nan("");
      x[at + 1] = 3;
      x[plane + at] = x[2 * plane - 1] = -2;
      const auto got = adaptive_max_pool(to_tensor(x, DType::F32), {1});
      EXPECT_TRUE(std::isnan(values(got.values)[0]));
      EXPECT_EQ(values(got.values)[1], -2);
      EXPECT_EQ(values(got.indices),
                (std::vector<double>{static_cast<double>(at), static_cast<double>(at)}));
    }
    Array x({1, 2, 5, width}, low);
    x[1] = x[plane - 1] = std::nan("");  // the last of several
    const auto got = adaptive_max_pool(to_tensor(x, DType::F32), {1});
    EXPECT_EQ(values(got.indices), (std::vector<double>{static_cast<double>(plane - 1), 0}));
    EXPECT_EQ(values(got.values)[1], low);
  }
}

TEST(AvgPool, EveryDtype) {
  for (const Case& c : kCases)
    for (const DType dtype : kFloats) {
      const Array x = whole_numbers(c.x, 5);
      Array want(pooled(c)), size(pooled(c));
      for_windows(c, [&](int64_t o, int64_t i) {
        if (i >= 0) want[o] += x[i];
        if (i >= 0 || c.include_pad) size[o] += 1;
      });
      for (size_t o = 0; o < want.v.size(); ++o) want.v[o] /= size.v[o];
      expect_close(
          avg_pool(to_tensor(x, dtype), c.kernel, c.stride, c.padding, c.ceil, c.include_pad), want,
          tolerance_of(dtype), "avg_pool");
      const Array g = whole_numbers(want.shape, 6);
      Array gx(c.x);
      for_windows(c, [&](int64_t o, int64_t i) {
        if (i >= 0) gx[i] += g[o] / size[o];
      });
      expect_close(avg_pool_backward(to_tensor(g, dtype), c.x, c.kernel, c.stride, c.padding,
                                     c.ceil, c.include_pad),
                   gx, tolerance_of(dtype), "avg_pool_backward");
    }
}

TEST(AdaptivePool, EveryDtype) {
  const std::pair<Shape, Shape> cases[] = {{{2, 3, 10}, {4}},
                                           {{2, 3, 7, 9}, {1}},
                                           {{2, 3, 7, 9}, {3, 5}},
                                           {{2, 3, 30, 9}, {7, 1}},
                                           {{1, 2, 3, 4, 5}, {2, 4, 7}},
                                           {{1, 2, 6, 7, 20}, {1}},
                                           {{2, 3, 33, 75}, {2}},
                                           {{1, 2, 9, 17, 37}, {2, 2, 1}},
                                           {{1, 2, 9, 17, 37}, {2, 1, 5}}};
  for (const auto& each : cases)
    for (const DType dtype : kFloats) {
      const Shape &shape = each.first, &size = each.second;
      const Array x = whole_numbers(shape, 7);
      const size_t n = shape.size() - 2;
      Shape out = {shape[0], shape[1]};
      for (size_t d = 0; d < n; ++d) out.push_back(entry(size, d));
      const int64_t plane = count(Shape(shape.begin() + 2, shape.end())),
                    places = count(Shape(out.begin() + 2, out.end()));
      const auto inside = [&](int64_t p, int64_t i) {
        for (size_t d = n; d-- > 0; p /= out[d + 2], i /= shape[d + 2]) {
          const int64_t o = p % out[d + 2], begin = o * shape[d + 2] / out[d + 2],
                        end = ((o + 1) * shape[d + 2] + out[d + 2] - 1) / out[d + 2];
          if (i % shape[d + 2] < begin || i % shape[d + 2] >= end) return false;
        }
        return true;
      };
      Array mean(out), most(out, -1e9), at(out), gx(shape);
      const Array g = whole_numbers(out, 8);
      for (int64_t o = 0; o < count(out); ++o) {
        double size_of_window = 0;
        for (int64_t i = 0; i < plane; ++i)
          if (inside(o % places, i)) {
            const double v = x[o / places * plane + i];
            size_of_window += 1;
            mean[o] += v;
            if (v > most[o]) most[o] = v, at[o] = static_cast<double>(i);
          }
        mean[o] /= size_of_window;
        for (int64_t i = 0; i < plane; ++i)
          if (inside(o % places, i)) gx[o / places * plane + i] += g[o] / size_of_window;
      }
      expect_close(adaptive_avg_pool(to_tensor(x, dtype), size), mean, tolerance_of(dtype),
                   "adaptive_avg_pool");
      expect_close(adaptive_avg_pool_backward(to_tensor(g, dtype), shape), gx, tolerance_of(dtype),
                   "adaptive_avg_pool_backward");
      const auto got = adaptive_max_pool(to_tensor(x, dtype), size);
      expect_close(got.values, most, 0, "adaptive_max_pool");
      expect_close(got.indices, at, 0, "adaptive_max_pool indices");
    }
}

// The weight of input i for output o along one dimension.
double weight(const std::string& mode, bool align, int64_t in, int64_t out, int64_t o, int64_t i) {
  if (mode == "nearest") return i == o * in / out ? 1 : 0;
  double s =
      align ? (out > 1 ? static_cast<double>(o) * static_cast<double>(in - 1) /
                             static_cast<double>(out - 1)
                       : 0)
            : (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out) -
                  0.5;
  if (mode != "bicubic") {
    s = std::min(std::max(s, 0.0), static_cast<double>(in - 1));
    return std::max(0.0, 1 - std::abs(s - static_cast<double>(i)));
  }
  double sum = 0;
  for (int64_t k = static_cast<int64_t>(std::floor(s)) - 1;
       k <= static_cast<int64_t>(std::floor(s)) + 2; ++k) {
    const double x = std::abs(s - static_cast<double>(k)), a = -0.75;
    const double w = x <= 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1
                            : a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
    if (std::min(std::max<int64_t>(k, 0), in - 1) == i) sum += w;
  }
  return sum;
}

TEST(Interpolate, ModesAndBackward) {
  const std::tuple<std::string, Shape, Shape> cases[] = {{"nearest", {2, 3, 5}, {9}},
                                                         {"linear", {2, 3, 5}, {9}},
                                                         {"nearest", {1, 2, 4, 6}, {7, 3}},
                                                         {"bilinear", {1, 2, 4, 6}, {7, 3}},
                                                         {"bilinear", {2, 2, 5, 5}, {10}},
                                                         {"bicubic", {1, 2, 4, 6}, {7, 3}},
                                                         {"bicubic", {1, 1, 2, 3}, {5, 8}},
                                                         {"trilinear", {1, 2, 3, 4, 5}, {4, 2, 9}},
                                                         {"nearest", {1, 2, 3, 4, 5}, {6, 2, 1}},
                                                         {"nearest", {1, 2, 9, 20}, {18, 40}},
                                                         {"nearest", {1, 2, 3, 8}, {9, 4}},
                                                         {"bicubic", {1, 2, 3, 18}, {8, 35}},
                                                         {"bilinear", {1, 1, 1, 1}, {3}}};
  for (const auto& [mode, shape, size] : cases)
    for (const bool align : {false, true})
      for (const DType dtype : kFloats) {
        if (mode == "nearest" && align) continue;
        const Array x = fractions(shape, 9);
        const size_t n = shape.size() - 2;
        Shape out = {shape[0], shape[1]};
        for (size_t d = 0; d < n; ++d) out.push_back(entry(size, d));
        const Array g = fractions(out, 10);
        Array want(out), gx(shape);
        const int64_t plane = count(Shape(shape.begin() + 2, shape.end())),
                      places = count(Shape(out.begin() + 2, out.end()));
        for (int64_t o = 0; o < count(out); ++o)
          for (int64_t i = 0; i < plane; ++i) {
            double w = 1;
            int64_t p = o % places, q = i;
            for (size_t d = n; d-- > 0; p /= out[d + 2], q /= shape[d + 2])
              w *= weight(mode, align, shape[d + 2], out[d + 2], p % out[d + 2], q % shape[d + 2]);
            want[o] += w * x[o / places * plane + i];
            gx[o / places * plane + i] += w * g[o];
          }
        expect_close(interpolate(to_tensor(x, dtype), size, mode, align), want, tolerance_of(dtype),
                     mode);
        expect_close(interpolate_backward(to_tensor(g, dtype), shape, mode, align), gx,
                     tolerance_of(dtype), mode + " backward");
      }
}

int64_t shown(const std::string& mode, int64_t o, int64_t before, int64_t n) {
  int64_t i = o - before;
  if (mode == "constant") return i >= 0 && i < n ? i : -1;
  if (mode == "replicate") return std::min(std::max<int64_t>(i, 0), n - 1);
  if (mode == "circular") return (i + n) % n;
  while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  return i;
}

TEST(Pad, ModesDtypesBackward) {
  const std::pair<Shape, Shape> cases[] = {{{5}, {2, 1}},
                                           {{3, 4}, {1, 2}},
                                           {{3, 4}, {1, 2, 2, 0}},
                                           {{2, 3, 4, 5}, {3, 1, 2, 2}},
                                           {{2, 3, 4}, {0, 0, 1, 1}},
                                           {{2, 3, 4}, {1, 1, 1, 1, 1, 1}}};
  for (const std::string mode : {"constant", "reflect", "replicate", "circular"})
    for (const auto& each : cases)
      for (const DType dtype :
           {DType::U8, DType::I32, DType::F16, DType::BF16, DType::F32, DType::F64}) {
        const Shape &shape = each.first, &pads = each.second;
        const Array x = whole_numbers(shape, 11, dtype != DType::U8);
        Shape out = shape;
        for (size_t k = 0; k < pads.size() / 2; ++k)
          out[shape.size() - 1 - k] += pads[2 * k] + pads[2 * k + 1];
        Array want(out, 2), gx(shape);
        const Array g = whole_numbers(out, 12, dtype != DType::U8);
        bool possible = true;
        for (size_t k = 0; k < pads.size() / 2; ++k)
          if (mode == "reflect" &&
              std::max(pads[2 * k], pads[2 * k + 1]) >= shape[shape.size() - 1 - k])
            possible = false;
        if (!possible) {
          EXPECT_NE(error_of([&] { pad(to_tensor(x, dtype), pads, mode, 2); }), "");
          continue;
        }
        for (int64_t o = 0; o < count(out); ++o) {
          int64_t rest = o, at = 0, step = 1;
          bool inside = true;
          for (size_t d = shape.size(); d-- > 0; rest /= out[d], step *= shape[d]) {
            if (d + 1 < shape.size()) {
            }
            const size_t k = shape.size() - 1 - d;
            const int64_t i =
                shown(mode, rest % out[d], k < pads.size() / 2 ? pads[2 * k] : 0, shape[d]);
            inside = inside && i >= 0;
            at += i * step;
          }
          if (inside) want[o] = x[at], gx[at] += g[o];
        }
        expect_close(pad(to_tensor(x, dtype), pads, mode, 2), want, 0, mode);
        expect_close(pad_backward(to_tensor(g, dtype), pads, mode), gx, 0, mode + " backward");
      }
}

TEST(Pad, CropsAndEmpty) {
  const Array x = whole_numbers({3, 5}, 13);
  const Tensor t = to_tensor(x, DType::F32);
  EXPECT_EQ(values(pad(t, {-1, -2})), values(t.slice(1, 1, 3).contiguous()));
  EXPECT_EQ(values(pad(t, {-1, 1})), values(pad(t.slice(1, 1, 5).contiguous(), {0, 1})));
  EXPECT_EQ(shape_of(pad(tenon::zeros({0, 3}), {1, 1})), (Shape{0, 5}));
  EXPECT_EQ(values(pad(tenon::zeros({0}), {1, 1}, "constant", 3)), (std::vector<double>{3, 3}));
  EXPECT_EQ(values(pad(tenon::tensor(4.f), {}))[0], 4);
  EXPECT_EQ(values(pad(tenon::tensor({true, false}), {1, 0}, "constant", 1)),
            (std::vector<double>{1, 1, 0}));
}

TEST(Windows, EmptyBatches) {
  const Tensor x = tenon::zeros({0, 3, 8, 8});
  EXPECT_EQ(shape_of(max_pool(x, {2}).values), (Shape{0, 3, 4, 4}));
  EXPECT_EQ(shape_of(avg_pool(x, {2})), (Shape{0, 3, 4, 4}));
  EXPECT_EQ(shape_of(adaptive_avg_pool(x, {1})), (Shape{0, 3, 1, 1}));
  EXPECT_EQ(shape_of(interpolate(x, {16}, "bilinear")), (Shape{0, 3, 16, 16}));
  EXPECT_EQ(shape_of(avg_pool_backward(tenon::zeros({0, 3, 4, 4}), {0, 3, 8, 8}, {2})),
            (Shape{0, 3, 8, 8}));
  EXPECT_EQ(shape_of(interpolate_backward(tenon::zeros({0, 3, 4, 4}), {0, 3, 8, 8})),
            (Shape{0, 3, 8, 8}));
}

TEST(Windows, Errors) {
  const Tensor x = tenon::zeros({2, 3, 8, 8});
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error_of([&] { max_pool(x, {9}); }),
                  "[max_pool] kernel (9, 9) exceeds x of shape (2, 3, 8, 8)"));
  EXPECT_TRUE(has(error_of([&] { max_pool(x, {2}, {2}, {2}); }), "exceeds half of the kernel"));
  EXPECT_TRUE(has(error_of([&] {
                    avg_pool(tenon::zeros({2, 3, 8, 8}, DType::I32), {2});
                  }),
                  "[avg_pool]"));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, {4}, "cubic"); }), "unknown mode \"cubic\""));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, {4}, "trilinear"); }),
                  "needs 3 spatial dimensions, got 2"));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, {0}); }), "size must be 1 or more"));
  const auto grid_error = [&](const Shape& from, const Shape& grid, const char* mode = "bilinear",
                              const char* padding = "zeros") {
    return error_of([&] { grid_sample(tenon::zeros(from), tenon::zeros(grid), mode, padding); });
  };
  EXPECT_TRUE(has(grid_error({2, 3, 8}, {2, 4, 1}), "[grid_sample] x must be (N, C, H, W) or"));
  EXPECT_TRUE(has(grid_error({2, 3, 8, 8}, {2, 4, 4, 3}),
                  "grid must be (2, 2 sizes of the result, 2) for x of shape (2, 3, 8, 8), got"));
  EXPECT_TRUE(has(grid_error({2, 3, 8, 8}, {1, 4, 4, 2}), "got shape (1, 4, 4, 2)"));
  EXPECT_TRUE(has(grid_error({2, 3, 0, 8}, {2, 4, 4, 2}), "empty spatial dimension"));
  EXPECT_TRUE(has(grid_error({2, 3, 8, 8}, {2, 4, 4, 2}, "linear"), "unknown mode \"linear\""));
  EXPECT_TRUE(has(grid_error({2, 3, 8, 8}, {2, 4, 4, 2}, "nearest", "wrap"),
                  "unknown padding_mode \"wrap\""));
  EXPECT_TRUE(has(grid_error({2, 3, 8, 8, 8}, {2, 4, 4, 4, 3}, "bicubic"),
                  "mode \"bicubic\" needs 2 spatial dimensions, got 3"));
  EXPECT_TRUE(has(error_of([&] {
                    grid_sample(x, tenon::zeros({2, 4, 4, 2}, DType::F64));
                  }),
                  "grid has dtype f64, x f32"));
  EXPECT_TRUE(has(error_of([&] { pad(x, {1}); }), "must be pairs"));
  EXPECT_TRUE(has(error_of([&] { pad(x, {9, 0}, "circular"); }), "too large"));
  EXPECT_TRUE(has(error_of([&] { pad(x, {1, 1}, "mirror"); }), "unknown mode \"mirror\""));
  for (const int64_t index : {int64_t{64}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()}) {
    const Tensor wrong = tenon::full({2, 3, 4, 4}, index, DType::I64);
    EXPECT_TRUE(has(error_of([&] {
                      max_pool_backward(tenon::zeros({2, 3, 4, 4}), wrong, {2, 3, 8, 8});
                    }),
                    ("index " + std::to_string(index) + " out of range").c_str()));
  }
}

}  // namespace
