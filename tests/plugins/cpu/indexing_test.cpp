// Indexing, joining, sorting and searching, compared with plain loops.
#include <algorithm>
#include <map>
#include <numeric>

#include "layouts.hpp"

namespace {

using namespace reference;
using tenon::DType;
using tenon::Tensor;

Shape unravel(int64_t i, const Shape& shape) {
  Shape at(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d]) at[d] = i % shape[d];
  return at;
}
int64_t ravel(const Shape& at, const Shape& shape) {
  int64_t i = 0;
  for (size_t d = 0; d < shape.size(); ++d) i = i * shape[d] + at[d];
  return i;
}
Array indices(Shape shape, int64_t n, uint32_t seed) {
  Array a(std::move(shape));
  std::mt19937 engine(seed);
  for (double& x : a.v) x = static_cast<double>(engine() % static_cast<uint64_t>(n));
  return a;
}

class Index : public testing::TestWithParam<DType> {};

TEST_P(Index, GatherAndScatter) {
  const DType dtype = GetParam();
  for (const auto& [layout, x] : layouts(dtype, 71, 0, 9)) {
    const Array a = array_of(x);
    for (size_t dim = 0; dim < 3; ++dim) {
      Shape shape = {3, 4, 5};
      shape[dim] = 7;
      const Array at = indices(shape, a.shape[dim], 72),
                  src = array_of(to_tensor(random_array(shape, 73, 0, 9), dtype));
      const Tensor index = to_tensor(at, DType::I64), values = to_tensor(src, dtype);
      Array gathered(shape), scattered = a, added = a;
      for (int64_t i = 0; i < count(shape); ++i) {
        Shape to = unravel(i, shape);
        to[dim] = static_cast<int64_t>(at[i]);
        const int64_t k = ravel(to, a.shape);
        gathered[i] = a[k];
        scattered[k] = src[i];
        added[k] += src[i];
      }
      const auto d = static_cast<int64_t>(dim);
      expect_close(tenon::gather(x, d, index), gathered, 0, "gather " + layout);
      expect_close(tenon::gather(x, d - 3, index.to(DType::I32)), gathered, 0,
                   "gather by i32 " + layout);
      expect_close(tenon::scatter(x, d, index, values), scattered, 0, "scatter " + layout);
      expect_close(tenon::scatter_add(x, d, index, values), added, tolerance(dtype),
                   "scatter_add " + layout);
    }
  }
}

TEST_P(Index, SelectAddEmbed) {
  const DType dtype = GetParam();
  for (const auto& [layout, x] : layouts(dtype, 74, 0, 9)) {
    const Array a = array_of(x);
    for (size_t dim = 0; dim < 3; ++dim) {
      Array at = indices({8}, a.shape[dim], 75);
      at[3] -= static_cast<double>(a.shape[dim]);  // counts from the end
      Shape shape = a.shape;
      shape[dim] = 8;
      const Array src = array_of(to_tensor(random_array(shape, 76, 0, 9), dtype));
      Array selected(shape), added = a;
      for (int64_t i = 0; i < count(shape); ++i) {
        Shape from = unravel(i, shape);
        int64_t& k = from[dim];
        k = static_cast<int64_t>(at[k]);
        if (k < 0) k += a.shape[dim];
        selected[i] = a[ravel(from, a.shape)];
        added[ravel(from, a.shape)] += src[i];
      }
      const Tensor index = to_tensor(at, DType::I64);
      const auto d = static_cast<int64_t>(dim);
      expect_close(tenon::index_select(x, d, index), selected, 0, "index_select " + layout);
      expect_close(tenon::index_add(x, d, index, to_tensor(src, dtype)), added, tolerance(dtype),
                   "index_add " + layout);
    }
  }
  for (int64_t width : {3, 200}) {
    const Tensor weight = to_tensor(random_array({11, width}, 77, 0, 4), dtype);
    const Array at = indices({4, 50}, 11, 78), w = array_of(weight);
    Array out({4, 50, width}), back({11, width});
    const Tensor g = to_tensor(random_array(out.shape, 79, 0, 1), dtype);
    const Array ag = array_of(g);
    for (int64_t i = 0; i < 200; ++i) {
      for (int64_t k = 0; k < width; ++k) {
        const auto row = static_cast<int64_t>(at[i]);
        out[i * width + k] = w[row * width + k];
        if (row != 5) back[row * width + k] += ag[i * width + k];
      }
    }
    const Tensor index = to_tensor(at, DType::I32);
    expect_close(tenon::embedding(weight, index, 5), out, 0, "embedding");
    expect_close(tenon::embedding_backward(g, index, 11, 5), back, 2 * tolerance(dtype),
                 "embedding_backward");
    expect_close(tenon::embedding_backward(g, index, 11, -6), back, 2 * tolerance(dtype),
                 "padding from the end");
  }
}

