// Elementwise kernels over various layouts, and the meaning of integers, bools, comparisons, casts and selections.
#include "ops.hpp"

using namespace testing_ops;
using tenon::Slice;

namespace {

std::vector<float> ramp(int64_t n, float step = 0.25f) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<float>(i % 1000) - 500) * step;
  return values;
}
Tensor matrix(int64_t rows, int64_t columns) {
  return tenon::tensor(ramp(rows * columns), {rows, columns});
}
// The same elements in row-major order.
Tensor packed(const Tensor& x) { return tenon::tensor(x.to_vector<float>(), x.shape()); }

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(std::vector<int64_t>(a.shape().begin(), a.shape().end()),
            std::vector<int64_t>(b.shape().begin(), b.shape().end()));
  EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
}

// Every layout must give the same result as its packed copy.
void check_layout(const Tensor& x, const Tensor& y) {
  expect_same(tenon::exp(x), tenon::exp(packed(x)));
  expect_same(tenon::neg(x), tenon::neg(packed(x)));
  expect_same(x + y, packed(x) + packed(y));
  expect_same(x * 3.0, packed(x) * 3.0);
  expect_same(2.0 - x, 2.0 - packed(x));
  expect_same(tenon::clone(x), packed(x));
  expect_same(tenon::cast(tenon::cast(x, DType::F64), DType::F32), packed(x));
  expect_same(tenon::where(x < y, x, y), tenon::minimum(packed(x), packed(y)));
  expect_same(tenon::cast(tenon::cast(x, DType::BF16) + tenon::cast(y, DType::BF16), DType::F32),
              tenon::cast(tenon::cast(packed(x), DType::BF16) + tenon::cast(packed(y), DType::BF16),
                          DType::F32));
}

TEST(Layouts, Strided) {
  for (int64_t n : {1, 3, 16, 33, 200}) {
    const Tensor x = matrix(n, n), y = matrix(n, n) * 0.5;
    check_layout(x, y);
    check_layout(tenon::transpose(x, 0, 1), y);
    check_layout(tenon::transpose(x, 0, 1), tenon::transpose(y, 0, 1));
    check_layout(x[{Slice(0, n, 2)}], y[{Slice(0, n, 2)}]);
    check_layout(tenon::slice(x, 1, 0, n, 3), tenon::slice(y, 1, 0, n, 3));
    check_layout(tenon::flip(x, {0, 1}), y);
  }
}

TEST(Layouts, Broadcast) {
  const Tensor x = matrix(70, 130), row = matrix(1, 130), column = matrix(70, 1),
               one = tenon::tensor(2.5f);
  const auto check = [&](const Tensor& y) {
    expect_same(x + y, x + packed(tenon::expand(y, {70, 130})));
  };
  check(row);
  check(column);
  check(one);
  expect_same(column * row,
              packed(tenon::expand(column, {70, 130})) * packed(tenon::expand(row, {70, 130})));
  expect_same(tenon::exp(tenon::expand(row, {70, 130})),
              tenon::exp(packed(tenon::expand(row, {70, 130}))));
}

TEST(Layouts, BroadcastShortRowsOfManyDimensions) {
  const Tensor x = tenon::tensor(ramp(3 * 5 * 7 * 33), {3, 5, 7, 33});
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 5, 1, 33}, {3, 1, 7, 1}, {1, 5, 1, 1}, {3, 1, 1, 33}}) {
    int64_t n = 1;
    for (const int64_t size : shape) n *= size;
    const Tensor y = tenon::tensor(ramp(n), shape) * 9.0,
                 whole = packed(tenon::expand(y, x.shape()));
    for (const Tensor& narrow : {x, tenon::slice(x, 3, 1, 30)}) {
      const Tensor other = shape[3] == 1 ? y : tenon::slice(y, 3, 0, narrow.shape()[3]);
      const Tensor same = tenon::slice(whole, 3, 0, narrow.shape()[3]);
      expect_same(narrow - other, packed(narrow) - packed(same));
      expect_same(tenon::less(other, narrow).to(tenon::DType::F32),
                  tenon::less(packed(same), packed(narrow)).to(tenon::DType::F32));
    }
  }
}

TEST(Layouts, ManyDimensions) {
  const Tensor x = tenon::tensor(ramp(2 * 3 * 4 * 5 * 6), {2, 3, 4, 5, 6});
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{4, 3, 2, 1, 0}, {1, 0, 2, 4, 3}, {2, 4, 0, 1, 3}}) {
    const Tensor y = tenon::permute(x, order);
    check_layout(y, packed(y) * 0.5);
  }
}

