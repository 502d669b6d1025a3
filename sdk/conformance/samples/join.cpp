// Joining, repeating and rolling.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

void add_rolls(Table& t) {
  for (const auto& [shape, shifts, dims] : {std::tuple<Shape, Shape, Shape>{{3, 4}, {1}, {1}},
                                            {{3, 4}, {-1, 2}, {0, 1}},
                                            {{5}, {7}, {0}}})
    t.add(
        "roll", label_of(shape) + label_of(shifts), kMovable,
        [shape = shape, shifts = shifts, dims = dims](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, shape), shifts, dims};
        },
        [shape = shape, shifts = shifts, dims = dims](const Args& a) {
          Array out = array(a, arg::roll::x);
          for_each_index(shape, [&](const Shape& at) {
            Shape to = at;
            for (size_t k = 0; k < dims.size(); ++k) {
              auto d = static_cast<size_t>(dims[k]);
              to[d] = ((at[d] + shifts[k]) % shape[d] + shape[d]) % shape[d];
            }
            out.v[out.at(to)] = array(a, arg::roll::x).v[out.at(at)];
          });
          return one(out);
        });
  t.add(
      "roll", "flat", kReals,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {2, 3}), Shape{2}, {}};
      },
      [](const Args& a) {
        Array out = array(a, arg::roll::x);
        for (size_t i = 0; i < 6; ++i) out.v[(i + 2) % 6] = array(a, arg::roll::x).v[i];
        return one(out);
      });
}

void add_joins(Table& t) {
  for (int64_t dim : {0, 1, -1})
    t.add(
        "concat", "dim " + std::to_string(dim), kMovable,
        [=](DType dtype, Rng& rng) {
          std::vector<Array> xs;
          for (int64_t n : {2, 0, 3}) {
            Shape shape = {2, 3, 4};
            shape[dim < 0 ? 2 : static_cast<size_t>(dim)] = n;
            xs.push_back(random_array(rng, dtype, shape));
          }
          return Args{xs, dim};
        },
        [=](const Args& a) {
          size_t d = dim < 0 ? 2 : static_cast<size_t>(dim);
          Shape shape = {2, 3, 4};
          shape[d] = 5;
          Array out(arrays(a, arg::concat::xs)[0].dtype, shape);
          int64_t start = 0;
          for (const Array& x : arrays(a, arg::concat::xs)) {
            for_each_index(x.shape, [&](Shape at) {
              Complex value = x.v[x.at(at)];
              at[d] += start;
              out.v[out.at(at)] = value;
            });
            start += x.shape[d];
          }
          return one(out);
        });
  t.add(
      "stack", "dim 1", kMovable,
      [](DType dtype, Rng& rng) {
        return Args{
            std::vector<Array>{random_array(rng, dtype, {2, 3}), random_array(rng, dtype, {2, 3})},
            int64_t{1}};
      },
      [](const Args& a) {
        Array out(arrays(a, arg::stack::xs)[0].dtype, {2, 2, 3});
        for_each_index(out.shape, [&](const Shape& at) {
          const Array& x = arrays(a, arg::stack::xs)[static_cast<size_t>(at[1])];
          out.v[out.at(at)] = x.v[x.at({at[0], at[2]})];
        });
        return one(out);
      });
}

void add_repeats(Table& t) {
  for (const std::string op : {"repeat", "tile"})
    t.add(
        op, "(2,3) by (2,1,2)", kReals,
        [](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, {2, 3}), Shape{2, 1, 2}};
        },
        [](const Args& a) {
          const Array& x = array(a, arg::repeat::x);
          Array out(x.dtype, {2, 2, 6});
          for_each_index(out.shape, [&](const Shape& at) {
            out.v[out.at(at)] = x.v[x.at({at[1], at[2] % 3})];
          });
          return one(out);
        });
  t.add(
      "tile", "fewer repeats than dimensions", kReals,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {2, 3}), Shape{2}};
      },
      [](const Args& a) {
        Array out(array(a, arg::tile::x).dtype, {2, 6});
        for_each_index(out.shape, [&](const Shape& at) {
          out.v[out.at(at)] =
              array(a, arg::tile::x).v[array(a, arg::tile::x).at({at[0], at[1] % 3})];
        });
        return one(out);
      });
  t.add(
      "one_hot", "classes", TN_MASK(TN_DTYPE_I64) | TN_MASK(TN_DTYPE_I32),
      [](DType dtype, Rng& rng) {
        return Args{random_indices(rng, {2, 3}, 0, 4, dtype), int64_t{4}};
      },
      [](const Args& a) {
        Array out(DType::I64, {2, 3, 4});
        for (size_t i = 0; i < 24; ++i)
          out.v[i] = array(a, arg::one_hot::index).re(i / 4) == static_cast<double>(i % 4);
        return one(out);
      });
}

}  // namespace

void add_join_samples(Table& table) {
  add_rolls(table);
  add_joins(table);
  add_repeats(table);
}

}  // namespace tenon::conformance
