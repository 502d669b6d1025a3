// Ops whose result shape depends on values.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

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
          const Array& x = array(a, arg::unique::x);
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
  for (const Shape& shape :
       {Shape{20}, Shape{3, 4}, Shape{2, 3, 4}, Shape{2, 300}, Shape{0, 2}, Shape{}})
    t.add(
        "nonzero", label_of(shape), kReals | kBool,
        [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape, 0, 2)}; },
        [](const Args& a) {
          const Array& x = array(a, arg::nonzero::x);
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

void add_dynamic_samples(Table& table) { add_dynamic(table); }

}  // namespace tenon::conformance