TEST(Layouts, TilesOfTransposedInputs) {
  const Tensor x = tenon::tensor(ramp(3 * 45 * 70), {3, 45, 70}),
               y = tenon::tensor(ramp(3 * 70 * 45), {3, 70, 45});
  const Tensor turned = tenon::transpose(x, 1, 2);
  check_layout(turned, y);
  check_layout(y, turned);
  check_layout(tenon::permute(y, {2, 0, 1}), tenon::permute(y, {2, 0, 1}));
  const Tensor skewed = tenon::permute(x, {2, 0, 1});
  expect_same(skewed + tenon::tensor(ramp(45)), packed(skewed) + tenon::tensor(ramp(45)));
  expect_same(tenon::where(turned > 0.0, turned, y),
              tenon::where(packed(turned) > 0.0, packed(turned), y));
}

// Short rows are processed several at a time, whatever their stride and number.
TEST(Layouts, ShortRows) {
  for (int64_t width : {1, 2, 3, 4, 5, 15, 16}) {
    for (int64_t rows : {1, 7, 300, 2000}) {
      const Tensor x = matrix(rows, width), twice = matrix(rows, 2 * width), row = matrix(1, width),
                   column = matrix(rows, 1);
      const Tensor gaps = tenon::slice(twice, 1, 0, 2 * width, 2),
                   parts = twice[{Slice(), Slice(0, width)}];
      check_layout(gaps, x);
      check_layout(parts, x);
      check_layout(x, tenon::flip(parts, {1}));
      check_layout(tenon::flip(x, {0}), gaps);
      check_layout(tenon::expand(column, {rows, width}), parts);
      check_layout(tenon::expand(row, {rows, width}), gaps);
      Tensor target = twice + 0.0;
      Tensor places = tenon::slice(target, 1, 1, 2 * width, 2);
      places.copy_(x);
      places *= 2.0;
      expect_same(tenon::slice(target, 1, 1, 2 * width, 2), x * 2.0);
      expect_same(tenon::slice(target, 1, 0, 2 * width, 2), gaps);
    }
  }
  const Tensor x = tenon::tensor(ramp(20 * 3 * 2 * 30), {20, 3, 2, 30});
  check_layout(tenon::permute(x, {3, 0, 2, 1}), tenon::permute(x, {3, 0, 2, 1}) * 0.5);
  check_layout(tenon::transpose(tenon::permute(x, {0, 3, 1, 2}), 2, 3), matrix(2, 3));
}

// A transposed matrix whose lines are read backwards, and one written with gaps.
TEST(Layouts, ReversedAndSpacedTiles) {
  for (int64_t n : {8, 17, 64, 150}) {
    const Tensor x = matrix(n, n + 3), turned = tenon::transpose(x, 0, 1);
    check_layout(tenon::flip(turned, {0}), matrix(n + 3, n));
    check_layout(tenon::flip(turned, {1}), matrix(n + 3, n));
    check_layout(tenon::flip(turned, {0, 1}), matrix(n + 3, n));
    check_layout(tenon::flip(x, {1}), matrix(n, n + 3));
    Tensor wide = matrix(n + 3, 2 * n);
    tenon::slice(wide, 1, 0, 2 * n, 2).copy_(turned);
    expect_same(tenon::slice(wide, 1, 0, 2 * n, 2), turned);
    expect_same(tenon::slice(wide, 1, 1, 2 * n, 2),
                tenon::slice(matrix(n + 3, 2 * n), 1, 1, 2 * n, 2));
    const Tensor joined = tenon::stack({turned, turned * 2.0}, 2);
    expect_same(tenon::select(joined, 2, 0), turned);
    expect_same(tenon::select(joined, 2, 1), turned * 2.0);
    expect_same(tenon::slice(tenon::concat({turned, turned}, 1), 1, n, 2 * n), turned);
  }
}

TEST(Layouts, EmptyAndRankZero) {
  const Tensor none = tenon::tensor(std::vector<float>{}, {0, 3});
  EXPECT_EQ((none + none).numel(), 0);
  EXPECT_EQ(tenon::exp(none).numel(), 0);
  EXPECT_EQ((none + tenon::tensor({1.f, 2.f, 3.f})).numel(), 0);
  EXPECT_EQ(tenon::cast(none, DType::I32).numel(), 0);
  EXPECT_EQ(tenon::exp(tenon::tensor(0.f)).item<float>(), 1.f);
  EXPECT_EQ((tenon::tensor(2.f) + tenon::tensor(3.f)).item<float>(), 5.f);
}