// An index that was expanded from one column moves whole rows, to the same bits as element by element.
TEST_P(Index, ReducesRowsAsElements) {
  const DType dtype = GetParam();
  constexpr int64_t kSizes[][2] = {{40, 1}, {40, 3}, {1200, 20}, {1100, 70}};
  for (const auto& [count, width] : kSizes) {
    const Tensor x = to_tensor(random_array({2, 9, width}, 97, 0, 9), dtype),
                 src = to_tensor(random_array({2, count, width}, 98, 0, 9), dtype),
                 column = to_tensor(indices({2, count, 1}, 8, 99), DType::I64);
    const Tensor rows = column.expand({2, count, width}), elements = rows.contiguous();
    for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"})
      for (const bool include_self : {true, false})
        expect_close(tenon::scatter_reduce(x, 1, rows, src, reduce, include_self),
                     array_of(tenon::scatter_reduce(x, 1, elements, src, reduce, include_self)), 0,
                     reduce);
    expect_close(tenon::scatter_add(x, 1, rows, src),
                 array_of(tenon::scatter_add(x, 1, elements, src)), 0, "scatter_add");
  }
}

// One index tensor for each dimension, or none; the reference computes every element of the result.
void check_index(const Tensor& x, const std::vector<Array>& at, const std::vector<bool>& given,
                 const Shape& broadcast, size_t place, const std::string& what) {
  const Array a = array_of(x);
  Shape kept, shape;
  for (size_t d = 0; d < 3; ++d)
    if (!given[d]) kept.push_back(a.shape[d]);
  shape.assign(kept.begin(), kept.begin() + static_cast<int64_t>(place));
  shape.insert(shape.end(), broadcast.begin(), broadcast.end());
  shape.insert(shape.end(), kept.begin() + static_cast<int64_t>(place), kept.end());
  const Tensor values = to_tensor(random_array(shape, 81, 0, 9), x.dtype());
  const Array v = array_of(values);
  Array want(shape), put = a, added = a;
  for (int64_t i = 0; i < count(shape); ++i) {
    const Shape to = unravel(i, shape);
    Shape from(3);
    size_t k = 0;
    for (size_t d = 0; d < 3; ++d) {
      if (!given[d]) {
        from[d] = to[k < place ? k : k + broadcast.size()];
        ++k;
        continue;
      }
      Shape own(at[d].shape.size());
      for (size_t e = 0; e < own.size(); ++e) {
        const size_t b = broadcast.size() - own.size() + e;
        own[e] = at[d].shape[e] == 1 ? 0 : to[place + b];
      }
      const auto index = static_cast<int64_t>(at[d][ravel(own, at[d].shape)]);
      from[d] = index < 0 ? index + a.shape[d] : index;
    }
    want[i] = a[ravel(from, a.shape)];
    put[ravel(from, a.shape)] = v[i];
    added[ravel(from, a.shape)] += v[i];
  }
  std::vector<Tensor> list;
  for (size_t d = 0; d < 3; ++d) list.push_back(given[d] ? to_tensor(at[d], DType::I64) : Tensor());
  expect_close(tenon::index(x, list), want, 0, "index " + what);
  expect_close(tenon::index_put(x, list, values), put, 0, "index_put " + what);
  expect_close(tenon::index_put(x, list, values, true), added, 4 * tolerance(x.dtype()),
               "accumulated " + what);
}

