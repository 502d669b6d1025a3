// Pooling by the definition, over planes that follow (N, C).
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

struct Window {
  std::string label;
  Shape x, kernel;
  std::optional<Shape> stride;
  Shape padding, dilation;
  bool ceil = false;

  size_t rank() const { return x.size() - 2; }
  static int64_t of(const Shape& list, size_t d) { return list.size() == 1 ? list[0] : list[d]; }
  int64_t k(size_t d) const { return of(kernel, d); }
  int64_t s(size_t d) const { return stride ? of(*stride, d) : k(d); }
  int64_t out(size_t d) const {
    int64_t span = x[2 + d] + 2 * of(padding, d) - of(dilation, d) * (k(d) - 1) - 1;
    int64_t n = (ceil ? (span + s(d) - 1) / s(d) : span / s(d)) + 1;
    // With ceil_mode the last window still begins inside the input or its left padding.
    if (ceil && (n - 1) * s(d) >= x[2 + d] + of(padding, d)) --n;
    return n;
  }
  Shape result() const {
    Shape shape = {x[0], x[1]};
    for (size_t d = 0; d < rank(); ++d) shape.push_back(out(d));
    return shape;
  }
  Arg stride_arg() const { return stride ? Arg(*stride) : Arg(); }
};

const std::vector<Window>& windows() {
  static const std::vector<Window> list = {
      {"1d", {2, 3, 9}, {3}, {}, {0}, {1}},
      {"2d", {2, 3, 6, 6}, {2}, {}, {0}, {1}},
      {"2d overlap", {1, 2, 7, 6}, {3, 2}, Shape{2, 1}, {1}, {1}},
      {"2d ceil", {1, 2, 7, 8}, {3}, Shape{2}, {1}, {1}, true},
      {"3d", {1, 2, 4, 4, 5}, {2}, {}, {0}, {1}},
      {"2d empty batch", {0, 2, 6, 6}, {2}, {}, {0}, {1}},
  };
  return list;
}

// Calls fn(result position, input position, inside the padded frame count) for each element of each window.
template <class Fn>
void for_each_tap(const Window& w, Fn fn) {
  Array x(DType::F64, w.x), y(DType::F64, w.result());
  Shape kernel;
  for (size_t d = 0; d < w.rank(); ++d) kernel.push_back(w.k(d));
  for_each_index(y.shape, [&](const Shape& at) {
    for_each_index(kernel, [&](const Shape& k) {
      Shape from = {at[0], at[1]};
      for (size_t d = 0; d < w.rank(); ++d) {
        int64_t p =
            at[2 + d] * w.s(d) - Window::of(w.padding, d) + k[d] * Window::of(w.dilation, d);
        if (p < 0 || p >= w.x[2 + d]) return;
        from.push_back(p);
      }
      fn(y.at(at), x.at(from));
    });
  });
}

// The divisor of an average: all positions of the window inside the input and its padding, or only those inside the input.
std::vector<double> divisors(const Window& w, bool include_pad) {
  Array y(DType::F64, w.result());
  std::vector<double> counts(y.size(), 0);
  if (!include_pad) {
    for_each_tap(w, [&](size_t to, size_t) { counts[to] += 1; });
    return counts;
  }
  size_t i = 0;
  for_each_index(y.shape, [&](const Shape& at) {
    double count = 1;
    for (size_t d = 0; d < w.rank(); ++d) {
      int64_t pad = Window::of(w.padding, d), start = at[2 + d] * w.s(d) - pad;
      count *= static_cast<double>(std::min(start + w.k(d), w.x[2 + d] + pad) - start);
    }
    counts[i++] = count;
  });
  return counts;
}

std::vector<Array> max_pooled(const Array& x, const Window& w) {
  Array values(x.dtype, w.result()), indices(DType::I64, w.result());
  std::fill(values.v.begin(), values.v.end(), Complex(-kInf));
  size_t plane = 1;
  for (size_t d = 0; d < w.rank(); ++d) plane *= static_cast<size_t>(w.x[2 + d]);
  for_each_tap(w, [&](size_t to, size_t from) {
    if (x.re(from) > values.re(to))
      values.v[to] = x.v[from], indices.v[to] = static_cast<double>(from % plane);
  });
  return {values, indices};
}

