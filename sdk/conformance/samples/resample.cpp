// Resampling and padding by the definition, over planes that follow (N, C).
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// Weights of the input positions that make up one output position along one dimension.
std::vector<std::pair<int64_t, double>> taps(const std::string& mode, bool align, int64_t n,
                                             int64_t m, int64_t i) {
  double scale = align ? (m > 1 ? static_cast<double>(n - 1) / static_cast<double>(m - 1) : 0.0)
                       : static_cast<double>(n) / static_cast<double>(m);
  if (mode == "nearest")
    return {{std::min(n - 1, static_cast<int64_t>(
                                 std::floor(static_cast<double>(i) * static_cast<double>(n) /
                                            static_cast<double>(m)))),
             1.0}};
  double p = align ? static_cast<double>(i) * scale : (static_cast<double>(i) + 0.5) * scale - 0.5;
  auto clip = [&](int64_t at) { return std::clamp<int64_t>(at, 0, n - 1); };
  if (mode != "bicubic") {
    p = std::max(p, 0.0);
    auto low = static_cast<int64_t>(std::floor(p));
    double f = p - static_cast<double>(low);
    return {{clip(low), 1 - f}, {clip(low + 1), f}};
  }
  // Keys 1981, "Cubic convolution interpolation for digital image processing", with a = -0.75.
  constexpr double a = -0.75;
  auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  auto low = static_cast<int64_t>(std::floor(p));
  double f = p - static_cast<double>(low);
  return {{clip(low - 1), far(1 + f)},
          {clip(low), near(f)},
          {clip(low + 1), near(1 - f)},
          {clip(low + 2), far(2 - f)}};
}

// Calls fn(output position, input position, weight).
template <class Fn>
void for_each_weight(const std::string& mode, bool align, const Shape& x, const Shape& size,
                     Fn fn) {
  Array in(DType::F64, x);
  Shape result = {x[0], x[1]};
  result.insert(result.end(), size.begin(), size.end());
  Array out(DType::F64, result);
  for_each_index(result, [&](const Shape& at) {
    std::function<void(size_t, const Shape&, double)> walk = [&](size_t d, const Shape& from,
                                                                 double weight) {
      if (d == size.size()) return fn(out.at(at), in.at(from), weight);
      for (auto [p, w] : taps(mode, align, x[2 + d], size[d], at[2 + d])) {
        Shape next = from;
        next.push_back(p);
        walk(d + 1, next, weight * w);
      }
    };
    walk(0, {at[0], at[1]}, 1);
  });
}

void add_interpolations(Table& t) {
  struct Resize {
    std::string mode;
    bool align;
    Shape x, size;
  };
  const Resize list[] = {{"nearest", false, {2, 2, 5}, {8}},
                         {"nearest", false, {1, 2, 4, 5}, {6, 3}},
                         {"nearest", false, {1, 1, 2, 3, 2}, {4, 2, 3}},
                         {"linear", false, {2, 2, 5}, {8}},
                         {"linear", true, {2, 2, 5}, {3}},
                         {"bilinear", false, {1, 2, 4, 5}, {7, 3}},
                         {"bilinear", true, {1, 2, 4, 5}, {7, 3}},
                         {"trilinear", false, {1, 1, 2, 3, 2}, {4, 2, 3}},
                         {"bicubic", false, {1, 2, 4, 5}, {7, 3}},
                         {"bicubic", true, {1, 2, 4, 5}, {7, 3}}};
  for (const Resize& r : list) {
    std::string label = r.mode + (r.align ? " aligned " : " ") + label_of(r.x) + label_of(r.size);
    Shape result = {r.x[0], r.x[1]};
    result.insert(result.end(), r.size.begin(), r.size.end());
    Sample& forward = t.add(
        "interpolate", label, kFloats,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, r.x), r.size, r.mode, r.align};
        },
        [=](const Args& a) {
          Array out(array(a, arg::interpolate::x).dtype, result);
          for_each_weight(r.mode, r.align, r.x, r.size, [&](size_t to, size_t from, double w) {
            out.v[to] += w * array(a, arg::interpolate::x).v[from];
          });
          return one(out);
        });
    Sample& backward = t.add(
        "interpolate_backward", label, kFloats,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, result), r.x, r.mode, r.align};
        },
        [=](const Args& a) {
          Array out(array(a, arg::interpolate_backward::g).dtype, r.x);
          for_each_weight(r.mode, r.align, r.x, r.size, [&](size_t to, size_t from, double w) {
            out.v[from] += w * array(a, arg::interpolate_backward::g).v[to];
          });
          return one(out);
        });
    for (Sample* s : {&forward, &backward}) s->tolerance = 20;
  }
}

