// View ops, compared with element-by-element references, over tensors of various memory layouts.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "tenon/tenon.hpp"

namespace {

using tenon::Tensor;
using Index = std::vector<int64_t>;
using Value = std::function<double(const Index&)>;

// A tensor, and a function that gives its elements.
struct Sample {
  std::string name;
  Tensor x;
  Index shape;
  Value at;
};

Tensor counting(const Index& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0.0);
  return tenon::tensor(values, shape);
}

double row_major(const Index& index, const Index& shape) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return static_cast<double>(at);
}

// Strided tensors made through from_blob, so that the references do not rely on the ops under test.
Sample strided(std::string name, const Index& shape, const Index& strides, int64_t offset) {
  static std::vector<double> memory = [] {
    std::vector<double> values(4096);
    std::iota(values.begin(), values.end(), 0.0);
    return values;
  }();
  const Tensor x = tenon::from_blob(memory.data() + offset, tenon::DType::F64, shape, strides);
  return {std::move(name), x, shape, [=](const Index& index) {
            int64_t at = offset;
            for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
            return static_cast<double>(at);
          }};
}

std::vector<Sample> samples() {
  return {
      strided("contiguous", {2, 3, 4}, {12, 4, 1}, 0),
      strided("transposed", {2, 3, 4}, {1, 2, 6}, 0),
      strided("sliced", {2, 3, 4}, {40, 10, 2}, 7),
      strided("broadcast", {2, 3, 4}, {0, 1, 0}, 5),
      strided("reversed", {2, 3, 4}, {-12, 4, -1}, 100),
      strided("with ones", {2, 1, 4}, {7, 99, 1}, 0),
      strided("empty", {2, 0, 4}, {0, 4, 1}, 0),
      strided("padded rows", {2, 3, 4}, {15, 5, 1}, 3),
  };
}