TEST_P(Index, Advanced) {
  for (const auto& [layout, x] : layouts(GetParam(), 82, 0, 9)) {
    Array rows = indices({2, 3}, 4, 83), cols = indices({3}, 5, 84), deep = indices({2, 1}, 6, 85);
    rows[1] -= 4;
    check_index(x, {rows, {}, {}}, {true, false, false}, {2, 3}, 0, "rows " + layout);
    check_index(x, {{}, cols, {}}, {false, true, false}, {3}, 1, "middle " + layout);
    check_index(x, {{}, cols, deep}, {false, true, true}, {2, 3}, 1, "two last " + layout);
    check_index(x, {rows, {}, deep}, {true, false, true}, {2, 3}, 0, "apart " + layout);
    check_index(x, {rows, cols, deep}, {true, true, true}, {2, 3}, 0, "all " + layout);
  }
}

TEST_P(Index, MasksSelectAndPut) {
  for (const auto& [layout, x] : layouts(GetParam(), 86, 0, 9)) {
    const Array a = array_of(x), bits = indices({4, 5, 6}, 2, 87), row_bits = indices({4}, 2, 88);
    const Tensor mask = to_tensor(bits, DType::Bool), rows = to_tensor(row_bits, DType::Bool);
    Array chosen({0}), put = a;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < 120; ++i) {
      if (bits[i] == 0) continue;
      chosen.v.push_back(a[i]);
      put[i] = 3;
      for (int64_t k : unravel(i, a.shape)) positions.push_back(k);
    }
    chosen.shape = {static_cast<int64_t>(chosen.v.size())};
    expect_close(tenon::index(x, {mask}), chosen, 0, "mask " + layout);
    expect_close(tenon::masked_select(x, mask), chosen, 0, "masked_select " + layout);
    expect_close(tenon::index_put(x, {mask}, tenon::full({}, 3, x.dtype())), put, 0,
                 "put by mask " + layout);
    EXPECT_EQ(tenon::nonzero(mask).to_vector<int64_t>(), positions);
    Array by_row({0, 5, 6}), by_row_select({0});
    for (int64_t i = 0; i < 120; ++i)
      if (row_bits[i / 30] != 0) by_row.v.push_back(a[i]);
    by_row.shape[0] = static_cast<int64_t>(by_row.v.size()) / 30;
    expect_close(tenon::index(x, {rows}), by_row, 0, "row mask " + layout);
    by_row_select.v = by_row.v;
    by_row_select.shape = {static_cast<int64_t>(by_row.v.size())};
    expect_close(tenon::masked_select(x, rows.reshape({4, 1, 1})), by_row_select, 0,
                 "broadcast mask " + layout);
  }
}

// Parts of a value or two each, in blocks and vectors.
TEST_P(Index, StackAlongTheLastDimension) {
  const DType dtype = GetParam();
  const Shape shape = {300, 2};
  for (const int64_t count_of_parts : {2, 3, 4})
    for (const int64_t dim : {1, 2}) {
      std::vector<Tensor> xs;
      std::vector<Array> parts;
      for (int64_t k = 0; k < count_of_parts; ++k) {
        xs.push_back(to_tensor(random_array(shape, 200 + static_cast<uint32_t>(k), 0, 9), dtype));
        parts.push_back(array_of(xs.back()));
      }
      Array want(dim == 1 ? Shape{300, count_of_parts, 2} : Shape{300, 2, count_of_parts});
      for (int64_t i = 0; i < count(want.shape); ++i) {
        const Shape at = unravel(i, want.shape);
        const int64_t other = at[dim == 1 ? 2 : 1];
        want[i] = parts[static_cast<size_t>(at[static_cast<size_t>(dim)])][at[0] * 2 + other];
      }
      expect_close(tenon::stack(xs, dim), want, 0, "stack");
    }
}