// The position that an element of the padded array comes from; -1 for the constant.
int64_t pad_source(const std::string& mode, int64_t i, int64_t before, int64_t n) {
  int64_t p = i - before;
  if (p >= 0 && p < n) return p;
  if (mode == "constant") return -1;
  if (mode == "replicate") return std::clamp<int64_t>(p, 0, n - 1);
  if (mode == "circular") return ((p % n) + n) % n;
  return p < 0 ? -p : 2 * (n - 1) - p;  // reflect
}

// `pads` begins with the last dimension: (before, after) pairs.
template <class Fn>
void for_each_padded(const std::string& mode, const Shape& x, const Shape& pads, Fn fn) {
  Array in(DType::F64, x);
  Shape padded = x, before(x.size(), 0);
  for (size_t k = 0; k < pads.size() / 2; ++k) {
    size_t d = x.size() - 1 - k;
    before[d] = pads[2 * k];
    padded[d] += pads[2 * k] + pads[2 * k + 1];
  }
  Array out(DType::F64, padded);
  for_each_index(padded, [&](const Shape& at) {
    Shape from;
    for (size_t d = 0; d < x.size(); ++d) {
      int64_t p = pad_source(mode, at[d], before[d], x[d]);
      if (p < 0) return fn(out, out.at(at), -1);
      from.push_back(p);
    }
    fn(out, out.at(at), static_cast<int64_t>(in.at(from)));
  });
}

void add_pads(Table& t) {
  struct Pad {
    std::string mode;
    Shape x, pads;
  };
  for (const Pad& p :
       {Pad{"constant", {2, 3}, {1, 2}}, Pad{"constant", {2, 2, 4, 5}, {1, 0, 2, 1}},
        Pad{"constant", {5}, {0, 3}}, Pad{"constant", {3, 4}, {-1, 1}},
        Pad{"constant", {2, 3, 70}, {1, 2, 0, 1}}, Pad{"constant", {2, 8, 12}, {1, 1, -1, 2}},
        Pad{"reflect", {1, 2, 4, 5}, {2, 1, 1, 3}}, Pad{"replicate", {1, 2, 4, 5}, {2, 1, 1, 3}},
        Pad{"circular", {1, 2, 4, 5}, {2, 1, 1, 3}}, Pad{"reflect", {2, 3, 6}, {3, 2}}}) {
    Shape padded = p.x;
    for (size_t k = 0; k < p.pads.size() / 2; ++k)
      padded[p.x.size() - 1 - k] += p.pads[2 * k] + p.pads[2 * k + 1];
    t.add(
        "pad", p.mode + label_of(p.x) + label_of(p.pads), kReals,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, p.x), p.pads, p.mode, 2.0};
        },
        [=](const Args& a) {
          Array result(array(a, arg::pad::x).dtype, padded);
          for_each_padded(p.mode, p.x, p.pads, [&](const Array&, size_t to, int64_t from) {
            result.v[to] =
                from < 0 ? Complex(2.0) : array(a, arg::pad::x).v[static_cast<size_t>(from)];
          });
          return one(result);
        });
    t.add(
         "pad_backward", p.mode + label_of(p.x) + label_of(p.pads), kFloats,
         [=](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, padded), p.pads, p.mode};
         },
         [=](const Args& a) {
           Array result(array(a, arg::pad_backward::g).dtype, p.x);
           for_each_padded(p.mode, p.x, p.pads, [&](const Array&, size_t to, int64_t from) {
             if (from >= 0)
               result.v[static_cast<size_t>(from)] += array(a, arg::pad_backward::g).v[to];
           });
           return one(result);
         })
        .tolerance = 8;
  }
}

struct GridCase {
  std::string mode, padding;
  bool align;
  Shape x, grid;
  std::string label() const {
    return mode + " " + padding + (align ? " aligned " : " ") + label_of(x) + label_of(grid);
  }
  Shape result() const {
    Shape shape = {x[0], x[1]};
    shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
    return shape;
  }
};

struct GridTap {
  int64_t at;
  double weight, slope;  // slope: the derivative by the coordinate
};

// Mirrors the coordinate until it is inside; each mirroring flips the sign of `slope`.
double mirrored(double p, double low, double high, double& slope) {
  if (low == high) return slope = 0, low;
  while (p < low || p > high) p = p < low ? 2 * low - p : 2 * high - p, slope = -slope;
  return p;
}

// The kernel of a mode at a distance, and its derivative: a triangle, or Keys' with a = -0.75.
std::pair<double, double> kernel_of(const std::string& mode, double distance) {
  const double x = std::abs(distance), sign = distance < 0 ? -1 : 1, a = -0.75;
  if (mode == "bilinear") return x < 1 ? std::pair(1 - x, -sign) : std::pair(0.0, 0.0);
  if (x < 1)
    return {(a + 2) * x * x * x - (a + 3) * x * x + 1,
            sign * (3 * (a + 2) * x * x - 2 * (a + 3) * x)};
  if (x < 2) return {a * (x * x * x - 5 * x * x + 8 * x - 4), sign * a * (3 * x * x - 10 * x + 8)};
  return {0, 0};
}

