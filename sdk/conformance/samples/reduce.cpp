// Reductions.
#include <algorithm>

#include "rows.hpp"

namespace tenon::conformance {
namespace {

// What is reduced: the shape, dims (all if absent), keepdim.
struct Axes {
  Shape shape;
  std::optional<Shape> dims;
  bool keepdim = false;
};
const std::vector<Axes>& axes() {
  static const std::vector<Axes> list = {{{2, 3, 4}, {}, false},
                                         {{2, 3, 4}, Shape{2}, false},
                                         {{2, 3, 4}, Shape{0}, true},
                                         {{2, 3, 4}, Shape{1}, false},
                                         {{3, 4, 5}, Shape{0, -1}, true},
                                         {{130}, Shape{0}, false},
                                         {{}, {}, false},
                                         {{40, 37}, Shape{1}, false},
                                         {{2, 3, 2, 5}, Shape{1, 2}, false}};
  return list;
}
using conformance::label_of;
std::string label_of(const Axes& a) {
  std::string text = conformance::label_of(a.shape) +
                     (a.dims ? " over " + conformance::label_of(*a.dims) : " over all");
  return a.keepdim ? text + " kept" : text;
}
Arg dims_arg(const Axes& a) { return a.dims ? Arg(*a.dims) : Arg(); }

bool is_reduced(const Axes& a, size_t d) {
  if (!a.dims) return true;
  return std::any_of(a.dims->begin(), a.dims->end(), [&](int64_t dim) {
    return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(a.shape.size()) : dim) == d;
  });
}

// The elements that belong to each result, in row-major order.
template <class Fn>
Array gather_groups(const Array& x, const Axes& a, DType dtype, Fn fold) {
  Shape kept, shown;
  for (size_t d = 0; d < x.rank(); ++d) {
    kept.push_back(is_reduced(a, d) ? 1 : x.shape[d]);
    if (!is_reduced(a, d))
      shown.push_back(x.shape[d]);
    else if (a.keepdim)
      shown.push_back(1);
  }
  Array frame(dtype, kept);
  std::vector<std::vector<Complex>> groups(frame.size());
  for_each_index(x.shape, [&](const Shape& index) {
    Shape to = index;
    for (size_t d = 0; d < to.size(); ++d)
      if (is_reduced(a, d)) to[d] = 0;
    groups[frame.at(to)].push_back(x.v[x.at(index)]);
  });
  for (size_t i = 0; i < groups.size(); ++i) frame.v[i] = fold(groups[i]);
  frame.shape = shown;
  return frame;
}

using Group = std::vector<Complex>;
Complex sum_of(const Group& g) { return std::accumulate(g.begin(), g.end(), Complex(0)); }
Complex mean_of(const Group& g) { return sum_of(g) / static_cast<double>(g.size()); }

struct Reduction {
  std::string op;
  uint64_t dtypes;
  DType (*result)(DType);
  std::function<Complex(const Group&)> fold;
  Args before, after;  // arguments between x and dims, and after keepdim
  double low = -2, high = 2, tolerance = 4;
  bool distinct = false;
};

void reduction(Table& t, const Reduction& r) {
  for (const Axes& a : axes()) {
    Sample& s = t.add(
        r.op,
        label_of(a) +
            (r.before.empty() ? "" : " p" + std::to_string(std::get<double>(r.before[0]))),
        r.dtypes,
        [=](DType dtype, Rng& rng) {
          Args args = {r.distinct ? distinct_array(rng, dtype, a.shape)
                                  : random_array(rng, dtype, a.shape, r.low, r.high)};
          args.insert(args.end(), r.before.begin(), r.before.end());
          args.push_back(dims_arg(a));
          args.insert(args.end(), r.after.begin(), r.after.end());
          args.push_back(a.keepdim);
          return args;
        },
        [=](const Args& args) {
          const Array& x = array(args, arg::sum::x);
          return one(gather_groups(x, a, r.result(x.dtype), r.fold));
        });
    s.tolerance = r.tolerance * (a.shape.size() == 1 ? 8 : 2);
    s.gradient = a.shape != Shape{40, 37};
  }
}

DType same(DType d) { return d; }
DType boolean(DType) { return DType::Bool; }
DType real_fraction(DType d) { return real_of(fractional(d)); }

void add_folds(Table& t) {
  reduction(t, {"sum", kReals | kBool | kComplex, sum_dtype, sum_of, {}, {}});
  reduction(t, {"nansum", kReals | kBool, sum_dtype, sum_of, {}, {}});
  reduction(t, {"prod",
                kDouble | TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_I32),
                sum_dtype,
                [](const Group& g) {
                  return std::accumulate(g.begin(), g.end(), Complex(1), std::multiplies<>());
                },
                {},
                {},
                0.9,
                1.15,
                40});
  reduction(t, {"max",
                kReals,
                same,
                [](const Group& g) {
                  return *std::max_element(
                      g.begin(), g.end(), [](Complex a, Complex b) { return a.real() < b.real(); });
                },
                {},
                {},
                -2,
                2,
                1,
                true});
  reduction(t, {"min",
                kReals,
                same,
                [](const Group& g) {
                  return *std::min_element(
                      g.begin(), g.end(), [](Complex a, Complex b) { return a.real() < b.real(); });
                },
                {},
                {},
                -2,
                2,
                1,
                true});
  reduction(t, {"mean", kReals | kComplex, fractional, mean_of, {}, {}});
  reduction(t,
            {"any",
             kReals | kBool,
             boolean,
             [](const Group& g) {
               return Complex(std::any_of(g.begin(), g.end(), [](Complex v) { return v != 0.0; }));
             },
             {},
             {},
             0,
             1});
  reduction(t,
            {"all",
             kReals | kBool,
             boolean,
             [](const Group& g) {
               return Complex(std::all_of(g.begin(), g.end(), [](Complex v) { return v != 0.0; }));
             },
             {},
             {},
             0,
             1});
  reduction(t, {"logsumexp",
                kFloats,
                fractional,
                [](const Group& g) {
                  double top = -kInf, total = 0;
                  for (Complex v : g) top = std::max(top, v.real());
                  for (Complex v : g) total += std::exp(v.real() - top);
                  return Complex(top + std::log(total));
                },
                {},
                {}});
  for (double p : {2.0, 1.0, 3.0, kInf})
    reduction(t, {"norm",
                  kFloats,
                  real_fraction,
                  [p](const Group& g) {
                    double total = 0;
                    for (Complex v : g)
                      total = std::isinf(p) ? std::max(total, std::abs(v))
                                            : total + std::pow(std::abs(v), p);
                    return Complex(std::isinf(p) ? total : std::pow(total, 1 / p));
                  },
                  {p},
                  {},
                  0.2,
                  2,
                  8});
  for (const Axes& a : axes()) {
    if (a.keepdim) continue;
    t.add(
        "count_nonzero", label_of(a), kReals | kBool | kComplex,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, a.shape, 0, 2), dims_arg(a), false};
        },
        [=](const Args& args) {
          return one(
              gather_groups(array(args, arg::count_nonzero::x), a, DType::I64, [](const Group& g) {
                return Complex(static_cast<double>(
                    std::count_if(g.begin(), g.end(), [](Complex v) { return v != 0.0; })));
              }));
        });
  }
}