void expect_elements(const Tensor& y, const Index& shape, const Value& at,
                     const std::string& what) {
  ASSERT_EQ(Index(y.shape().begin(), y.shape().end()), shape) << what;
  const auto found = y.to_vector<double>();
  Index index(shape.size(), 0);
  for (const double value : found) {
    ASSERT_EQ(value, at(index)) << what << " at " << testing::PrintToString(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

std::string message_of(const std::function<void()>& body, uint32_t code = TN_INVALID_ARGUMENT) {
  try {
    body();
  } catch (const tenon::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

Index unravel(int64_t at, const Index& shape) {
  Index index(shape.size());
  for (size_t d = shape.size(); d-- > 0; at /= shape[d]) index[d] = at % shape[d];
  return index;
}

TEST(View, Reshape) {
  for (const Sample& s : samples()) {
    const int64_t n = s.x.numel();
    for (const Index& shape :
         {Index{n}, Index{1, n, 1}, Index{4, n / 4}, Index{2, n / 2}, Index{2, n / 8, 4}}) {
      if (std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()) != n)
        continue;
      const auto at = [&](const Index& index) {
        return s.at(unravel(static_cast<int64_t>(row_major(index, shape)), s.shape));
      };
      expect_elements(tenon::reshape(s.x, shape), shape, at, "reshape of " + s.name);
    }
  }
}

TEST(View, ReshapeSharesWhereStridesAllow) {
  const auto all = samples();
  EXPECT_TRUE(tenon::reshape(all[0].x, {6, 4}).shares_storage(all[0].x));
  EXPECT_TRUE(tenon::reshape(all[7].x, {6, 2, 2}).shares_storage(all[7].x));
  EXPECT_FALSE(tenon::reshape(all[1].x, {24}).shares_storage(all[1].x));
  EXPECT_TRUE(tenon::reshape(all[1].x, {2, 3, 2, 2}).shares_storage(all[1].x));
  EXPECT_FALSE(tenon::flatten(all[2].x).shares_storage(all[2].x));
  EXPECT_TRUE(tenon::reshape(all[5].x, {1, 2, 1, 1, 4}).shares_storage(all[5].x));
}

TEST(View, ReshapeInfersOneSize) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(tenon::reshape(x, {-1, 6}).shape(0), 4);
  EXPECT_EQ(tenon::reshape(counting({0, 3}), {-1, 3}).shape(0), 0);
  EXPECT_EQ(tenon::reshape(counting({}), {1, 1}).ndim(), 2);
  EXPECT_EQ(tenon::reshape(counting({1}), tenon::IntList()).ndim(), 0);
  EXPECT_EQ(message_of([&] {
              tenon::reshape(x, {5, 5});
            }),
            "[reshape] a tensor of shape (2, 3, 4) (24 elements) cannot have shape (5, 5)");
  EXPECT_EQ(message_of([&] {
              tenon::reshape(x, {-1, -1});
            }),
            "[reshape] shape (-1, -1) has more than one -1");
  EXPECT_EQ(message_of([&] {
              tenon::reshape(x, {-2, 12});
            }),
            "[reshape] shape (-2, 12) has a negative size");
  EXPECT_NE(message_of([&] {
              tenon::reshape(counting({0, 3}), {-1, 0});
            }).find("could be any size"),
            std::string::npos);
}

TEST(View, PermuteAndTranspose) {
  for (const Sample& s : samples()) {
    const auto at = [&](const Index& i) { return s.at({i[1], i[2], i[0]}); };
    expect_elements(tenon::permute(s.x, {2, 0, 1}), {s.shape[2], s.shape[0], s.shape[1]}, at,
                    "permute of " + s.name);
    const auto swapped = [&](const Index& i) { return s.at({i[2], i[1], i[0]}); };
    expect_elements(tenon::transpose(s.x, 0, -1), {s.shape[2], s.shape[1], s.shape[0]}, swapped,
                    "transpose of " + s.name);
  }
  EXPECT_EQ(message_of([] {
              tenon::permute(counting({2, 3}), {0, 0});
            }),
            "[permute] dim 0 is given twice");
  EXPECT_EQ(message_of([] {
              tenon::permute(counting({2, 3}), {0});
            }),
            "[permute] 1 dims given for a tensor of rank 2");
  EXPECT_EQ(message_of(
                [] {
                  tenon::transpose(counting({2, 3}), 0, 3);
                },
                TN_OUT_OF_RANGE),
            "[transpose] dim 3 out of range for a tensor of rank 2");
}

TEST(View, Expand) {
  const Sample s = strided("row", {3, 1}, {5, 99}, 2);
  const auto at = [&](const Index& i) { return s.at({i[1], 0}); };
  expect_elements(tenon::expand(s.x, {2, 3, 4}), {2, 3, 4}, at, "expand");
  expect_elements(tenon::expand(s.x, {2, -1, 4}), {2, 3, 4}, at, "expand with -1");
  expect_elements(
      tenon::expand(counting({}), {2}), {2}, [](const Index&) { return 0.0; }, "expand of rank 0");
  EXPECT_EQ(tenon::expand(counting({1, 3}), {0, 3}).numel(), 0);
  EXPECT_EQ(message_of([] {
              tenon::expand(counting({2, 3}), {4, 3});
            }),
            "[expand] shape (2, 3) does not expand to (4, 3)");
  EXPECT_EQ(message_of([] {
              tenon::expand(counting({2, 3}), {3});
            }),
            "[expand] shape (2, 3) does not expand to (3,)");
  EXPECT_EQ(message_of([] {
              tenon::expand(counting({3}), {-1, 3});
            }),
            "[expand] shape (3,) does not expand to (-1, 3)");
}

TEST(View, SqueezeAndUnsqueeze) {
  const Sample s = strided("ones", {1, 2, 1, 3}, {99, 3, 50, 1}, 1);
  expect_elements(
      tenon::squeeze(s.x), {2, 3},
      [&](const Index& i) {
        return s.at({0, i[0], 0, i[1]});
      },
      "squeeze");
  expect_elements(
      tenon::squeeze(s.x, {-2}), {1, 2, 3},
      [&](const Index& i) {
        return s.at({i[0], i[1], 0, i[2]});
      },
      "squeeze of a dim");
  EXPECT_EQ(message_of([&] { tenon::squeeze(s.x, {1}); }), "[squeeze] dim 1 has size 2, not 1");
  for (const Sample& t : samples())
    for (int64_t dim = -4; dim <= 3; ++dim) {
      Index shape = t.shape;
      const size_t where = static_cast<size_t>(dim < 0 ? dim + 4 : dim);
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(where), 1);
      const auto at = [&](Index i) {
        i.erase(i.begin() + static_cast<std::ptrdiff_t>(where));
        return t.at(i);
      };
      expect_elements(tenon::unsqueeze(t.x, dim), shape, at, "unsqueeze of " + t.name);
    }
}

TEST(View, Flatten) {
  for (const Sample& s : samples()) {
    const Index shape = {s.shape[0], s.shape[1] * s.shape[2]};
    const auto at = [&](const Index& i) {
      return s.at({i[0], i[1] / s.shape[2], i[1] % s.shape[2]});
    };
    expect_elements(tenon::flatten(s.x, 1), shape, at, "flatten of " + s.name);
  }
  EXPECT_EQ(tenon::flatten(counting({})).ndim(), 1);
  EXPECT_EQ(message_of([] {
              tenon::flatten(counting({2, 3}), 1, 0);
            }),
            "[flatten] start 1 is after end 0");
}

// Python's own rules, written out independently: the indices that a slice visits.
Index visited(int64_t n, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  Index places;
  const auto clip = [&](int64_t at, int64_t low, int64_t high) {
    return std::min(std::max(at, low), high);
  };
  if (step > 0) {
    int64_t from = start.value_or(0), to = end.value_or(n);
    from = clip(from < 0 ? from + n : from, 0, n);
    to = clip(to < 0 ? to + n : to, 0, n);
    for (int64_t i = from; i < to; i += step) places.push_back(i);
  } else {
    int64_t from = start.value_or(n - 1);
    from = clip(from < 0 ? from + n : from, -1, n - 1);
    int64_t to = end.has_value() ? clip(*end < 0 ? *end + n : *end, -1, n - 1) : -1;
    for (int64_t i = from; i > to; i += step) places.push_back(i);
  }
  return places;
}

TEST(View, Slice) {
  const std::optional<int64_t> bounds[] = {{}, -9, -3, -1, 0, 1, 2, 3, 4, 9};
  for (const Sample& s : samples())
    for (int64_t dim = 0; dim < 3; ++dim)
      for (const auto start : bounds)
        for (const auto end : bounds)
          for (const int64_t step : {1, 2, 3, -1, -2}) {
            const auto places = visited(s.shape[dim], start, end, step);
            Index shape = s.shape;
            shape[dim] = static_cast<int64_t>(places.size());
            const auto at = [&](Index i) {
              i[dim] = places[i[dim]];
              return s.at(i);
            };
            expect_elements(tenon::slice(s.x, dim, start, end, step), shape, at,
                            "slice of " + s.name);
          }
  EXPECT_EQ(message_of([] { tenon::slice(counting({2}), 0, 0, 2, 0); }), "[slice] step 0");
}

TEST(View, Select) {
  for (const Sample& s : samples()) {
    if (s.x.numel() == 0) continue;
    const auto at = [&](const Index& i) { return s.at({i[0], i[1], 3}); };
    expect_elements(tenon::select(s.x, -1, -1), {s.shape[0], s.shape[1]}, at,
                    "select of " + s.name);
  }
  EXPECT_EQ(message_of(
                [] {
                  tenon::select(counting({2, 3}), 1, 3);
                },
                TN_OUT_OF_RANGE),
            "[select] index 3 out of range for dim 1 of size 3");
}

TEST(View, Flip) {
  for (const Sample& s : samples()) {
    const auto all = [&](const Index& i) {
      return s.at({s.shape[0] - 1 - i[0], s.shape[1] - 1 - i[1], s.shape[2] - 1 - i[2]});
    };
    expect_elements(tenon::flip(s.x), s.shape, all, "flip of " + s.name);
    const auto one = [&](const Index& i) { return s.at({i[0], s.shape[1] - 1 - i[1], i[2]}); };
    expect_elements(tenon::flip(s.x, {-2}), s.shape, one, "flip of a dim of " + s.name);
    EXPECT_TRUE(tenon::flip(s.x).shares_storage(s.x));
  }
}

TEST(View, Diagonal) {
  for (const Sample& s : samples())
    for (int64_t k = -3; k <= 4; ++k) {
      const int64_t rows = s.shape[0], columns = s.shape[2];
      const int64_t count =
          std::max<int64_t>(0, k >= 0 ? std::min(rows, columns - k) : std::min(rows + k, columns));
      const auto at = [&](const Index& i) {
        return s.at({i[1] - std::min<int64_t>(k, 0), i[0], i[1] + std::max<int64_t>(k, 0)});
      };
      expect_elements(tenon::diagonal(s.x, k, 0, 2), {s.shape[1], count}, at,
                      "diagonal of " + s.name);
    }
  EXPECT_EQ(message_of([] {
              tenon::diagonal(counting({2, 2}), 0, 1, 1);
            }),
            "[diagonal] dim0 and dim1 are both 1");
  EXPECT_EQ(message_of([] { tenon::diagonal(counting({2})); }),
            "[diagonal] rank 2 or more is needed, not 1");
}

// Strides count row-major elements, whatever the layout of x.
TEST(View, AsStrided) {
  for (const Sample& s : samples()) {
    if (s.x.numel() != 24) continue;
    const auto at = [&](const Index& i) { return s.at(unravel(1 + 2 * i[0] + 3 * i[1], s.shape)); };
    expect_elements(tenon::as_strided(s.x, {3, 4}, {2, 3}, 1), {3, 4}, at,
                    "as_strided of " + s.name);
  }
  const Tensor x = counting({4});
  EXPECT_TRUE(tenon::as_strided(x, {2, 2}, {1, 1}).shares_storage(x));
  EXPECT_EQ(tenon::as_strided(x, {2}, {-3}, 3).to_vector<double>(), (std::vector<double>{3, 0}));
  EXPECT_EQ(message_of(
                [&] {
                  tenon::as_strided(x, {2, 2}, {3, 1}, 1);
                },
                TN_OUT_OF_RANGE),
            "[as_strided] shape (2, 2) with strides (3, 1) and offset 1 reaches outside the 4 "
            "elements of the tensor");
  message_of([&] { tenon::as_strided(x, {2}, {-1}); }, TN_OUT_OF_RANGE);
  EXPECT_EQ(message_of([&] {
              tenon::as_strided(x, {2}, {1, 1});
            }),
            "[as_strided] 1 sizes and 2 strides");
  message_of(
      [&] {
        tenon::as_strided(x, {int64_t{1} << 62, 1}, {int64_t{1} << 62, 1});
      },
      TN_OUT_OF_RANGE);
}

TEST(View, RankLimits) {
  Index many(16, 1);
  const Tensor x = tenon::reshape(counting({1}), many);
  EXPECT_EQ(x.ndim(), 16);
  EXPECT_EQ(message_of([&] { tenon::unsqueeze(x, 0); }),
            "[unsqueeze] a tensor has at most 16 dims");
  EXPECT_EQ(tenon::squeeze(x).ndim(), 0);
  EXPECT_EQ(tenon::flip(x).ndim(), 16);
}

}  // namespace
