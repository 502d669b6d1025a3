// Gathering, scattering and advanced indexing.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// Distinct indices along `dim` in every row, so that each place of a scatter has one source.
Array permuted_indices(Rng& rng, const Shape& shape, size_t dim, int64_t bound) {
  Array out(DType::I64, shape);
  Shape outer = shape;
  outer[dim] = 1;
  for_each_index(outer, [&](Shape index) {
    std::vector<int64_t> places(static_cast<size_t>(bound));
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), rng.engine());
    for (int64_t i = 0; i < shape[dim]; ++i) {
      index[dim] = i;
      out.v[out.at(index)] = static_cast<double>(places[static_cast<size_t>(i)]);
    }
  });
  return out;
}

struct Along {
  Shape x, index;
  int64_t dim;
};

void add_gathers(Table& t) {
  for (const Along& g :
       {Along{{4, 5}, {2, 5}, 0}, Along{{4, 5}, {4, 3}, 1}, Along{{2, 3, 4}, {2, 2, 4}, -2},
        Along{{6}, {9}, 0}, Along{{3, 4}, {2, 2}, 1}}) {
    size_t d = static_cast<size_t>(g.dim < 0 ? g.dim + static_cast<int64_t>(g.x.size()) : g.dim);
    auto moved = [=](const Shape& at, const Array& index) {
      Shape to = at;
      to[d] = static_cast<int64_t>(index.re(index.at(at)));
      return to;
    };
    std::string label = label_of(g.x) + label_of(g.index) + " dim " + std::to_string(g.dim);
    t.add(
        "gather", label, kMovable,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, g.x), g.dim,
                      random_indices(rng, g.index, 0, g.x[d])};
        },
        [=](const Args& a) {
          const Array &x = array(a, arg::gather::x), &index = array(a, arg::gather::index);
          Array out(x.dtype, g.index);
          for_each_index(g.index,
                         [&](const Shape& at) { out.v[out.at(at)] = x.v[x.at(moved(at, index))]; });
          return one(out);
        });
    if (g.index[d] <= g.x[d])
      t.add(
           "scatter", label, kMovable,
           [=](DType dtype, Rng& rng) {
             return Args{random_array(rng, dtype, g.x), g.dim,
                         permuted_indices(rng, g.index, d, g.x[d]),
                         random_array(rng, dtype, g.index)};
           },
           [=](const Args& a) {
             using arg = tenon::arg::scatter;
             Array out = array(a, arg::x);
             for_each_index(g.index, [&](const Shape& at) {
               out.v[out.at(moved(at, array(a, arg::index)))] =
                   array(a, arg::src).v[array(a, arg::src).at(at)];
             });
             return one(out);
           })
          .layouts = false;
    t.add(
         "scatter_add", label, kReals | kComplex,
         [=](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, g.x), g.dim,
                       random_indices(rng, g.index, 0, g.x[d]), random_array(rng, dtype, g.index)};
         },
         [=](const Args& a) {
           using arg = tenon::arg::scatter_add;
           Array out = array(a, arg::x);
           for_each_index(g.index, [&](const Shape& at) {
             out.v[out.at(moved(at, array(a, arg::index)))] +=
                 array(a, arg::src).v[array(a, arg::src).at(at)];
           });
           return one(out);
         })
        .tolerance = 8;
  }
}

void add_rows(Table& t) {
  for (const auto& [shape, dim] :
       {std::pair<Shape, int64_t>{{5, 3}, 0}, {{3, 5}, 1}, {{2, 4, 3}, -2}, {{7}, 0}}) {
    size_t d = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
    Shape picked = shape;
    picked[d] = 6;
    auto moved = [d](Shape at, const Array& index) {
      at[d] = static_cast<int64_t>(index.re(static_cast<size_t>(at[d])));
      return at;
    };
    t.add(
        "index_select", label_of(shape) + " dim " + std::to_string(dim), kMovable,
        [=, shape = shape, dim = dim](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, shape), dim, random_indices(rng, {6}, 0, shape[d])};
        },
        [=](const Args& a) {
          const Array& x = array(a, arg::index_select::x);
          Array out(x.dtype, picked);
          for_each_index(picked, [&](const Shape& at) {
            out.v[out.at(at)] = x.v[x.at(moved(at, array(a, arg::index_select::index)))];
          });
          return one(out);
        });
    t.add(
         "index_add", label_of(shape) + " dim " + std::to_string(dim), kReals | kComplex,
         [=, shape = shape, dim = dim](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, shape), dim, random_indices(rng, {6}, 0, shape[d]),
                       random_array(rng, dtype, picked)};
         },
         [=](const Args& a) {
           using arg = tenon::arg::index_add;
           Array out = array(a, arg::x);
           for_each_index(picked, [&](const Shape& at) {
             out.v[out.at(moved(at, array(a, arg::index)))] +=
                 array(a, arg::src).v[array(a, arg::src).at(at)];
           });
           return one(out);
         })
        .tolerance = 8;
  }
  t.add(
      "take", "flat", kReals,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {3, 4}), random_indices(rng, {2, 3}, -12, 12)};
      },
      [](const Args& a) {
        Array out(array(a, arg::take::x).dtype, {2, 3});
        for (size_t i = 0; i < 6; ++i) {
          double at = array(a, arg::take::index).re(i);
          out.v[i] = array(a, arg::take::x).v[static_cast<size_t>(at < 0 ? at + 12 : at)];
        }
        return one(out);
      });
}