// The elements that a coordinate reads along a dimension of n elements.
std::vector<GridTap> grid_taps(const GridCase& c, double coordinate, int64_t n) {
  const double size = static_cast<double>(n), low = c.align ? 0 : -0.5,
               high = c.align ? size - 1 : size - 0.5;
  const bool reflects = c.padding == "reflection";
  double slope = std::isnan(coordinate) ? 0 : (high - low) / 2;
  double p = low + ((std::isnan(coordinate) ? -1 : coordinate) + 1) * (high - low) / 2;
  if (reflects && c.mode != "bicubic") p = mirrored(p, low, high, slope);
  if (c.padding != "zeros" && c.mode != "bicubic" && (p <= 0 || p >= size - 1)) {
    p = std::clamp(p, 0.0, size - 1);
    slope = 0;
  }
  p = std::clamp(p, -1e9, 1e9);
  std::vector<GridTap> taps;
  const auto add = [&](double at, double weight, double rise) {
    double unused = 1;
    if (reflects) at = std::clamp(mirrored(at, low, high, unused), 0.0, size - 1);
    if (c.padding == "border") at = std::clamp(at, 0.0, size - 1);
    if (at >= 0 && at < size) taps.push_back({std::llround(at), weight, rise});
  };
  if (c.mode == "nearest") {
    add(std::nearbyint(p), 1, 0);
    return taps;
  }
  for (double at = std::floor(p) - 1; at <= std::floor(p) + 2; ++at) {
    const auto [weight, rise] = kernel_of(c.mode, p - at);
    if (weight != 0 || rise != 0) add(at, weight, rise * slope);
  }
  return taps;
}

// fn(position in the result, position in x, position of the coordinates in the grid, the taps along each dimension of x)
template <class Fn>
void for_each_grid_tap(const GridCase& c, const Array& grid, Fn fn) {
  const Array x(DType::F64, c.x), result(DType::F64, c.result());
  const size_t spatial = c.x.size() - 2;
  for_each_index(result.shape, [&](const Shape& to) {
    Shape where(to.begin() + 1, to.end());
    where[0] = to[0];
    where.push_back(0);
    const size_t first = grid.at(where);
    std::vector<std::vector<GridTap>> along;
    for (size_t d = 0; d < spatial; ++d)
      along.push_back(grid_taps(c, grid.re(first + spatial - 1 - d), c.x[d + 2]));
    Shape counts;
    for (const auto& taps : along) counts.push_back(static_cast<int64_t>(taps.size()));
    for_each_index(counts, [&](const Shape& k) {
      Shape from = {to[0], to[1]};
      std::vector<GridTap> taps;
      for (size_t d = 0; d < spatial; ++d) {
        taps.push_back(along[d][static_cast<size_t>(k[d])]);
        from.push_back(taps.back().at);
      }
      fn(result.at(to), x.at(from), first, taps);
    });
  });
}

double weight_of(const std::vector<GridTap>& taps) {
  double weight = 1;
  for (const GridTap& tap : taps) weight *= tap.weight;
  return weight;
}

// How the weight changes with coordinate k, which belongs to the k-th dimension from the last.
double slope_of(const std::vector<GridTap>& taps, size_t k) {
  double slope = 1;
  for (size_t d = 0; d < taps.size(); ++d)
    slope *= d == taps.size() - 1 - k ? taps[d].slope : taps[d].weight;
  return slope;
}

std::vector<Array> grid_sampled(const GridCase& c, const Args& a) {
  using arg = tenon::arg::grid_sample;
  Array out(array(a, arg::x).dtype, c.result());
  for_each_grid_tap(c, array(a, arg::grid), [&](size_t to, size_t from, size_t, const auto& taps) {
    out.v[to] += weight_of(taps) * array(a, arg::x).v[from];
  });
  return one(out);
}

std::vector<Array> grid_gradients(const GridCase& c, const Args& a) {
  using arg = tenon::arg::grid_sample_backward;
  const Array &g = array(a, arg::g), &x = array(a, arg::x);
  Array gx(x.dtype, c.x), ggrid(x.dtype, c.grid);
  for_each_grid_tap(c, array(a, arg::grid),
                    [&](size_t to, size_t from, size_t at, const auto& taps) {
                      gx.v[from] += weight_of(taps) * g.v[to];
                      for (size_t k = 0; k < taps.size(); ++k)
                        ggrid.v[at + k] += slope_of(taps, k) * g.v[to] * x.v[from];
                    });
  return {gx, ggrid};
}

