// Printing, compared with text recorded from NumPy.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "tenon/tenon.hpp"

namespace tenon {
namespace {

struct Case {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  const char* text;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
#include "print_cases.inc"
  };
  return all;
}

Tensor make(const Case& recorded) {
  Case c = recorded;
  if (c.integers.empty() && c.reals.empty()) {
    int64_t n = 1;
    for (int64_t size : c.shape) n *= size;
    for (int64_t i = 0; i < n; ++i)
      is_floating(c.dtype) ? c.reals.push_back(static_cast<double>(i)) : c.integers.push_back(i);
  }
  return visit(c.dtype, [&]<class T>(T) -> Tensor {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      std::vector<T> values;
      for (size_t i = 0; i + 1 < c.reals.size(); i += 2)
        values.emplace_back(static_cast<typename T::value_type>(c.reals[i]),
                            static_cast<typename T::value_type>(c.reals[i + 1]));
      return tensor(values, c.shape);
    } else if constexpr (std::is_integral_v<T>) {
      std::vector<T> values;
      for (int64_t v : c.integers) values.push_back(static_cast<T>(v));
      return tensor(values, c.shape);
    } else {
      std::vector<T> values;
      for (double v : c.reals) values.push_back(static_cast<T>(static_cast<float>(v)));
      if constexpr (std::is_same_v<T, double>) values.assign(c.reals.begin(), c.reals.end());
      return tensor(values, c.shape);
    }
  });
}

TEST(Print, AsNumPy) {
  for (const Case& c : cases()) EXPECT_EQ(to_string(make(c)), c.text) << name_of(c.dtype);
}

// Views print the elements that they show; bfloat16, which NumPy lacks, follows the same rules.
TEST(Print, Bfloat16) {
  EXPECT_EQ(to_string(tensor({BF16(1.f), BF16(0.1f), BF16(-3.f)})), "[ 1.   0.1 -3. ]");
  EXPECT_EQ(to_string(tensor(BF16(0.1f))), "0.1");
}

TEST(Print, ViewsAndBrokenCalls) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(to_string(x.t()), "[[1 4]\n [2 5]\n [3 6]]");
  EXPECT_EQ(to_string(x[{1, Slice(None, None, 2)}]), "[4 6]");
  EXPECT_EQ(to_string(x.unsqueeze(0).expand({2, 2, 3})),
            "[[[1 2 3]\n  [4 5 6]]\n\n [[1 2 3]\n  [4 5 6]]]");
  EXPECT_EQ(to_string(Tensor()), "undefined");
  tn_status* status = tn_tensor_print(nullptr, nullptr, nullptr);
  EXPECT_EQ(tn_status_code(status), TN_INVALID_ARGUMENT);
  tn_status_release(status);
}

}  // namespace
}  // namespace tenon