TEST_P(Index, ConcatRollAndParts) {
  const DType dtype = GetParam();
  const auto all = layouts(dtype, 91, 0, 9);
  for (size_t dim = 0; dim < 3; ++dim) {
    std::vector<Tensor> xs;
    for (const auto& [layout, x] : all) xs.push_back(x);
    xs.push_back(tenon::zeros(dim == 0   ? Shape{0, 5, 6}
                              : dim == 1 ? Shape{4, 0, 6}
                                         : Shape{4, 5, 0},
                              dtype));
    Array want({4, 5, 6});
    want.shape[dim] *= static_cast<int64_t>(all.size());
    want.v.resize(static_cast<size_t>(count(want.shape)));
    for (int64_t i = 0; i < count(want.shape); ++i) {
      Shape at = unravel(i, want.shape);
      const int64_t size = Shape{4, 5, 6}[dim], which = at[dim] / size;
      at[dim] %= size;
      want[i] = array_of(xs[static_cast<size_t>(which)])[ravel(at, {4, 5, 6})];
    }
    expect_close(tenon::concat(xs, static_cast<int64_t>(dim)), want, 0, "concat");
  }
  for (const auto& [layout, x] : all) {
    const Array a = array_of(x);
    Array flat(a.shape), two(a.shape), sliced = a;
    const Array part = array_of(to_tensor(random_array({4, 2, 6}, 92, 0, 9), dtype));
    for (int64_t i = 0; i < 120; ++i) {
      flat[(i + 17) % 120] = a[i];
      const Shape at = unravel(i, a.shape);
      two[ravel({(at[0] + 3) % 4, at[1], (at[2] + 5) % 6}, a.shape)] = a[i];
      if (at[1] == 1 || at[1] == 3) sliced[i] = part[ravel({at[0], at[1] / 2, at[2]}, {4, 2, 6})];
    }
    expect_close(tenon::roll(x, {17}), flat, 0, "roll " + layout);
    expect_close(tenon::roll(x, {3, -1}, {{0, -1}}), two, 0, "roll two " + layout);
    expect_close(tenon::slice_scatter(x, to_tensor(part, dtype), 1, 1, -1, 2), sliced, 0,
                 "slice_scatter " + layout);
    Array strided = a;
    for (int64_t i = 0; i < 10; ++i) strided[3 + i * 11] = part[i];
    const Tensor src = to_tensor(part, dtype).reshape({48}).slice(0, 0, 10);
    expect_close(tenon::as_strided_scatter(x, src, {10}, {11}, 3), strided, 0,
                 "as_strided_scatter " + layout);
  }
}
INSTANTIATE_TEST_SUITE_P(Dtypes, Index,
                         testing::Values(DType::F32, DType::F64, DType::F16, DType::BF16,
                                         DType::I64, DType::U8));

