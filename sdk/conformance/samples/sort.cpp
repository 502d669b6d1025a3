// Sorting, searching and what depends on values for its shape.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// Order with NaN last.
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

// Values and indices of each row in order; the first `keep` of them.
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
         return sorted(array(a, 0), row.dim, descending, -1);
       }).gradient = Array::count(row.shape) < 40;
      t.add("argsort", label, kReals, make, [=](const Args& a) {
        return std::vector<Array>{sorted(array(a, 0), row.dim, descending, -1)[1]};
      });
    }
  // Ties keep their order; NaN goes last.
  t.add(
       "sort", "ties", kReals,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {50}, 0, 3), int64_t{0}, false, true};
       },
       [](const Args& a) { return sorted(array(a, 0), 0, false, -1); })
      .gradient = false;
  t.add(
       "sort", "nan", kFloats,
       [](DType dtype, Rng&) {
         Array x(dtype, {5});
         double values[] = {kNan, 2, -kInf, kInf, 0};
         std::copy(std::begin(values), std::end(values), x.v.begin());
         return Args{x, int64_t{0}, false, true};
       },
       [](const Args& a) { return sorted(array(a, 0), 0, false, -1); })
      .gradient = false;
  for (const Row& row : {Row{{9}, 0}, Row{{3, 8}, 1}, Row{{6, 2}, 0}, Row{{400}, 0}})
    for (bool largest : {true, false})
      t.add(
           "topk", label_of(row.shape) + (largest ? " largest" : " smallest"), kReals,
           [=](DType dtype, Rng& rng) {
             return Args{distinct_array(rng, dtype, row.shape), int64_t{3}, row.dim, largest, true};
           },
           [=](const Args& a) { return sorted(array(a, 0), row.dim, largest, 3); })
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

Array vector_of(DType dtype, const std::vector<double>& values) {
  Array out(dtype, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), out.v.begin());
  return out;
}

void add_dynamic(Table& t) {
  for (const Shape& shape : {Shape{30}, Shape{4, 6}, Shape{}, Shape{0}})
    t.add(
        "unique", label_of(shape), kReals | kBool,
        [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, 0, 5)}; },
        [](const Args& a) {
          const Array& x = array(a, 0);
          std::vector<double> values, first, counts;
          for (Complex v : x.v) values.push_back(v.real());
          std::sort(values.begin(), values.end());
          values.erase(std::unique(values.begin(), values.end()), values.end());
          Array inverse(DType::I64, x.shape);
          for (double value : values) {
            double count = 0, at = -1;
            for (size_t i = 0; i < x.size(); ++i) {
              if (x.re(i) != value) continue;
              if (at < 0) at = static_cast<double>(i);
              ++count;
            }
            first.push_back(at);
            counts.push_back(count);
          }
          for (size_t i = 0; i < x.size(); ++i)
            inverse.v[i] = static_cast<double>(
                std::lower_bound(values.begin(), values.end(), x.re(i)) - values.begin());
          return std::vector<Array>{vector_of(x.dtype, values), vector_of(DType::I64, first),
                                    inverse, vector_of(DType::I64, counts)};
        });
  for (const Shape& shape : {Shape{20}, Shape{3, 4}, Shape{2, 3, 4}, Shape{0, 2}, Shape{}})
    t.add(
        "nonzero", label_of(shape), kReals | kBool,
        [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, 0, 2)}; },
        [](const Args& a) {
          const Array& x = array(a, 0);
          std::vector<Complex> found;
          int64_t count = 0;
          for_each_index(x.shape, [&](const Shape& index) {
            if (x.v[x.at(index)] == 0.0) return;
            ++count;
            for (int64_t i : index) found.emplace_back(static_cast<double>(i));
          });
          Array out(DType::I64, {count, static_cast<int64_t>(x.rank())});
          out.v = found;
          return one(out);
        });
  for (const auto& [a, b] :
       {std::pair<Shape, Shape>{{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{5}, {5}}, {{2, 3}, {}}})
    t.add(
        "masked_select", label_of(a) + label_of(b), kMovable,
        [a = a, b = b](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, a), random_array(rng, DType::Bool, b)};
        },
        [](const Args& args) {
          const Array &x = array(args, arg::masked_select::x),
                      &mask = array(args, arg::masked_select::mask);
          std::vector<Complex> found;
          for_each_index(x.shape, [&](const Shape& index) {
            if (broadcast_at(mask, index) != 0.0) found.push_back(x.v[x.at(index)]);
          });
          Array out(x.dtype, {static_cast<int64_t>(found.size())});
          out.v = found;
          return one(out);
        });
}

}  // namespace

void add_sort_samples(Table& table) {
  add_sorts(table);
  add_dynamic(table);
}

}  // namespace tenon::conformance