void add_variances(Table& t) {
  for (const std::string op : {"var", "std"})
    for (double correction : {1.0, 0.0})
      for (const Axes& a : axes()) {
        if (a.shape.empty()) continue;
        Sample& s = t.add(
            op, label_of(a) + " correction " + std::to_string(correction), kFloats,
            [=](DType dtype, Rng& rng) {
              return Args{random_array(rng, dtype, a.shape), dims_arg(a), correction, a.keepdim};
            },
            [=](const Args& args) {
              return one(gather_groups(
                  array(args, arg::var::x), a, array(args, arg::var::x).dtype, [&](const Group& g) {
                    double mean = mean_of(g).real(), total = 0;
                    for (Complex v : g) total += (v.real() - mean) * (v.real() - mean);
                    double variance =
                        total / std::max(0.0, static_cast<double>(g.size()) - correction);
                    return Complex(op == "var" ? variance : std::sqrt(variance));
                  }));
            });
        s.tolerance = 8;
        s.layouts = a.shape != Shape{2, 3, 4} || op == "var";
        s.gradient = a.shape != Shape{40, 37};
      }
  struct Extremum {
    Shape shape;
    std::optional<int64_t> dim;
  };
  const Shape usual{3, 4, 5}, one_each{3, 1, 5};
  for (const std::string op : {"argmin", "argmax"})
    for (const Extremum& e :
         {Extremum{usual, {}}, {usual, 1}, {usual, -1}, {one_each, 1}, {{3, 4, 1}, -1}})
      t.add(
          op,
          (e.dim ? "dim " + std::to_string(*e.dim) : "flat") +
              (e.shape == usual ? "" : ' ' + label_of(e.shape)),
          kReals,
          [=](DType dtype, Rng& rng) {
            return Args{distinct_array(rng, dtype, e.shape), e.dim ? Arg(*e.dim) : Arg(), false};
          },
          [=](const Args& args) {
            Axes a{e.shape, e.dim ? std::optional<Shape>(Shape{*e.dim}) : std::nullopt, false};
            return one(
                gather_groups(array(args, arg::argmin::x), a, DType::I64, [&](const Group& g) {
                  auto less = [](Complex x, Complex y) { return x.real() < y.real(); };
                  auto found = op == "argmin" ? std::min_element(g.begin(), g.end(), less)
                                              : std::max_element(g.begin(), g.end(), less);
                  return Complex(static_cast<double>(found - g.begin()));
                }));
          });
}

