// Matrix products and linear.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// NumPy's rules: vectors get a dimension, which is dropped from the result; batch dimensions broadcast.
Array product(Array x, Array y) {
  bool row = x.rank() == 1, column = y.rank() == 1;
  if (row) x.shape.insert(x.shape.begin(), 1);
  if (column) y.shape.push_back(1);
  Shape batch_x(x.shape.begin(), x.shape.end() - 2), batch_y(y.shape.begin(), y.shape.end() - 2);
  Shape shape = broadcast(batch_x, batch_y);
  int64_t n = x.dim(-2), k = x.dim(-1), m = y.dim(-1);
  Array out(x.dtype, shape);
  out.shape.insert(out.shape.end(), {n, m});
  out.v.assign(static_cast<size_t>(Array::count(out.shape)), 0);
  auto place = [&](const Shape& batch, const Array& a, int64_t i, int64_t j) {
    Shape index;
    size_t own = a.rank() - 2, skip = batch.size() - own;
    for (size_t d = 0; d < own; ++d) index.push_back(a.shape[d] == 1 ? 0 : batch[skip + d]);
    index.insert(index.end(), {i, j});
    return a.at(index);
  };
  for_each_index(shape, [&](const Shape& batch) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) {
        Complex total = 0;
        for (int64_t p = 0; p < k; ++p)
          total += x.v[place(batch, x, i, p)] * y.v[place(batch, y, p, j)];
        Shape at = batch;
        at.insert(at.end(), {i, j});
        out.v[out.at(at)] = total;
      }
  });
  if (column) out.shape.pop_back();
  if (row) out.shape.erase(out.shape.end() - (column ? 1 : 2));
  return out;
}

void add_products(Table& t) {
  const std::pair<Shape, Shape> shapes[] = {{{3, 4}, {4, 5}},
                                            {{1, 1}, {1, 1}},
                                            {{4}, {4}},
                                            {{4}, {4, 3}},
                                            {{3, 4}, {4}},
                                            {{2, 3, 4}, {4, 5}},
                                            {{2, 3, 4}, {2, 4, 5}},
                                            {{2, 1, 3, 4}, {5, 4, 2}},
                                            {{4}, {2, 4, 3}},
                                            {{2, 3, 4}, {4}},
                                            {{0, 4}, {4, 3}},
                                            {{3, 0}, {0, 4}},
                                            {{33, 65}, {65, 47}},
                                            {{8, 130}, {130, 70}},
                                            {{70, 3}, {3, 129}}};
  for (const auto& [a, b] : shapes) {
    Sample& s = t.add(
        "matmul", label_of(a) + label_of(b), kReals | kComplex,
        [a = a, b = b](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, a), random_array(rng, dtype, b)};
        },
        [](const Args& args) {
          return one(product(array(args, arg::matmul::x), array(args, arg::matmul::y)));
        });
    s.tolerance = a.back() > 20 ? 40 : 12;
    s.gradient = Array::count(a) < 50 && Array::count(b) < 50;
  }
}

double activate(const std::string& kind, double x) {
  if (kind == "relu") return std::max(x, 0.0);
  if (kind == "sigmoid") return 1 / (1 + std::exp(-x));
  if (kind == "silu") return x / (1 + std::exp(-x));
  if (kind == "tanh") return std::tanh(x);
  if (kind == "gelu") return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  if (kind == "gelu_tanh")
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x;
}

