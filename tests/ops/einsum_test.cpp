// einsum, compared with a sum over all values of all labels.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tenon/tenon.hpp"

namespace {

using tenon::Tensor;
using Shape = std::vector<int64_t>;

Tensor random(const Shape& shape, unsigned seed) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values) value = uniform(engine);
  return tenon::tensor(values, shape);
}

// Operands given as letters, with dimensions of size 1 that broadcast; no ellipsis.
struct Reference {
  std::vector<std::string> operands;
  std::string result;
};

std::vector<double> sum_of_products(const Reference& equation, const std::vector<Tensor>& xs,
                                    Shape& shape) {
  std::map<char, int64_t> sizes;
  for (size_t k = 0; k < xs.size(); ++k)
    for (size_t d = 0; d < equation.operands[k].size(); ++d) {
      int64_t& size = sizes.try_emplace(equation.operands[k][d], 1).first->second;
      size = xs[k].shape()[d] == 1 ? size : xs[k].shape()[d];
    }
  std::vector<std::vector<double>> values;
  for (const Tensor& x : xs) values.push_back(x.to_vector<double>());
  std::map<char, int64_t> at;
  std::string letters;
  int64_t total = 1, results = 1;
  for (const auto& [letter, size] : sizes) {
    letters += letter;
    at[letter] = 0;
    total *= size;
  }
  shape.clear();
  for (const char letter : equation.result) {
    shape.push_back(sizes[letter]);
    results *= sizes[letter];
  }
  std::vector<double> out(static_cast<size_t>(results));
  for (int64_t step = 0; step < total; ++step) {
    double term = 1;
    for (size_t k = 0; k < xs.size(); ++k) {
      int64_t place = 0;
      for (size_t d = 0; d < equation.operands[k].size(); ++d) {
        const int64_t size = xs[k].shape()[d];
        place = place * size + (size == 1 ? 0 : at[equation.operands[k][d]]);
      }
      term *= values[k][static_cast<size_t>(place)];
    }
    int64_t place = 0;
    for (const char letter : equation.result) place = place * sizes[letter] + at[letter];
    out[static_cast<size_t>(place)] += term;
    for (const char letter : letters) {
      if (++at[letter] < sizes[letter]) break;
      at[letter] = 0;
    }
  }
  return out;
}

struct Case {
  std::string equation;
  Reference reference;
  std::vector<Shape> shapes;
};

class Einsum : public testing::TestWithParam<Case> {};

TEST_P(Einsum, SumsProducts) {
  const Case& c = GetParam();
  std::vector<Tensor> xs;
  for (size_t k = 0; k < c.shapes.size(); ++k)
    xs.push_back(random(c.shapes[k], static_cast<unsigned>(k)));
  Shape shape;
  const auto expected = sum_of_products(c.reference, xs, shape);
  const Tensor y = tenon::einsum(c.equation, xs);
  ASSERT_EQ(Shape(y.shape().begin(), y.shape().end()), shape) << c.equation;
  const auto found = y.to_vector<double>();
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-12) << c.equation << " at " << i;
}

