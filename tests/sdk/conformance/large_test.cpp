// The bounds of the group `large` accept correct results and are tight enough to find wrong ones.
#include "large/large.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

namespace large = tenon::conformance::large;
using tenon::DType;
using tenon::Tensor;
using tenon::conformance::Rng;

constexpr DType kFloats[] = {DType::F16, DType::BF16, DType::F32, DType::F64};

large::Setting setting(DType dtype) { return {dtype, tenon::Device("cpu"), Rng(3), true}; }

// Shifts every element by this many units of roundoff.
std::string outcome(DType dtype, double units) {
  large::Setting s = setting(dtype);
  const large::Numbers x = s.draw({8, 16}, 1, 2);
  const Tensor off = (x.tensor.to(DType::F64) * (1 + units * large::unit_of(dtype))).to(dtype);
  return large::compare(s, off, x.shape, [&](int64_t place) { return large::Wanted{x[place], 0}; });
}

TEST(Large, ARoundingIsAllowedAndNoMore) {
  for (const DType dtype : kFloats) {
    EXPECT_EQ(outcome(dtype, 0), "") << tenon::name_of(dtype);
    EXPECT_NE(outcome(dtype, 3), "") << tenon::name_of(dtype);
  }
}

TEST(Large, NansAndShapesAreFound) {
  large::Setting s = setting(DType::F32);
  const large::Numbers x = s.draw({4, 4});
  const auto wanted = [&](int64_t place) { return large::Wanted{x[place], 1e3}; };
  EXPECT_NE(large::compare(s, x.tensor / 0.0 - x.tensor / 0.0, {4, 4}, wanted), "");
  EXPECT_NE(large::compare(s, x.tensor, {4, 5}, wanted), "");
}

// The bounds distinguish sums kept in halves from sums in f32, and find a sum that leaves out a term.
TEST(Large, SumsOfHalvesAreFound) {
  large::Setting s = setting(DType::BF16);
  constexpr int64_t kTerms = 512;
  const large::Numbers x = s.draw({64, kTerms}, 0.5, 1);
  Tensor narrow = tenon::zeros({64}).to(DType::BF16), wide = tenon::zeros({64});
  for (int64_t k = 0; k < kTerms; ++k) {
    const Tensor column = tenon::select(x.tensor, 1, k);
    narrow = narrow + column;
    wide = wide + column.to(DType::F32);
  }
  const auto wanted = [&](int64_t row) {
    double sum = 0;
    for (int64_t k = 0; k < kTerms; ++k) sum += x[row * kTerms + k];
    return large::Wanted{sum, large::sum_error(s.dtype, kTerms, sum)};
  };
  EXPECT_EQ(large::compare(s, wide.to(DType::BF16), {64}, wanted), "");
  EXPECT_NE(large::compare(s, narrow, {64}, wanted), "");
  const Tensor missing = wide - tenon::select(x.tensor, 1, 7).to(DType::F32) * 8;
  EXPECT_NE(large::compare(s, missing, {64}, wanted), "");
}

TEST(Large, EveryCaseHasOneName) {
  large::Cases cases;
  large::add_products(cases), large::add_convolutions(cases);
  large::add_attention(cases), large::add_rows(cases);
  std::set<std::string> names;
  for (const large::Case& one : cases) EXPECT_TRUE(names.insert(one.op + "/" + one.label).second);
  EXPECT_GT(names.size(), 20U);
}

}  // namespace