TEST(IndexErrors, NameOpIndexAndPlace) {
  const Tensor x = tenon::zeros({2, 5});
  const auto at = [](std::initializer_list<int64_t> list) { return tenon::tensor(list); };
  EXPECT_EQ(error_of([&] {
              tenon::gather(x, 1, tenon::tensor({{0l, 1l}, {2l, 7l}}));
            }),
            "[gather] index 7 at position 3 out of range for dimension 1 of size 5");
  EXPECT_NE(
      error_of([&] { tenon::gather(x, 1, tenon::tensor({{-1l}})); }).find("[gather] index -1"),
      std::string::npos);
  EXPECT_NE(error_of([&] {
              tenon::scatter(x, 1, tenon::tensor({{9l}}), tenon::zeros({1, 1}));
            }).find("[scatter] index 9"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tenon::index_select(x, 1, at({0, -6}));
            }).find("[index_select] index -6 at position 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { tenon::index(x, {at({2})}); }).find("[index] index 2 at position 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tenon::index_put(x, {at({-3})}, tenon::tensor(1.f));
            }).find("[index_put] index -3"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tenon::embedding(x, at({0, 2}));
            }).find("[embedding] index 2 at position 1"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { tenon::index(x, {tenon::zeros({3}, DType::Bool)}); }).find("[index] mask (3"),
      std::string::npos);
  EXPECT_NE(error_of([&] { tenon::topk(x, 6); }).find("[topk] k 6"), std::string::npos);
  EXPECT_NE(error_of([&] {
              tenon::concat({x, tenon::zeros({3, 4})}, 0);
            }).find("[concat]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tenon::as_strided_scatter(x, tenon::zeros({4}), {4}, {3}, 2);
            }).find("[as_strided_scatter]"),
            std::string::npos);
}

TEST(IndexThreads, ScatterIsTheSameForEveryRun) {
  const Array at = indices({100000}, 50, 95);
  const Tensor index = to_tensor(at, DType::I64),
               src = to_tensor(random_array({100000}, 96), DType::F32);
  const Tensor x = tenon::zeros({50});
  const std::vector<float> first = tenon::scatter_add(x, 0, index, src).to_vector<float>();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(tenon::scatter_add(x, 0, index, src).to_vector<float>(), first);
  EXPECT_EQ(tenon::index_add(x, 0, index, src).to_vector<float>(), first);
  EXPECT_EQ(tenon::index_put(x, {index}, src, true).to_vector<float>(), first);
}

// Eight bytes of a mask at a time that are all 0 or all 1.
TEST(Masks, Runs) {
  std::vector<uint8_t> bytes;
  for (uint8_t length = 1; bytes.size() < 600; length = static_cast<uint8_t>(length % 29 + 4))
    bytes.insert(bytes.end(), length, bytes.size() % 3 == 0 ? 0 : 1);
  bytes.resize(600);
  const Tensor mask = tenon::from_blob(bytes.data(), DType::Bool, {3, 200}),
               x = tenon::arange(600).reshape({3, 200});
  std::vector<int64_t> chosen, positions;
  for (int64_t i = 0; i < 600; ++i)
    if (bytes[static_cast<size_t>(i)] != 0)
      chosen.push_back(i), positions.push_back(i / 200), positions.push_back(i % 200);
  EXPECT_EQ(tenon::masked_select(x, mask).to_vector<int64_t>(), chosen);
  EXPECT_EQ(tenon::nonzero(mask).to_vector<int64_t>(), positions);
  const Tensor spaced = tenon::arange(1200).reshape({3, 400}).slice(1, {}, {}, 2);
  for (int64_t& i : chosen) i *= 2;
  EXPECT_EQ(tenon::masked_select(spaced, mask).to_vector<int64_t>(), chosen);
}

class Sorted : public testing::TestWithParam<DType> {};