// x[i0, i1] with integer arrays of both dimensions, or of one.
void add_advanced(Table& t) {
  auto wrap = [](double i, int64_t n) {
    return static_cast<int64_t>(i < 0 ? i + static_cast<double>(n) : i);
  };
  auto pick = [wrap](const Array& x, const std::vector<Array>& index, const Shape& at) {
    Shape from = {wrap(broadcast_at(index[0], at).real(), x.shape[0]),
                  wrap(broadcast_at(index[1], at).real(), x.shape[1])};
    return x.at(from);
  };
  t.add(
      "index", "pairs", kMovable,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {4, 5}),
                    std::vector<Array>{random_indices(rng, {2, 3}, -4, 4),
                                       random_indices(rng, {3}, -5, 5)}};
      },
      [pick](const Args& a) {
        using arg = tenon::arg::index;
        Array out(array(a, arg::x).dtype, {2, 3});
        for_each_index(out.shape, [&](const Shape& at) {
          out.v[out.at(at)] =
              array(a, arg::x).v[pick(array(a, arg::x), arrays(a, arg::indices), at)];
        });
        return one(out);
      });
  t.add(
      "index", "rows", kMovable,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {4, 5}),
                    std::vector<Array>{random_indices(rng, {3}, -4, 4)}};
      },
      [wrap](const Args& a) {
        using arg = tenon::arg::index;
        Array out(array(a, arg::x).dtype, {3, 5});
        for_each_index(out.shape, [&](const Shape& at) {
          out.v[out.at(at)] = array(a, arg::x).v[array(a, arg::x).at(
              {wrap(arrays(a, arg::indices)[0].re(static_cast<size_t>(at[0])), 4), at[1]})];
        });
        return one(out);
      });
  for (bool accumulate : {false, true})
    t.add(
         "index_put", accumulate ? "accumulate" : "replace", kReals,
         [=](DType dtype, Rng& rng) {
           Array rows =
               accumulate ? random_indices(rng, {6}, 0, 4) : permuted_indices(rng, {4}, 0, 4);
           int64_t n = rows.shape[0];
           return Args{random_array(rng, dtype, {4, 5}),
                       std::vector<Array>{rows, random_indices(rng, {n}, 0, 5)},
                       random_array(rng, dtype, {n}), accumulate};
         },
         [=](const Args& a) {
           using arg = tenon::arg::index_put;
           Array out = array(a, arg::x);
           for (size_t i = 0; i < array(a, arg::values).size(); ++i) {
             size_t at = out.at({static_cast<int64_t>(arrays(a, arg::indices)[0].re(i)),
                                 static_cast<int64_t>(arrays(a, arg::indices)[1].re(i))});
             out.v[at] =
                 accumulate ? out.v[at] + array(a, arg::values).v[i] : array(a, arg::values).v[i];
           }
           return one(out);
         })
        .tolerance = 8;
}

void add_slices(Table& t) {
  const auto slice = [&](const char* name, int64_t dim, int64_t start, int64_t end, int64_t step) {
    const Shape whole = {3, 7, 2};
    Shape part = whole;
    part[static_cast<size_t>(dim)] = (end - start - 1) / step + 1;
    t.add(
        "slice_scatter", name, kMovable,
        [=](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, whole),
                      random_array(rng, dtype, part),
                      dim,
                      start,
                      end,
                      step};
        },
        [=](const Args& a) {
          const Array& src = array(a, arg::slice_scatter::src);
          Array out = array(a, arg::slice_scatter::x);
          for_each_index(part, [&](const Shape& at) {
            Shape to = at;
            int64_t& moved = to[static_cast<size_t>(dim)];
            moved = start + step * moved;
            out.v[out.at(to)] = src.v[src.at(at)];
          });
          return one(out);
        });
  };
  slice("every other of dim 1", 1, 1, 6, 2);
  slice("a stretch of dim 1", 1, 2, 6, 1);
  slice("the last of dim 2", 2, 1, 2, 1);
  slice("rows", 0, 1, 3, 1);
  t.add(
       "as_strided_scatter", "diagonal", kMovable,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {4, 4}), random_array(rng, dtype, {4}), Shape{4},
                     Shape{5}, int64_t{0}};
       },
       [](const Args& a) {
         Array out = array(a, arg::as_strided_scatter::x);
         for (int64_t i = 0; i < 4; ++i)
           out.v[out.at({i, i})] = array(a, arg::as_strided_scatter::src).v[static_cast<size_t>(i)];
         return one(out);
       })
      .layouts = false;
}

}  // namespace

void add_index_samples(Table& table) {
  add_gathers(table);
  add_rows(table);
  add_advanced(table);
  add_slices(table);
}

}  // namespace tenon::conformance