void add_windows(Table& t) {
  std::vector<Window> all = windows();
  all.push_back({"2d dilation", {1, 2, 8, 8}, {2}, Shape{1}, {0}, {2}});
  for (const Window& w : all) {
    t.add(
         "max_pool", w.label, kFloats,
         [=](DType dtype, Rng& rng) {
           return Args{distinct_array(rng, dtype, w.x),
                       w.kernel,
                       w.stride_arg(),
                       w.padding,
                       w.dilation,
                       w.ceil};
         },
         [=](const Args& a) { return max_pooled(array(a, arg::max_pool::x), w); })
        .gradient = w.x[0] > 0;
    t.add(
         "max_pool_backward", w.label, kFloats,
         [=](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, w.result()),
                       max_pooled(distinct_array(rng, DType::F64, w.x), w)[1], w.x};
         },
         [=](const Args& a) {
           using arg = tenon::arg::max_pool_backward;
           Array out(array(a, arg::g).dtype, w.x);
           size_t plane = 1, small = 1;
           for (size_t d = 0; d < w.rank(); ++d)
             plane *= static_cast<size_t>(w.x[2 + d]), small *= static_cast<size_t>(w.out(d));
           for (size_t i = 0; i < array(a, arg::g).size(); ++i)
             out.v[i / small * plane + static_cast<size_t>(array(a, arg::indices).re(i))] +=
                 array(a, arg::g).v[i];
           return one(out);
         })
        .tolerance = 4;
  }
  for (const Window& w : windows())
    for (bool include : {true, false}) {
      if (!include && w.padding == Shape{0}) continue;
      std::string label = w.label + (include ? "" : " without padding");
      Sample& forward = t.add(
          "avg_pool", label, kFloats,
          [=](DType dtype, Rng& rng) {
            return Args{random_array(rng, dtype, w.x),
                        w.kernel,
                        w.stride_arg(),
                        w.padding,
                        w.ceil,
                        include};
          },
          [=](const Args& a) {
            Array out(array(a, arg::avg_pool::x).dtype, w.result());
            auto counts = divisors(w, include);
            for_each_tap(w, [&](size_t to, size_t from) {
              out.v[to] += array(a, arg::avg_pool::x).v[from] / counts[to];
            });
            return one(out);
          });
      Sample& backward = t.add(
          "avg_pool_backward", label, kFloats,
          [=](DType dtype, Rng& rng) {
            return Args{random_array(rng, dtype, w.result()),
                        w.x,
                        w.kernel,
                        w.stride_arg(),
                        w.padding,
                        w.ceil,
                        include};
          },
          [=](const Args& a) {
            Array out(array(a, arg::avg_pool_backward::g).dtype, w.x);
            auto counts = divisors(w, include);
            for_each_tap(w, [&](size_t to, size_t from) {
              out.v[from] += array(a, arg::avg_pool_backward::g).v[to] / counts[to];
            });
            return one(out);
          });
      for (Sample* s : {&forward, &backward}) s->tolerance = 8, s->gradient = w.x[0] > 0;
    }
}

// Bins of adaptive pooling: [floor(i·n/m), ceil((i+1)·n/m)).
template <class Fn>
void for_each_bin(const Shape& x, const Shape& size, Fn fn) {
  Array in(DType::F64, x);
  Shape result = {x[0], x[1]};
  result.insert(result.end(), size.begin(), size.end());
  Array out(DType::F64, result);
  for_each_index(result, [&](const Shape& at) {
    Shape start, extent;
    for (size_t d = 0; d < size.size(); ++d) {
      int64_t n = x[2 + d], m = size[d];
      start.push_back(at[2 + d] * n / m);
      extent.push_back(((at[2 + d] + 1) * n + m - 1) / m - start.back());
    }
    for_each_index(extent, [&](const Shape& k) {
      Shape from = {at[0], at[1]};
      for (size_t d = 0; d < k.size(); ++d) from.push_back(start[d] + k[d]);
      fn(out.at(at), in.at(from), static_cast<double>(Array::count(extent)));
    });
  });
}

void add_adaptive(Table& t) {
  const std::pair<Shape, Shape> shapes[] = {{{2, 3, 7}, {3}},
                                            {{2, 2, 6, 5}, {2, 3}},
                                            {{1, 2, 5, 4}, {1, 1}},
                                            {{1, 1, 3, 4, 5}, {2, 2, 2}}};
  for (const auto& [x, size] : shapes) {
    Shape result = {x[0], x[1]};
    result.insert(result.end(), size.begin(), size.end());
    Sample& forward = t.add(
        "adaptive_avg_pool", label_of(x) + label_of(size), kFloats,
        [x = x, size = size](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, x), size};
        },
        [=, x = x, size = size](const Args& a) {
          Array out(array(a, arg::adaptive_avg_pool::x).dtype, result);
          for_each_bin(x, size, [&](size_t to, size_t from, double n) {
            out.v[to] += array(a, arg::adaptive_avg_pool::x).v[from] / n;
          });
          return one(out);
        });
    Sample& backward = t.add(
        "adaptive_avg_pool_backward", label_of(x) + label_of(size), kFloats,
        [=, x = x](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, result), x};
        },
        [=, x = x, size = size](const Args& a) {
          Array out(array(a, arg::adaptive_avg_pool_backward::g).dtype, x);
          for_each_bin(x, size, [&](size_t to, size_t from, double n) {
            out.v[from] += array(a, arg::adaptive_avg_pool_backward::g).v[to] / n;
          });
          return one(out);
        });
    for (Sample* s : {&forward, &backward}) s->tolerance = 8;
    t.add(
        "adaptive_max_pool", label_of(x) + label_of(size), kFloats,
        [x = x, size = size](DType dtype, Rng& rng) {
          return Args{distinct_array(rng, dtype, x), size};
        },
        [=, x = x, size = size](const Args& a) {
          Array values(array(a, arg::adaptive_max_pool::x).dtype, result),
              indices(DType::I64, result);
          std::fill(values.v.begin(), values.v.end(), Complex(-kInf));
          size_t plane = 1;
          for (size_t d = 2; d < x.size(); ++d) plane *= static_cast<size_t>(x[d]);
          for_each_bin(x, size, [&](size_t to, size_t from, double) {
            if (array(a, arg::adaptive_max_pool::x).re(from) > values.re(to))
              values.v[to] = array(a, arg::adaptive_max_pool::x).v[from],
              indices.v[to] = static_cast<double>(from % plane);
          });
          return std::vector<Array>{values, indices};
        });
  }
}

}  // namespace

void add_pool_samples(Table& table) {
  add_windows(table);
  add_adaptive(table);
}

}  // namespace tenon::conformance