TEST_P(Sorted, SortTopkUniqueSearch) {
  const DType dtype = GetParam();
  for (const int64_t n : {1, 5, 200, 257, 3000}) {
    const Tensor x = to_tensor(random_array({3, n}, 101, 0, 60), dtype);
    const Array a = array_of(x);
    for (const bool down : {false, true}) {
      const auto got = tenon::sort(x, 1, down);
      const std::vector<int64_t> got_at = got.indices.to_vector<int64_t>();
      Array want({3, n});
      std::vector<int64_t> want_at;
      for (int64_t r = 0; r < 3; ++r) {
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
          return down ? a[r * n + i] > a[r * n + j] : a[r * n + i] < a[r * n + j];
        });
        for (int64_t i = 0; i < n; ++i) want[r * n + i] = a[r * n + order[static_cast<size_t>(i)]];
        want_at.insert(want_at.end(), order.begin(), order.end());
      }
      expect_close(got.values, want, 0, "sort");
      EXPECT_EQ(got_at, want_at);
      for (const int64_t k : {int64_t{0}, int64_t{1}, (n + 1) / 2, n}) {
        const auto top = tenon::topk(x, k, 1, down);
        Array best({3, k});
        for (int64_t i = 0; i < 3 * k; ++i) best[i] = want[i / k * n + i % k];
        expect_close(top.values, best, 0, "topk");
        const std::vector<int64_t> top_at = top.indices.to_vector<int64_t>();
        for (int64_t i = 0; i < 3 * k; ++i)
          EXPECT_EQ(top_at[static_cast<size_t>(i)],
                    want_at[static_cast<size_t>(i / k * n + i % k)]);
      }
    }
    std::map<double, std::pair<int64_t, int64_t>> seen;
    for (int64_t i = 0; i < 3 * n; ++i) {
      seen.try_emplace(a[i], i, 0);
      ++seen[a[i]].second;
    }
    const auto unique = tenon::unique(x);
    Array values({static_cast<int64_t>(seen.size())}), first(values.shape), counts(values.shape),
        inverse(a.shape);
    int64_t u = 0;
    for (const auto& [value, place] : seen) {
      values[u] = value;
      first[u] = static_cast<double>(place.first);
      counts[u++] = static_cast<double>(place.second);
    }
    for (int64_t i = 0; i < 3 * n; ++i)
      inverse[i] = static_cast<double>(std::lower_bound(values.v.begin(), values.v.end(), a[i]) -
                                       values.v.begin());
    expect_close(unique.values, values, 0, "unique");
    expect_close(unique.indices, first, 0, "unique indices");
    expect_close(unique.counts, counts, 0, "unique counts");
    expect_close(unique.inverse, inverse, 0, "unique inverse");
    Array left(a.shape), right(a.shape);
    for (int64_t i = 0; i < 3 * n; ++i) {
      left[i] = inverse[i];
      right[i] = inverse[i] + 1;
    }
    expect_close(tenon::searchsorted(unique.values, x), left, 0, "searchsorted");
    expect_close(tenon::searchsorted(unique.values, x, true), right, 0, "searchsorted right");
  }
}
INSTANTIATE_TEST_SUITE_P(Dtypes, Sorted,
                         testing::Values(DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8,
                                         DType::I32, DType::U64));

// Rows up to a few vectors are searched otherwise than longer ones.
TEST(Searchsorted, RowsOfEveryLength) {
  for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64, DType::U8})
    for (int64_t n = 0; n <= 70; ++n) {
      std::vector<double> row, values;
      for (int64_t i = 0; i < n; ++i) row.push_back(static_cast<double>((i - i % 2) * 3));
      for (int64_t i = 0; i < n + 7; ++i) values.push_back(static_cast<double>(i * 37 % 109));
      const Tensor sorted = tenon::tensor(row, {n}).to(dtype),
                   wanted = tenon::tensor(values).to(dtype);
      std::vector<int64_t> left, right;
      for (const double v : values) {
        left.push_back(std::lower_bound(row.begin(), row.end(), v) - row.begin());
        right.push_back(std::upper_bound(row.begin(), row.end(), v) - row.begin());
      }
      EXPECT_EQ(tenon::searchsorted(sorted, wanted).to_vector<int64_t>(), left) << n;
      EXPECT_EQ(tenon::searchsorted(sorted, wanted, true).to_vector<int64_t>(), right) << n;
    }
}

TEST(SortEdges, RowsOfEveryLengthAreStable) {
  std::mt19937 engine(75);
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::I64, DType::F64})
    for (int64_t n = 1; n <= 260; n += n < 140 ? 1 : 13) {
      std::vector<float> row(static_cast<size_t>(n));
      for (float& x : row) x = static_cast<float>(engine() % static_cast<unsigned>(n / 2 + 1));
      const Tensor x = tenon::tensor(row, {n}).to(dtype);
      for (const bool down : {false, true}) {
        std::vector<int64_t> order(row.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
          const float a = row[static_cast<size_t>(i)], b = row[static_cast<size_t>(j)];
          return down ? b < a : a < b;
        });
        EXPECT_EQ(tenon::sort(x, 0, down).indices.to_vector<int64_t>(), order) << n;
      }
    }
}