// Coordinates inside, near and outside. For any size up to 11 they keep away from the centres of elements, from the midpoints between them
// and from their edges, because weights have a kink or a jump there.
Array random_grid(Rng& rng, DType dtype, const Shape& shape) {
  Array grid(dtype, shape);
  const auto clear = [](double c) {
    for (int n = 1; n <= 11; ++n)
      if (std::abs(c * n - std::nearbyint(c * n)) < 0.02) return false;
    return true;
  };
  for (Complex& c : grid.v) {
    const double reach = rng.integer(0, 3) == 0 ? 5 : 1.4;
    do c = rounded(rng.uniform(-reach, reach), dtype);
    while (!clear(c.real()));
  }
  return grid;
}

// Sizes of x at which gradients are compared.
Shape small_plane() { return {2, 1, 4, 3}; }

std::vector<GridCase> grid_cases() {
  std::vector<GridCase> cases;
  for (const std::string mode : {"bilinear", "nearest", "bicubic"})
    for (const std::string padding : {"zeros", "border", "reflection"})
      for (const bool align : {false, true}) {
        cases.push_back({mode, padding, align, small_plane(), {2, 1, 3, 2}});
        if (mode != "bicubic")
          cases.push_back({mode, padding, align, {1, 2, 2, 3, 2}, {1, 1, 2, 2, 3}});
      }
  for (const std::string mode : {"bilinear", "bicubic"}) {
    cases.push_back({mode, "zeros", false, {2, 3, 9, 11}, {2, 17, 13, 2}});
    cases.push_back({mode, "zeros", false, {2, 5, 9, 11}, {2, 7, 9, 2}});
    cases.push_back({mode, "reflection", true, {1, 2, 1, 3}, {1, 2, 2, 2}});
  }
  cases.push_back({"bilinear", "border", true, {1, 3, 5, 4, 6}, {1, 7, 5, 4, 3}});
  cases.push_back({"bilinear", "border", true, {1, 4, 2, 4, 6}, {1, 2, 5, 4, 3}});
  cases.push_back({"bilinear", "zeros", false, {0, 2, 4, 3}, {0, 2, 3, 2}});
  cases.push_back({"bilinear", "zeros", false, {2, 2, 4, 3}, {2, 0, 3, 2}});
  cases.push_back({"bilinear", "zeros", false, {2, 0, 4, 3}, {2, 2, 3, 2}});
  return cases;
}

// Coordinates where weights have a kink or a jump, NaN, and coordinates too far out to be element numbers.
void add_grid_borders(Table& t) {
  for (GridCase c : grid_cases()) {
    if (c.x != small_plane()) continue;
    c.grid = {2, 2, 4, 2};
    t.add(
         "grid_sample", "borders, " + c.label(), kFloats,
         [=](DType dtype, Rng& rng) {
           const double far = c.padding == "reflection" ? 3e4 : kInf;
           const double places[] = {-1, 1, 0, kNan, far, -far, 2, -3};
           Array grid(dtype, c.grid);
           for (size_t i = 0; i < grid.size(); ++i) grid.v[i] = places[i * 3 % 8];
           return Args{random_array(rng, dtype, c.x), grid, c.mode, c.padding, c.align};
         },
         [=](const Args& a) { return grid_sampled(c, a); })
        .gradient = false;
  }
}

void add_grid_samples(Table& t) {
  for (const GridCase& c : grid_cases()) {
    Sample& forward = t.add(
        "grid_sample", c.label(), kFloats,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, c.x), random_grid(rng, dtype, c.grid), c.mode,
                      c.padding, c.align};
        },
        [=](const Args& a) { return grid_sampled(c, a); });
    Sample& backward = t.add(
        "grid_sample_backward", c.label(), kFloats,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, c.result()),
                      random_array(rng, dtype, c.x),
                      random_grid(rng, dtype, c.grid),
                      c.mode,
                      c.padding,
                      c.align};
        },
        [=](const Args& a) { return grid_gradients(c, a); });
    forward.tolerance = backward.tolerance = 20;
    // References check the backward op in every case. Differences, which take many calls, check it in a few. The second gradient of
    // grid_sample is the first gradient of its backward op.
    forward.gradient = Array::count(c.grid) < 40 && !c.align &&
                       (c.mode != "nearest" || c.padding == "zeros") &&
                       (c.x.size() == 4 || c.padding == "reflection");
    backward.gradient = forward.gradient && c.mode == "bilinear" && c.x.size() == 4;
  }
}

}  // namespace

void add_resample_samples(Table& table) {
  add_interpolations(table);
  add_grid_samples(table);
  add_grid_borders(table);
  add_pads(table);
}

}  // namespace tenon::conformance
