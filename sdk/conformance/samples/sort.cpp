// Sorting and searching.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// Ascending order, with NaN last.
bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

struct Row {
  Shape shape;
  int64_t dim;
};
const std::vector<Row>& rows() {
  static const std::vector<Row> list = {{{7}, 0},    {{3, 5}, 1}, {{3, 5}, 0}, {{2, 3, 4}, -2},
                                        {{300}, -1}, {{}, 0},     {{2, 0}, 1}};
  return list;
}

// The first `keep` values and indices of each row, in order.
std::vector<Array> sorted(const Array& x, int64_t dim, bool descending, int64_t keep) {
  size_t d =
      x.rank() == 0 ? 0 : static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(x.rank()) : dim);
  Shape shape = x.shape, outer = x.shape;
  int64_t n = x.rank() == 0 ? 1 : x.shape[d];
  if (keep >= 0 && x.rank() > 0) shape[d] = keep;
  if (x.rank() > 0) outer[d] = 1;
  Array values(x.dtype, shape), indices(DType::I64, shape);
  for_each_index(outer, [&](Shape index) {
    auto at = [&](const Array& a, int64_t i) {
      if (a.rank() == 0) return size_t{0};
      index[d] = i;
      return a.at(index);
    };
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      double u = x.re(at(x, a)), v = x.re(at(x, b));
      return descending ? before(v, u) : before(u, v);
    });
    for (int64_t i = 0; i < (keep < 0 ? n : keep); ++i) {
      values.v[at(values, i)] = x.v[at(x, order[static_cast<size_t>(i)])];
      indices.v[at(indices, i)] = static_cast<double>(order[static_cast<size_t>(i)]);
    }
  });
  return {values, indices};
}

void add_sorts(Table& t) {
  for (const Row& row : rows())
    for (bool descending : {false, true}) {
      std::string label =
          label_of(row.shape) + " dim " + std::to_string(row.dim) + (descending ? " down" : " up");
      auto make = [=](DType dtype, Rng& rng) {
        return Args{distinct_array(rng, dtype, row.shape), row.dim, descending, true};
      };
      t.add("sort", label, kReals, make, [=](const Args& a) {
         return sorted(array(a, arg::sort::x), row.dim, descending, -1);
       }).gradient = Array::count(row.shape) < 40;
      t.add("argsort", label, kReals, make, [=](const Args& a) {
        return std::vector<Array>{sorted(array(a, arg::argsort::x), row.dim, descending, -1)[1]};
      });
    }
  // Ties keep their order; NaN goes last.
  t.add(
       "sort", "ties", kReals,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {50}, 0, 3), int64_t{0}, false, true};
       },
       [](const Args& a) { return sorted(array(a, arg::sort::x), 0, false, -1); })
      .gradient = false;
  t.add(
       "sort", "nan", kFloats,
       [](DType dtype, Rng&) {
         Array x(dtype, {5});
         double values[] = {kNan, 2, -kInf, kInf, 0};
         std::copy(std::begin(values), std::end(values), x.v.begin());
         return Args{x, int64_t{0}, false, true};
       },
       [](const Args& a) { return sorted(array(a, arg::sort::x), 0, false, -1); })
      .gradient = false;
  for (const Row& row : {Row{{9}, 0}, Row{{3, 8}, 1}, Row{{6, 2}, 0}, Row{{400}, 0}})
    for (bool largest : {true, false})
      t.add(
           "topk", label_of(row.shape) + (largest ? " largest" : " smallest"), kReals,
           [=](DType dtype, Rng& rng) {
             return Args{distinct_array(rng, dtype, row.shape), int64_t{3}, row.dim, largest, true};
           },
           [=](const Args& a) { return sorted(array(a, arg::topk::x), row.dim, largest, 3); })
          .gradient = Array::count(row.shape) < 40;
  for (bool right : {false, true})
    t.add(
         "searchsorted", right ? "right" : "left", kReals,
         [=](DType dtype, Rng& rng) {
           Array table = random_array(rng, dtype, {20}, 0, 9);
           std::sort(table.v.begin(), table.v.end(),
                     [](Complex a, Complex b) { return a.real() < b.real(); });
           return Args{table, random_array(rng, dtype, {3, 4}, 0, 9), right};
         },
         [=](const Args& a) {
           const Array& table = array(a, arg::searchsorted::sorted);
           auto less = [](Complex u, Complex v) { return u.real() < v.real(); };
           return one(map(array(a, arg::searchsorted::values), DType::I64, [&](Complex v) {
             auto found = right ? std::upper_bound(table.v.begin(), table.v.end(), v, less)
                                : std::lower_bound(table.v.begin(), table.v.end(), v, less);
             return Complex(static_cast<double>(found - table.v.begin()));
           }));
         })
        .layouts = false;
}

}  // namespace

void add_sort_samples(Table& table) { add_sorts(table); }

}  // namespace tenon::conformance