TEST(Layouts, LongEnoughForThreads) {
  const int64_t n = 1 << 18;
  const Tensor x = tenon::tensor(ramp(n + 7, 0.01f));
  const std::vector<float> all = tenon::exp(x).to_vector<float>();
  const std::vector<float> part = tenon::exp(x[{Slice(1000, 2000)}]).to_vector<float>();
  for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], all[i + 1000]);
  expect_same(tenon::transpose(tenon::reshape(x[{Slice(0, n)}], {512, 512}), 0, 1) + 0.0,
              packed(tenon::transpose(tenon::reshape(x[{Slice(0, n)}], {512, 512}), 0, 1)));
}

TEST(Layouts, InPlaceOnViews) {
  Tensor x = matrix(6, 8);
  const std::vector<float> before = x.to_vector<float>();
  Tensor view = tenon::slice(x, 1, 0, 8, 2);
  view += 1.0;
  const std::vector<float> after = x.to_vector<float>();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i] + (i % 2 == 0 ? 1 : 0));
}

template <class T>
std::vector<T> values(const Tensor& x) {
  return x.to_vector<T>();
}

TEST(Integers, DivisionLikePython) {
  const Tensor a = tenon::tensor<int32_t>({7, -7, 7, -7, 5, 0}),
               b = tenon::tensor<int32_t>({2, 2, -2, -2, 0, 3});
  EXPECT_EQ(values<int32_t>(tenon::floor_divide(a, b)), (std::vector<int32_t>{3, -4, -4, 3, 0, 0}));
  EXPECT_EQ(values<int32_t>(tenon::remainder(a, b)), (std::vector<int32_t>{1, 1, -1, -1, 0, 0}));
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(tenon::floor_divide(tenon::tensor(least), tenon::tensor(int64_t{-1})).item<int64_t>(),
            least);
  EXPECT_EQ(tenon::remainder(tenon::tensor(least), tenon::tensor(int64_t{-1})).item<int64_t>(), 0);
}

TEST(Integers, FloatsDivideLikePythonTooButForInfinities) {
  const Tensor a = tenon::tensor({7.5f, -7.5f, 7.5f, -7.5f, -0.5f, 1.f}),
               b = tenon::tensor({2.f, 2.f, -2.f, -2.f, HUGE_VALF, 0.f});
  EXPECT_EQ(values<float>(tenon::floor_divide(a, b)),
            (std::vector<float>{3, -4, -4, 3, 0, HUGE_VALF}));
}

TEST(Integers, WrapAndShift) {
  const Tensor least = tenon::tensor<int8_t>({-128, -1, 127});
  EXPECT_EQ(values<int8_t>(tenon::abs(least)), (std::vector<int8_t>{-128, 1, 127}));
  EXPECT_EQ(values<int8_t>(tenon::neg(least)), (std::vector<int8_t>{-128, 1, -127}));
  EXPECT_EQ(values<int8_t>(least + tenon::tensor<int8_t>({-1, -1, 1})),
            (std::vector<int8_t>{127, -2, -128}));
  const Tensor x = tenon::tensor<int32_t>({1, -8, -1, 5}),
               n = tenon::tensor<int32_t>({31, 1, 40, -1});
  EXPECT_EQ(values<int32_t>(tenon::bitwise_left_shift(x, n)),
            (std::vector<int32_t>{INT32_MIN, -16, 0, 0}));
  EXPECT_EQ(values<int32_t>(tenon::bitwise_right_shift(x, n)),
            (std::vector<int32_t>{0, -4, -1, 0}));
  EXPECT_EQ(values<uint8_t>(tenon::bitwise_left_shift(tenon::tensor<uint8_t>({1, 255}),
                                                      tenon::tensor<uint8_t>({7, 8}))),
            (std::vector<uint8_t>{128, 0}));
  EXPECT_EQ(values<int32_t>(tenon::bitwise_not(x)), (std::vector<int32_t>{-2, 7, 0, -6}));
}

TEST(Integers, Powers) {
  const Tensor x = tenon::tensor<int64_t>({3, -2, 2, 1, -1, -1, 0}),
               n = tenon::tensor<int64_t>({4, 3, -1, -5, -2, -3, 0});
  EXPECT_EQ(values<int64_t>(tenon::pow(x, n)), (std::vector<int64_t>{81, -8, 0, 1, 1, -1, 1}));
  EXPECT_EQ(
      values<uint8_t>(tenon::pow(tenon::tensor<uint8_t>({3, 2}), tenon::tensor<uint8_t>({5, 8}))),
      (std::vector<uint8_t>{243, 0}));
}

