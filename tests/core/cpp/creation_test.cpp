// Making tensors from C++ values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "observed.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using tenon::test::error_of;

std::vector<int64_t> shape_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }
using Shape = std::vector<int64_t>;

TEST(Creation, NestedLists) {
  const Tensor flat = tensor({1.f, 2.f, 3.f});
  EXPECT_EQ(shape_of(flat), Shape{3});
  EXPECT_EQ(flat.dtype(), DType::F32);
  const Tensor cube = tensor({{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}});
  EXPECT_EQ(shape_of(cube), (Shape{2, 3, 2}));
  EXPECT_EQ(cube.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const Tensor four = tensor({{{{1.0}, {2.0}}}});
  EXPECT_EQ(shape_of(four), (Shape{1, 1, 2, 1}));
  EXPECT_EQ(four.dtype(), DType::F64);
  EXPECT_NE(error_of([] { tensor({{1, 2}, {3}}); }).find("different lengths"), std::string::npos);
}

TEST(Creation, DtypeIsConvertedOnTheHost) {
  EXPECT_EQ(tensor({1, 2}, DType::F64).to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(tensor({1.5, -2.0}, DType::BF16).to_vector<BF16>()[0], 1.5f);
  EXPECT_EQ(tensor({true, false}, DType::I64).to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(tensor(2.5f, DType::C64).item<std::complex<float>>(), std::complex<float>(2.5f));
  EXPECT_NE(error_of([] { tensor({std::complex<float>(1, 2)}, DType::F32); }), "");
}

TEST(Creation, FloatsOutOfAnIntegersRangeSaturate) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::initializer_list<double> numbers = {-1.5, 300, 3e9, -infinity, infinity, std::nan("")};
  EXPECT_EQ(tensor(numbers, DType::U8).to_vector<uint8_t>(),
            (std::vector<uint8_t>{0, 255, 255, 0, 255, 0}));
  EXPECT_EQ(tensor(numbers, DType::U32).to_vector<uint32_t>(),
            (std::vector<uint32_t>{0, 300, 3000000000, 0, UINT32_MAX, 0}));
  EXPECT_EQ(tensor(numbers, DType::I64).to_vector<int64_t>(),
            (std::vector<int64_t>{-1, 300, 3000000000, INT64_MIN, INT64_MAX, 0}));
  for (const DType dtype : {DType::I8, DType::U16, DType::I32, DType::U64})
    EXPECT_TRUE(all(equal(tensor(numbers, dtype), tensor(numbers).to(dtype))).item<bool>());
  EXPECT_EQ(tensor(F16(-1.f), DType::U32).item<uint32_t>(), 0);
}

TEST(Creation, VectorsAndShapes) {
  EXPECT_EQ(shape_of(tensor(std::vector<float>{1, 2, 3, 4}, {2, 2})), (Shape{2, 2}));
  EXPECT_EQ(tensor(std::vector<bool>{true, false}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(shape_of(tensor(std::vector<double>{}, {0, 3})), (Shape{0, 3}));
  EXPECT_NE(error_of([] { tensor(std::vector<float>{1, 2, 3}, {2, 2}); }), "");
  EXPECT_EQ(tensor(7).ndim(), 0);
}

TEST(Creation, WrappedMemoryIsSharedAndReleasedOnce) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  int released = 0;
  {
    Tensor x = from_blob(memory.data(), DType::F32, {2, 3}, {}, [&] { ++released; });
    const Tensor view = x.t();
    memory[1] = 20;
    EXPECT_EQ((view[{1, 0}].item<float>()), 20);
    x = Tensor();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  const Tensor strided = from_blob(memory.data(), DType::F32, {3}, {2});
  EXPECT_EQ(strided.to_vector<float>(), (std::vector<float>{1, 3, 5}));
  EXPECT_NE(error_of([&] { from_blob(memory.data(), DType::F32, {3}, {2, 1}); }), "");
}

TEST(Creation, Filled) {
  EXPECT_EQ(zeros({2}).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(ones({2}, DType::I32).to_vector<int32_t>(), (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(full({2}, 2.5, DType::F64).to_vector<double>(), (std::vector<double>{2.5, 2.5}));
  EXPECT_EQ(zeros_like(ones({3})).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(arange(4).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(arange(1, 2, 0.25).to_vector<float>(), (std::vector<float>{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(zeros({}).numel(), 1);
  EXPECT_EQ(zeros({0, 5}).numel(), 0);
  EXPECT_NE(error_of([] { empty({-1}); }), "");
}

TEST(Creation, ASeededGeneratorIsAValue) {
  Generator generator(1);
  EXPECT_EQ(generator.seed(7).get(), generator.get());
  EXPECT_EQ(Generator(1).seed(7).state().seed, 7u);
}

TEST(Creation, GeneratorsRepeat) {
  Generator a(42), b(42);
  const auto first = rand({100}, DType::F32, {}, a).to_vector<float>();
  EXPECT_EQ(first, rand({100}, DType::F32, {}, b).to_vector<float>());
  const Generator::State state = a.state();
  const auto next = randn({50}, DType::F32, {}, a).to_vector<float>();
  a.set_state(state);
  EXPECT_EQ(next, randn({50}, DType::F32, {}, a).to_vector<float>());
  manual_seed(3);
  const auto global = rand({10}).to_vector<float>();
  manual_seed(3);
  EXPECT_EQ(global, rand({10}).to_vector<float>());
}

TEST(Creation, OptionsHoldDtypeAndDevice) {
  const Device cpu("cpu");
  EXPECT_EQ(zeros({2}, cpu).dtype(), DType::F32);
  EXPECT_EQ(ones({2}, {DType::I64, cpu}).sum().item<int>(), 2);
  EXPECT_EQ(empty({2, 3}, TensorOptions(DType::F64)).dtype(), DType::F64);
  const Generator a(5), b(5);
  EXPECT_EQ(rand({9}, cpu, a).to_vector<float>(), rand({9}, DType::F32, cpu, b).to_vector<float>());
  EXPECT_EQ(randn({9}, {DType::F64, cpu}, a).to_vector<double>(),
            randn({9}, DType::F64, cpu, b).to_vector<double>());
}

TEST(Creation, LikeTakesShapeAndDtype) {
  const Tensor x = zeros({300, 20}, DType::F64);
  const Tensor uniform = rand_like(x), normal = randn_like(x);
  for (const Tensor& y : {uniform, normal}) {
    EXPECT_EQ(y.shape(0), 300);
    EXPECT_EQ(y.shape(1), 20);
    EXPECT_EQ(y.dtype(), DType::F64);
  }
  EXPECT_NEAR(uniform.mean().item<double>(), 0.5, 0.02);
  EXPECT_NEAR(normal.std().item<double>(), 1, 0.05);
  const Tensor whole = randint_like(zeros({500}, DType::I32), 2, 5);
  EXPECT_EQ(whole.dtype(), DType::I32);
  EXPECT_EQ(whole.unique().values.to_vector<int32_t>(), (std::vector<int32_t>{2, 3, 4}));
  const Generator a(5), b(5);
  EXPECT_TRUE(allclose(randn_like(x, a), randn({300, 20}, DType::F64, {}, b), 0, 0));
  EXPECT_NE(error_of([&] { randn_like(whole); }), "");
}

TEST(Creation, MultinomialDrawsByWeight) {
  const Tensor weights = tensor({1.f, 0.f, 3.f, 4.f});
  const auto drawn = multinomial(weights, 8000, true, Generator(1)).to_vector<int64_t>();
  for (const int64_t each : {0, 1, 2, 3}) {
    const double share = static_cast<double>(std::count(drawn.begin(), drawn.end(), each)) / 1000;
    EXPECT_NEAR(share, weights.to_vector<float>()[static_cast<size_t>(each)], 0.25);
  }
  // Without replacement each row is a permutation, and what weighs most is the first most often.
  const Tensor rows = weights.expand({4000, 4}).multinomial(3, false, Generator(2));
  EXPECT_EQ(rows.shape(1), 3);
  EXPECT_EQ((rows == 1).any().item<bool>(), false);
  EXPECT_TRUE((rows.sum(1) == 5).all().item<bool>());
  EXPECT_NEAR((rows.select(1, 0) == 3).to(DType::F32).mean().item<float>(), 0.5, 0.03);
  EXPECT_EQ(zeros({0, 3}).multinomial(2).shape(0), 0);
  const Tensor trained = tensor({0.25f, 0.75f}).requires_grad_();
  EXPECT_FALSE(trained.multinomial(1).requires_grad());
}

TEST(Creation, MultinomialSaysWhatItNeeds) {
  const Tensor weights = tensor({1.f, 2.f});
  const auto says = [](const Tensor& x, int64_t samples, const char* text, bool again = false) {
    EXPECT_NE(error_of([&] { multinomial(x, samples, again); }).find(text), std::string::npos)
        << text;
  };
  says(weights, 3, "3 samples of 2 without replacement");
  says(weights, 0, "0 samples of 2", true);
  says(weights - 2, 1, "not negative");
  says(weights / 0, 1, "finite");
  says(zeros({2, 2}), 1, "not all 0");
  says(zeros({0}), 1, "not all 0", true);
  says(tensor({1, 2}), 1, "not i32 of rank 1");
  says(tensor(1.f), 1, "not f32 of rank 0");
  says(zeros({1, 2, 3}), 1, "of rank 3");
}

TEST(Creation, EmptyTakesTheShapeOfATensor) {
  const Tensor x = zeros({2, 3});
  const Tensor y = empty(x.shape());  // by its arguments, std::empty is found as well
  EXPECT_EQ(y.numel(), 6);
  EXPECT_EQ(empty({}).ndim(), 0);
}

TEST(Creation, TheTypeOfABlobGivesItsDtype) {
  std::vector<int32_t> numbers = {1, 2, 3, 4};
  int released = 0;
  {
    const Tensor x = from_blob(numbers.data(), {2, 2});
    EXPECT_EQ(x.dtype(), DType::I32);
    EXPECT_EQ(x.data<int32_t>(), numbers.data());
    const Tensor t = from_blob(numbers.data(), {2, 2}, {1, 2}, [&] { ++released; });
    EXPECT_EQ(t.contiguous().to_vector<int32_t>(), (std::vector<int32_t>{1, 3, 2, 4}));
  }
  EXPECT_EQ(released, 1);
}

TEST(Creation, HalvesRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    F16 half;
    half.bits = static_cast<uint16_t>(bits);
    const float value = half;
    EXPECT_TRUE(value != value || F16(value).bits == half.bits) << bits;
    BF16 brain;
    brain.bits = static_cast<uint16_t>(bits);
    const float wide = brain;
    EXPECT_TRUE(wide != wide || BF16(wide).bits == brain.bits);
  }
  EXPECT_EQ(F16(65519.f).bits, F16(65504.f).bits);
  EXPECT_TRUE(std::isinf(static_cast<float>(F16(65520.f))));
  EXPECT_EQ(static_cast<float>(F16(1 + 0x1p-11f)), 1.f);
  EXPECT_EQ(static_cast<float>(F16(1 + 3 * 0x1p-11f)), 1 + 0x1p-9f);
  EXPECT_EQ(static_cast<float>(F16(0x1p-25f)), 0.f);
  EXPECT_EQ(static_cast<float>(F16(0x1.8p-25f)), 0x1p-24f);
  EXPECT_TRUE(std::isnan(static_cast<float>(F16(NAN))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BF16(NAN))));
}

}  // namespace
}  // namespace tenon
