// Cumulative sums and products.
#include "rows.hpp"

namespace tenon::conformance {
namespace {

void add_scans(Table& t) {
  auto with_long = rows();
  // More than the blocks that rows and columns are taken in.
  with_long.push_back({{5, 600}, 1});
  with_long.push_back({{2, 7, 150}, 1});
  for (const auto& [shape, dim] : with_long) {
    auto& sum = along(t, "cumsum", shape, dim, kReals | kComplex, sum_dtype,
                      [](const Array& x, const std::vector<size_t>& row, Array& out) {
                        Complex total = 0;
                        for (size_t i : row) out.v[i] = total += x.v[i];
                      });
    sum.tolerance = 40, sum.gradient = Array::count(shape) < 40;
  }
  for (const auto& [shape, dim] : rows()) {
    auto& prod = along(t, "cumprod", shape, dim, kDouble, sum_dtype,
                       [](const Array& x, const std::vector<size_t>& row, Array& out) {
                         Complex total = 1;
                         for (size_t i : row) out.v[i] = total *= x.v[i];
                       });
    prod.tolerance = 200, prod.gradient = Array::count(shape) <= 24;
  }
  for (int zeros : {1, 2})
    t.add(
         "cumprod", std::to_string(zeros) + " zeros", kDouble,
         [=](DType dtype, Rng& rng) {
           return Args{with_zeros(dtype, rng, zeros), int64_t{0}};
         },
         [=](const Args& args) {
           const Array& x = array(args, arg::cumprod::x);
           Array out(x.dtype, x.shape);
           Complex total = 1;
           for (size_t i = 0; i < x.size(); ++i) out.v[i] = total *= x.v[i];
           return one(out);
         })
        .layouts = false;
}

// Each element gets the sum of g·(product without the element) over the prefixes that contain it.
void add_product_gradients(Table& t) {
  using arg = arg::cumprod_backward;
  for (const int zeros : {0, 1, 2})
    for (const auto& [shape, dim] : rows()) {
      Sample& s = t.add(
          "cumprod_backward",
          label_of(shape) + " dim " + std::to_string(dim) + ' ' + std::to_string(zeros) + " zeros",
          kFloats | kComplex,
          [=, shape = shape, dim = dim](DType dtype, Rng& rng) {
            const Array g = random_array(rng, dtype, shape);
            // The product of 70 elements of 1.05 still fits in half precision.
            Array x = random_array(rng, dtype, shape, 0.9, 1.05), y(dtype, shape);
            for_each_row(x, dim, [&](const std::vector<size_t>& row) {
              Complex total = 1;
              for (int z = 0; z < zeros && row.size() > 3; ++z) x.v[row[2 * size_t(z) + 1]] = 0;
              for (const size_t i : row) y.v[i] = total *= x.v[i];
            });
            return Args{g, x, y, dim};
          },
          [dim = dim](const Args& args) {
            const Array &g = array(args, arg::g), &x = array(args, arg::x),
                        &y = array(args, arg::y);
            Array out(x.dtype, x.shape);
            for_each_row(x, dim, [&](const std::vector<size_t>& row) {
              Complex later = 0;
              for (size_t k = row.size(); k-- > 0;) {
                later =
                    g.v[row[k]] + (k + 1 < row.size() ? std::conj(x.v[row[k + 1]]) * later : 0.0);
                out.v[row[k]] = later * (k == 0 ? 1.0 : std::conj(y.v[row[k - 1]]));
              }
            });
            return one(out);
          });
      s.tolerance = 200, s.gradient = Array::count(shape) <= 24;
    }
}

// Running extremes of a row and their positions: the last of equal elements, and NaN from its position on.
std::vector<Array> extremes(const Array& x, int64_t dim, bool largest) {
  Array values(x.dtype, x.shape), indices(DType::I64, x.shape);
  for_each_row(x, dim, [&](const std::vector<size_t>& row) {
    size_t best = 0;
    for (size_t k = 0; k < row.size(); ++k) {
      const double now = x.re(row[k]), before = x.re(row[best]);
      const bool ahead = largest ? now >= before : now <= before;
      if (std::isnan(now) || (!std::isnan(before) && ahead)) best = k;
      values.v[row[k]] = x.v[row[best]];
      indices.v[row[k]] = static_cast<double>(best);
    }
  });
  return {values, indices};
}

void add_extremes(Table& t, const std::string& op, bool largest) {
  const auto reference = [=](const Args& args) {
    return extremes(array(args, arg::cummax::x), integer(args, arg::cummax::dim), largest);
  };
  for (const auto& [shape, dim] : rows())
    t.add(
         op, label_of(shape) + " dim " + std::to_string(dim), kReals,
         [shape = shape, dim = dim](DType dtype, Rng& rng) {
           return Args{distinct_array(rng, dtype, shape), dim};
         },
         reference)
        .gradient = Array::count(shape) < 40;
  t.add(
       op, "ties", kReals,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {50}, 0, 3), int64_t{0}};
       },
       reference)
      .gradient = false;
  t.add(
       op, "nan", kFloats,
       [](DType dtype, Rng&) {
         Array x(dtype, {6});
         const double values[] = {1, kInf, kNan, -kInf, kNan, 0};
         std::copy(std::begin(values), std::end(values), x.v.begin());
         return Args{x, int64_t{0}};
       },
       reference)
      .gradient = false;
}

}  // namespace

void add_scan_samples(Table& table) {
  add_scans(table);
  add_product_gradients(table);
  add_extremes(table, "cummax", true);
  add_extremes(table, "cummin", false);
}

}  // namespace tenon::conformance