void add_zeros(Table& t) {
  for (int zeros : {1, 2})
    t.add(
         "prod", std::to_string(zeros) + " zeros", kDouble,
         [=](DType dtype, Rng& rng) {
           return Args{with_zeros(dtype, rng, zeros), Shape{0}, false};
         },
         [=](const Args& args) { return one(Array(array(args, arg::prod::x).dtype, {})); })
        .layouts = false;
}

// g times the product of all other elements of the row.
std::vector<Array> product_gradient(const Args& args) {
  using arg = arg::prod_backward;
  const Array &g = array(args, arg::g), &x = array(args, arg::x);
  Array out(x.dtype, x.shape);
  const auto n = static_cast<size_t>(x.shape.back());
  for (size_t i = 0; i < x.size(); ++i) {
    Complex others = g.v[i / n];
    for (size_t k = i / n * n; k < (i / n + 1) * n; ++k)
      if (k != i) others *= std::conj(x.v[k]);
    out.v[i] = others;
  }
  return one(out);
}

void add_product_gradients(Table& t) {
  for (const int zeros : {0, 1, 2})
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 4}, Shape{70}, Shape{1}, Shape{2, 0}})
      t.add(
           "prod_backward", label_of(shape) + ' ' + std::to_string(zeros) + " zeros",
           kFloats | kComplex,
           [=](DType dtype, Rng& rng) {
             const Array g = random_array(rng, dtype, Shape(shape.begin(), shape.end() - 1));
             Array x = random_array(rng, dtype, shape, 0.8, 1.25);
             for (size_t i = 1; i < std::min<size_t>(x.size(), 2 * static_cast<size_t>(zeros));
                  i += 2)
               x.v[i] = 0;
             return Args{g, x};
           },
           product_gradient)
          .tolerance = 40;
  // A product that overflows although its parts do not.
  t.add(
       "prod_backward", "extreme", kDouble,
       [](DType dtype, Rng&) {
         Array g(dtype, {2}), x(dtype, {2, 3});
         g.v = {2, 1e-10};
         x.v = {1e200, 1e200, 1e-300, 1e-170, 1e-160, 1e100};
         return Args{g, x};
       },
       product_gradient)
      .gradient = false;
}

void add_special(Table& t) {
  auto special = [&](const std::string& op, const std::vector<double>& values, const Args& rest,
                     DType result, const std::vector<double>& wanted) {
    Sample& s = t.add(
        op, "special " + std::to_string(values.size()), kDouble | TN_MASK(TN_DTYPE_F32),
        [=](DType dtype, Rng&) {
          Array x(dtype, {static_cast<int64_t>(values.size())});
          std::copy(values.begin(), values.end(), x.v.begin());
          Args args = {x};
          args.insert(args.end(), rest.begin(), rest.end());
          return args;
        },
        [=](const Args& args) {
          Array out(result == DType::F64 ? array(args, arg::sum::x).dtype : result,
                    wanted.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(wanted.size())});
          std::copy(wanted.begin(), wanted.end(), out.v.begin());
          return one(out);
        });
    s.gradient = s.layouts = false;
  };
  special("max", {1, kNan, 3}, {}, DType::F64, {kNan});
  special("min", {1, kNan, 3}, {}, DType::F64, {kNan});
  special("argmax", {1, kNan, 3}, {}, DType::I64, {1});
  special("nansum", {1, kNan, 3}, {}, DType::F64, {4});
  special("nansum", {kNan, kInf}, {}, DType::F64, {kInf});
  special("sum", {}, {}, DType::F64, {0});
  special("prod", {}, {}, DType::F64, {1});
  special("mean", {}, {}, DType::F64, {kNan});
  special("logsumexp", {-kInf, -kInf}, {}, DType::F64, {-kInf});
  special("any", {}, {}, DType::Bool, {0});
  special("all", {}, {}, DType::Bool, {1});
}

}  // namespace

void add_reduce_samples(Table& table) {
  add_folds(table);
  add_variances(table);
  add_zeros(table);
  add_product_gradients(table);
  add_special(table);
}

}  // namespace tenon::conformance
