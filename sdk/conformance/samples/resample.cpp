// Resampling and padding, by the definition; planes behind (N, C).
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
          Array out(array(a, 0).dtype, result);
          for_each_weight(r.mode, r.align, r.x, r.size, [&](size_t to, size_t from, double w) {
            out.v[to] += w * array(a, 0).v[from];
          });
          return one(out);
        });
    Sample& backward = t.add(
        "interpolate_backward", label, kFloats,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, result), r.x, r.mode, r.align};
        },
        [=](const Args& a) {
          Array out(array(a, 0).dtype, r.x);
          for_each_weight(r.mode, r.align, r.x, r.size, [&](size_t to, size_t from, double w) {
            out.v[from] += w * array(a, 0).v[to];
          });
          return one(out);
        });
    for (Sample* s : {&forward, &backward}) s->tolerance = 20;
  }
}

// Where an element of the padded array comes from; -1: the constant.
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
          Array result(array(a, 0).dtype, padded);
          for_each_padded(p.mode, p.x, p.pads, [&](const Array&, size_t to, int64_t from) {
            result.v[to] = from < 0 ? Complex(2.0) : array(a, 0).v[static_cast<size_t>(from)];
          });
          return one(result);
        });
    t.add(
         "pad_backward", p.mode + label_of(p.x) + label_of(p.pads), kFloats,
         [=](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, padded), p.pads, p.mode};
         },
         [=](const Args& a) {
           Array result(array(a, 0).dtype, p.x);
           for_each_padded(p.mode, p.x, p.pads, [&](const Array&, size_t to, int64_t from) {
             if (from >= 0) result.v[static_cast<size_t>(from)] += array(a, 0).v[to];
           });
           return one(result);
         })
        .tolerance = 8;
  }
}

}  // namespace

void add_resample_samples(Table& table) {
  add_interpolations(table);
  add_pads(table);
}

}  // namespace tenon::conformance