TEST(Integers, EveryWidthAdds) {
  for (DType dtype : {DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16,
                      DType::I32, DType::I64}) {
    const Tensor x = tenon::arange(0, 100, 1, dtype), y = tenon::full({100}, 3, dtype);
    const std::vector<float> sum = tenon::cast(x * y + 1, DType::F32).to_vector<float>();
    EXPECT_EQ(sum[30], 91) << static_cast<int>(dtype);
    EXPECT_EQ(tenon::cast(tenon::maximum(x, y), DType::F32).to_vector<float>()[2], 3);
  }
}

TEST(Promotion, NumbersAreWeak) {
  const Tensor half = tenon::tensor({1.f}, DType::F16), byte = tenon::tensor<uint8_t>({1});
  EXPECT_EQ((half * 2.0).dtype(), DType::F16);
  EXPECT_EQ((byte + 1).dtype(), DType::U8);
  EXPECT_EQ((byte + 1.5).dtype(), DType::F32);
  EXPECT_EQ((byte / byte).dtype(), DType::F32);
  EXPECT_EQ((half + tenon::tensor({1.f})).dtype(), DType::F32);
  EXPECT_EQ((tenon::tensor<int8_t>({1}) + byte).dtype(), DType::I16);
  EXPECT_EQ(tenon::exp(tenon::tensor<int64_t>({1})).dtype(), DType::F32);
  EXPECT_THROW(byte + 300, tenon::Error);
}