void add_linears(Table& t) {
  struct Linear {
    Shape x, w;
    bool bias;
  };
  for (const Linear& l : {Linear{{3, 4}, {5, 4}, true}, Linear{{3, 4}, {5, 4}, false},
                          Linear{{2, 3, 4}, {5, 4}, true}, Linear{{4}, {5, 4}, true},
                          Linear{{0, 4}, {5, 4}, true}, Linear{{17, 70}, {33, 70}, true}})
    for (const std::string kind :
         {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"}) {
      if (kind != "none" && l.x.size() != 2) continue;
      Sample& s = t.add(
          "linear", label_of(l.x) + label_of(l.w) + (l.bias ? " bias " : " ") + kind,
          kind == "none" ? kReals | kComplex : kFloats,
          [=](DType dtype, Rng& rng) {
            Arg bias;
            if (l.bias) bias = random_array(rng, dtype, {l.w[0]});
            return Args{random_array(rng, dtype, l.x), random_array(rng, dtype, l.w), bias, kind};
          },
          [=](const Args& args) {
            const Array& w = array(args, arg::linear::weight);
            Array transposed(w.dtype, {w.shape[1], w.shape[0]});
            for_each_index(w.shape, [&](const Shape& i) {
              transposed.v[transposed.at({i[1], i[0]})] = w.v[w.at(i)];
            });
            Array out = product(array(args, arg::linear::x), transposed);
            for (size_t i = 0; i < out.size(); ++i) {
              if (l.bias)
                out.v[i] += array(args, arg::linear::bias).v[i % static_cast<size_t>(w.shape[0])];
              if (kind != "none") out.v[i] = activate(kind, out.re(i));
            }
            return one(out);
          });
      s.tolerance = l.x.back() > 20 ? 60 : 16;
      s.gradient = Array::count(l.x) < 50;
    }
}

// gᵀ·x, and Σ g over rows; the sizes fill tiles, leave tiles partly empty, and split long sums.
void add_weight_gradients(Table& t) {
  for (const auto& [lead, out, in] : {std::tuple<Shape, int64_t, int64_t>{{3}, 2, 4},
                                      {{2, 3}, 5, 6},
                                      {{}, 5, 6},
                                      {{0}, 5, 6},
                                      {{7}, 1, 3},
                                      {{40}, 33, 70},
                                      {{3, 25}, 72, 36},
                                      {{700}, 9, 12}}) {
    Shape g = lead, x = lead;
    g.push_back(out), x.push_back(in);
    Sample& s = t.add(
        "linear_backward_weight", label_of(g) + label_of(x), kFloats,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, g), random_array(rng, dtype, x)};
        },
        [](const Args& args) {
          using arg = tenon::arg::linear_backward_weight;
          const Array &of_g = array(args, arg::g), &of_x = array(args, arg::x);
          const auto m = static_cast<size_t>(of_g.dim(-1)), n = static_cast<size_t>(of_x.dim(-1));
          Array weight(of_g.dtype, {of_g.dim(-1), of_x.dim(-1)}), bias(of_g.dtype, {of_g.dim(-1)});
          for (size_t row = 0; row * m < of_g.size(); ++row)
            for (size_t i = 0; i < m; ++i) {
              bias.v[i] += of_g.v[row * m + i];
              for (size_t j = 0; j < n; ++j)
                weight.v[i * n + j] += of_g.v[row * m + i] * of_x.v[row * n + j];
            }
          return std::vector<Array>{weight, bias};
        });
    s.tolerance = 60;
    s.gradient = Array::count(g) < 40;
  }
}

// Both formats on the left, and on the right E4M3 and E5M2; sizes that libraries accept (multiples of 16) and others.
void add_scaled_products(Table& t) {
  struct Scaled {
    Shape a, b;
    DType right, result;
    bool bias;
  };
  constexpr DType kE4M3 = DType::F8E4M3, kE5M2 = DType::F8E5M2;
  for (const Scaled& p : {Scaled{{3, 4}, {4, 5}, kE4M3, DType::F32, false},
                          Scaled{{3, 4}, {4, 5}, kE5M2, DType::F32, true},
                          Scaled{{1, 7}, {7, 1}, kE4M3, DType::BF16, true},
                          Scaled{{0, 4}, {4, 3}, kE4M3, DType::F16, true},
                          Scaled{{3, 0}, {0, 4}, kE4M3, DType::BF16, true},
                          Scaled{{33, 65}, {65, 47}, kE5M2, DType::F16, true},
                          Scaled{{16, 32}, {32, 48}, kE4M3, DType::BF16, true},
                          Scaled{{48, 16}, {16, 32}, kE4M3, DType::F16, true},
                          Scaled{{16, 128}, {128, 16}, kE5M2, DType::BF16, false},
                          Scaled{{32, 48}, {48, 16}, kE4M3, DType::F32, false},
                          Scaled{{32, 48}, {48, 16}, kE4M3, DType::F32, true}}) {
    Sample& s = t.add(
        "scaled_matmul",
        label_of(p.a) + label_of(p.b) + " by " + std::string(name_of(p.right)) + " to " +
            std::string(name_of(p.result)) + (p.bias ? " bias" : ""),
        TN_MASK_F8,
        [=](DType dtype, Rng& rng) {
          Arg bias;
          if (p.bias) bias = random_array(rng, p.result, {p.b[1]});
          Args args{random_array(rng, dtype, p.a), random_array(rng, p.right, p.b),
                    random_array(rng, DType::F32, {}, 0.1, 2),
                    random_array(rng, DType::F32, {}, 0.1, 2), bias};
          args.push_back(p.result);
          return args;
        },
        [=](const Args& args) {
          using arg = tenon::arg::scaled_matmul;
          Array out = product(array(args, arg::a), array(args, arg::b));
          out.dtype = p.result;
          const Complex scale = array(args, arg::scale_a).v[0] * array(args, arg::scale_b).v[0];
          for (size_t i = 0; i < out.size(); ++i) {
            out.v[i] *= scale;
            if (p.bias) out.v[i] += array(args, arg::bias).v[i % static_cast<size_t>(p.b[1])];
          }
          return one(out);
        });
    s.tolerance = p.a[1] > 20 ? 40 : 12;
    s.gradient = false;
  }
}

}  // namespace

void add_matmul_samples(Table& table) {
  add_products(table);
  add_weight_gradients(table);
  add_linears(table);
  add_scaled_products(table);
}

}  // namespace tenon::conformance