// Many short rows are sorted at once, one alone otherwise.
TEST(SortEdges, ShortRowsTogether) {
  std::mt19937 engine(76);
  for (const DType dtype : {DType::U8, DType::BF16, DType::F32, DType::I64, DType::F64})
    for (int64_t n = 1; n <= 18; ++n) {
      std::vector<float> numbers(static_cast<size_t>(37 * n));
      for (float& x : numbers) x = static_cast<float>(engine() % static_cast<unsigned>(n + 1));
      if (dtype != DType::U8 && dtype != DType::I64) numbers[3] = NAN;
      const Tensor x = tenon::tensor(numbers).reshape({37, n}).to(dtype);
      for (const bool down : {false, true}) {
        const auto all = tenon::sort(x, 1, down);
        for (int64_t r = 0; r < 37; ++r) {
          const auto alone = tenon::sort(x.select(0, r), 0, down);
          EXPECT_EQ(all.indices.select(0, r).to_vector<int64_t>(),
                    alone.indices.to_vector<int64_t>());
          EXPECT_TRUE(tenon::allclose(all.values.select(0, r).to(DType::F64),
                                      alone.values.to(DType::F64), 0, 0, true));
        }
      }
    }
}

TEST(SortEdges, NaNZeroAndSigns) {
  const float inf = INFINITY;
  const Tensor x = tenon::tensor({3.f, float(NAN), -inf, 0.f, -0.f, inf, -2.f, float(NAN)});
  const auto up = tenon::sort(x);
  EXPECT_EQ(up.indices.to_vector<int64_t>(), (std::vector<int64_t>{2, 6, 3, 4, 0, 5, 1, 7}));
  EXPECT_EQ(tenon::sort(x, 0, true).indices.to_vector<int64_t>(),
            (std::vector<int64_t>{1, 7, 5, 0, 3, 4, 6, 2}));
  EXPECT_EQ(tenon::unique(x).values.numel(), 7);  // 0 and -0 are one, NaN and NaN two
  EXPECT_EQ(tenon::searchsorted(tenon::tensor({1.f, 2.f}), tenon::tensor({float(NAN), 0.f}))
                .to_vector<int64_t>(),
            (std::vector<int64_t>{2, 0}));
  const Tensor rows = tenon::tensor({1.f, 3.f, 5.f, 2.f, 4.f, 6.f}).reshape({2, 3}),
               wanted = tenon::tensor({5.f, 0.f, 5.f, 2.f}).reshape({2, 2});
  EXPECT_EQ(tenon::searchsorted(rows, wanted).to_vector<int64_t>(),
            (std::vector<int64_t>{2, 0, 2, 0}));
  EXPECT_EQ(tenon::searchsorted(rows, wanted, true).to_vector<int64_t>(),
            (std::vector<int64_t>{3, 0, 2, 1}));
  EXPECT_EQ(tenon::searchsorted(tenon::zeros({0}), wanted).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(tenon::unique(tenon::zeros({0})).values.numel(), 0);
  EXPECT_EQ(tenon::nonzero(tenon::zeros({0, 3})).shape()[1], 2);
  EXPECT_EQ(tenon::sort(tenon::zeros({3, 0}), 1).values.numel(), 0);
  const std::vector<int8_t> sorted =
      tenon::sort(tenon::tensor(std::vector<int8_t>{5, -128, 127, 0})).values.to_vector<int8_t>();
  EXPECT_EQ(sorted, (std::vector<int8_t>{-128, 0, 5, 127}));
}

}  // namespace