INSTANTIATE_TEST_SUITE_P(
    Equations, Einsum,
    testing::Values(
        Case{"ij,jk->ik", {{"ij", "jk"}, "ik"}, {{3, 4}, {4, 5}}},
        Case{"ij,jk", {{"ij", "jk"}, "ik"}, {{3, 4}, {4, 5}}}, Case{"ba", {{"ba"}, "ab"}, {{3, 4}}},
        Case{" i j , j -> i ", {{"ij", "j"}, "i"}, {{3, 4}, {4}}},
        Case{"ii", {{"ii"}, ""}, {{4, 4}}}, Case{"ii->i", {{"ii"}, "i"}, {{4, 4}}},
        Case{"iij->ji", {{"iij"}, "ji"}, {{3, 3, 2}}},
        Case{"iiji->j", {{"iiji"}, "j"}, {{2, 2, 3, 2}}},
        Case{"ijij->", {{"ijij"}, ""}, {{2, 3, 2, 3}}}, Case{"i,i->", {{"i", "i"}, ""}, {{5}, {5}}},
        Case{"i,j->ij", {{"i", "j"}, "ij"}, {{2}, {3}}},
        Case{"i,j->ji", {{"i", "j"}, "ji"}, {{2}, {3}}},
        Case{",ij->ij", {{"", "ij"}, "ij"}, {{}, {2, 3}}}, Case{"ij->", {{"ij"}, ""}, {{2, 3}}},
        Case{"ijk->ki", {{"ijk"}, "ki"}, {{2, 3, 4}}},
        Case{"bij,bjk->bik", {{"bij", "bjk"}, "bik"}, {{2, 3, 4}, {2, 4, 5}}},
        Case{"bhqd,bhkd->bhqk", {{"bhqd", "bhkd"}, "bhqk"}, {{2, 2, 3, 4}, {2, 2, 5, 4}}},
        Case{"ij,ij->ij", {{"ij", "ij"}, "ij"}, {{2, 3}, {2, 3}}},
        Case{"ij,ij->j", {{"ij", "ij"}, "j"}, {{2, 3}, {2, 3}}},
        Case{"ij,kj->", {{"ij", "kj"}, ""}, {{2, 3}, {4, 3}}},
        Case{"ij,jk,kl,lm->im", {{"ij", "jk", "kl", "lm"}, "im"}, {{2, 3}, {3, 4}, {4, 2}, {2, 5}}},
        Case{"i,ij,j->", {{"i", "ij", "j"}, ""}, {{2}, {2, 3}, {3}}},
        Case{"ij,ik,il->jkl", {{"ij", "ik", "il"}, "jkl"}, {{2, 3}, {2, 2}, {2, 4}}},
        Case{"ii,ij->j", {{"ii", "ij"}, "j"}, {{3, 3}, {3, 2}}},
        Case{"...ij,...jk->...ik", {{"abij", "abjk"}, "abik"}, {{2, 3, 2, 3}, {2, 3, 3, 4}}},
        Case{"...ij,jk", {{"abij", "jk"}, "abik"}, {{2, 3, 2, 3}, {3, 4}}},
        Case{"...i,...i->...", {{"abi", "bi"}, "ab"}, {{2, 3, 4}, {3, 4}}},
        Case{"i...,i...->...", {{"iab", "iab"}, "ab"}, {{2, 3, 4}, {2, 1, 4}}},
        Case{"...->...", {{"ab"}, "ab"}, {{2, 3}}},
        Case{"...ii->...i", {{"aii"}, "ai"}, {{2, 3, 3}}},
        Case{"i...j->j...i", {{"iabj"}, "jabi"}, {{2, 3, 4, 5}}},
        Case{"ij,jk->ik", {{"ij", "jk"}, "ik"}, {{3, 1}, {4, 5}}},
        Case{"ij,j->ij", {{"ij", "j"}, "ij"}, {{1, 3}, {1}}},
        Case{"aB,Bc", {{"aB", "Bc"}, "ac"}, {{2, 3}, {3, 4}}},
        Case{"ij,jk->ik", {{"ij", "jk"}, "ik"}, {{2, 0}, {0, 3}}},
        Case{"ij,jk->ik", {{"ij", "jk"}, "ik"}, {{0, 2}, {2, 3}}}));

// The best order is searched among a few operands at a time; for many operands a full search would take hours.
TEST(EinsumOfMany, Contracts) {
  constexpr size_t kMany = 3000;
  std::string chain = "ab", product = "a";
  std::vector<Tensor> matrices, rows;
  for (size_t k = 0; k < kMany; ++k) {
    rows.push_back(tenon::full({2}, k % 2 == 0 ? 2.0 : 0.5, tenon::DType::F64));
    if (k > 0) product += ",a";
  }
  const Tensor ones = tenon::einsum(product + "->a", rows);
  EXPECT_EQ(ones.to_vector<double>(), (std::vector<double>{1, 1}));
  // A chain of swaps through all the letters there are.
  std::string letters;
  for (char c = 'a'; c <= 'z'; ++c) letters += c;
  for (char c = 'A'; c <= 'Z'; ++c) letters += c;
  for (size_t k = 0; k + 1 < letters.size(); ++k) {
    matrices.push_back(tenon::tensor(std::vector<double>{0, 1, 1, 0}, {2, 2}));
    if (k > 0) chain += std::string(",") + letters[k] + letters[k + 1];
  }
  const Tensor swapped = tenon::einsum(chain + "->aZ", matrices);
  EXPECT_EQ(swapped.to_vector<double>(), (std::vector<double>{0, 1, 1, 0}));
}

TEST(EinsumErrors, NameTheCause) {
  const Tensor x = random({2, 3}, 1), y = random({4, 5}, 2);
  const auto message = [&](std::string_view equation, const std::vector<Tensor>& xs) {
    try {
      tenon::einsum(equation, xs);
    } catch (const tenon::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message("ij,jk", {x}), "[einsum] \"ij,jk\" names 2 operands, 1 given");
  EXPECT_EQ(message("ij,jk", {x, y}), "[einsum] label j has sizes 3 and 4");
  EXPECT_EQ(message("ijk", {x}), "[einsum] \"ijk\" labels 3 dims, operand 0 has rank 2");
  EXPECT_EQ(message("ii", {x}), "[einsum] label i names dims of sizes 2 and 3 of one operand");
  EXPECT_EQ(message("ij->k", {x}), "[einsum] label k of the result is in no operand: \"ij->k\"");
  EXPECT_EQ(message("ij->ii", {x}), "[einsum] label i is twice in the result: \"ij->ii\"");
  EXPECT_EQ(message("i.j", {x}),
            "[einsum] \"i.j\" in \"i.j\" is no list of letters with at most one ellipsis");
  EXPECT_EQ(message("i1", {x}),
            "[einsum] \"i1\" in \"i1\" is no list of letters with at most one ellipsis");
  EXPECT_EQ(message("...j->j", {x}), "[einsum] the result in \"...j->j\" leaves the ellipsis out");
}

}  // namespace