TEST(Bools, AddIsOrAndMulIsAnd) {
  const Tensor x = tenon::tensor({false, false, true, true}),
               y = tenon::tensor({false, true, false, true});
  EXPECT_EQ(values<bool>(x + y), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(values<bool>(x * y), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(values<bool>(tenon::bitwise_xor(x, y)), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(values<bool>(tenon::bitwise_not(x)), (std::vector<bool>{true, true, false, false}));
  EXPECT_THROW(x - y, tenon::Error);
  EXPECT_THROW(tenon::neg(x), tenon::Error);
}

TEST(Comparisons, NanIsUnordered) {
  const float nan = NAN;
  const Tensor x = tenon::tensor({1.f, 2.f, nan, nan}), y = tenon::tensor({2.f, 2.f, 1.f, nan});
  for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    const Tensor a = tenon::cast(x, dtype), b = tenon::cast(y, dtype);
    EXPECT_EQ(values<bool>(a < b), (std::vector<bool>{true, false, false, false}));
    EXPECT_EQ(values<bool>(a <= b), (std::vector<bool>{true, true, false, false}));
    EXPECT_EQ(values<bool>(a == b), (std::vector<bool>{false, true, false, false}));
    EXPECT_EQ(values<bool>(a != b), (std::vector<bool>{true, false, true, true}));
    EXPECT_EQ(values<bool>(tenon::isnan(a)), (std::vector<bool>{false, false, true, true}));
    EXPECT_EQ(values<bool>(tenon::isfinite(a)), (std::vector<bool>{true, true, false, false}));
    EXPECT_EQ(values<bool>(tenon::logical_and(a, b)), (std::vector<bool>{true, true, true, true}));
  }
  EXPECT_EQ(values<bool>(tenon::signbit(tenon::tensor({-0.f, 0.f, -1.f}))),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(values<bool>(tenon::tensor<uint8_t>({200, 1}) > tenon::tensor<uint8_t>({100, 2})),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(values<bool>(tenon::tensor<int8_t>({-56, 1}) > tenon::tensor<int8_t>({100, 2})),
            (std::vector<bool>{false, false}));
}

TEST(Selection, WhereAndClamp) {
  for (DType dtype : {DType::I8, DType::F16, DType::I32, DType::F64, DType::C64, DType::C128}) {
    const Tensor x = tenon::cast(tenon::tensor({1.f, 2.f, 3.f}), dtype),
                 y = tenon::cast(tenon::tensor({-1.f}), dtype);
    const Tensor chosen = tenon::where(tenon::tensor({true, false, true}), x, y);
    ASSERT_EQ(chosen.dtype(), dtype);
    EXPECT_EQ(tenon::cast(chosen, DType::F32).to_vector<float>(), (std::vector<float>{1, -1, 3}));
  }
  const Tensor x = tenon::tensor({-3.f, 0.5f, 9.f, NAN});
  const std::vector<float> limited = tenon::clamp(x, -1, 1).to_vector<float>();
  EXPECT_EQ(limited[0], -1);
  EXPECT_EQ(limited[1], 0.5f);
  EXPECT_EQ(limited[2], 1);
  EXPECT_TRUE(std::isnan(limited[3]));
  EXPECT_EQ(values<uint8_t>(tenon::clamp(tenon::tensor<uint8_t>({0, 7, 200}), -5, 100)),
            (std::vector<uint8_t>{0, 7, 100}));
}

TEST(Casts, FloatsToIntegersAreLimited) {
  const Tensor x = tenon::tensor({1.9f, -1.9f, 300.f, -300.f, HUGE_VALF, -HUGE_VALF, NAN});
  EXPECT_EQ(values<int32_t>(tenon::cast(x, DType::I32)),
            (std::vector<int32_t>{1, -1, 300, -300, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ(values<uint8_t>(tenon::cast(x, DType::U8)),
            (std::vector<uint8_t>{1, 0, 255, 0, 255, 0, 0}));
  EXPECT_EQ(values<int64_t>(tenon::cast(x, DType::I64)),
            (std::vector<int64_t>{1, -1, 300, -300, INT64_MAX, INT64_MIN, 0}));
  EXPECT_EQ(values<bool>(tenon::cast(tenon::tensor({0.f, -0.f, 0.1f, NAN}), DType::Bool)),
            (std::vector<bool>{false, false, true, true}));
}

TEST(Casts, EveryPairKeepsSmallNumbers) {
  const std::vector<DType> all = {DType::U8,  DType::U16, DType::U32, DType::U64, DType::I8,
                                  DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16,
                                  DType::F32, DType::F64, DType::C64, DType::C128};
  const Tensor x = tenon::tensor(std::vector<float>{0, 1, 2, 77, 100, 127});
  for (DType from : all)
    for (DType to : all) {
      const Tensor there = tenon::cast(tenon::cast(x, from), to);
      ASSERT_EQ(there.dtype(), to);
      EXPECT_EQ(tenon::cast(there, DType::F32).to_vector<float>(), x.to_vector<float>());
    }
}

TEST(Casts, HalvesRoundOnceToEven) {
  // 1 + 2^-11 is halfway between two f16 numbers; anything slightly larger must round up, even from f64, where f32 would lose the
  // difference.
  const std::vector<double> x = {
      1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 3 * 0x1p-11, 65519, 65520, 0x1p-25,
      0x1.8p-25,   -1 - 0x1p-11 - 0x1p-40};
  const std::vector<float> y =
      tenon::cast(tenon::cast(tenon::tensor(x), DType::F16), DType::F32).to_vector<float>();
  EXPECT_EQ(y, (std::vector<float>{1, 1 + 0x1p-10f, 1 + 0x1p-9f, 65504, HUGE_VALF, 0, 0x1p-24f,
                                   -1 - 0x1p-10f}));
  const std::vector<float> b =
      tenon::cast(tenon::cast(tenon::tensor({1 + 0x1p-8f, 1 + 3 * 0x1p-8f}), DType::BF16),
                  DType::F32)
          .to_vector<float>();
  EXPECT_EQ(b, (std::vector<float>{1, 1 + 0x1p-6f}));
}

TEST(Complex, Arithmetic) {
  using C = std::complex<float>;
  const Tensor x = tenon::tensor<C>({C(1, 2), C(0, -1)}), y = tenon::tensor<C>({C(3, -1), C(2, 2)});
  EXPECT_EQ(values<C>(x + y), (std::vector<C>{C(4, 1), C(2, 1)}));
  EXPECT_EQ(values<C>(x * y), (std::vector<C>{C(5, 5), C(2, -2)}));
  EXPECT_EQ(values<C>(tenon::conj(x)), (std::vector<C>{C(1, -2), C(0, 1)}));
  EXPECT_EQ(values<float>(tenon::abs(tenon::tensor<C>({C(3, 4)}))), (std::vector<float>{5}));
  EXPECT_EQ(values<float>(tenon::imag(x)), (std::vector<float>{2, -1}));
  EXPECT_EQ(values<C>(tenon::complex(tenon::tensor({1.f}), tenon::tensor({2.f}))),
            (std::vector<C>{C(1, 2)}));
  const C quotient = values<C>(x / y)[0];
  EXPECT_NEAR(quotient.real(), 0.1f, 1e-7);
  EXPECT_NEAR(quotient.imag(), 0.7f, 1e-7);
  const C root = tenon::sqrt(tenon::tensor<C>({C(-4, 0)})).to_vector<C>()[0];
  EXPECT_NEAR(root.imag(), 2, 1e-6);
  EXPECT_THROW(static_cast<void>(x < y), tenon::Error);
}

}  // namespace
