// What the suite's samples do not cover of the elementwise shaders: long operands with tails and unaligned beginnings, the edges of
// two-operand functions, comparisons of subnormal numbers and NaN, conversions at the ends of ranges. The CPU's results are the reference.
#include <algorithm>
#include <bit>

#include "../cpu/ops.hpp"
#include "device.hpp"

using namespace testing_ops;
using test_vulkan::to_gpu;

namespace {

double logaddexp(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return a == b ? a + M_LN2 : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}
double remainder_of(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? static_cast<double>(static_cast<float>(r + b)) : r;
}
double divide(double a, double b) { return a / b; }

struct Function2 {
  const char* name;
  double (*exact)(double, double);
  double bound;  // ulps of f32
};
const Function2 kFunctions2[] = {{"div", divide, 0.51},         {"pow", std::pow, 2},
                                 {"atan2", std::atan2, 3},      {"hypot", std::hypot, 2},
                                 {"logaddexp", logaddexp, 12},  {"copysign", std::copysign, 0},
                                 {"remainder", remainder_of, 1}};

class Functions2 : public testing::TestWithParam<Function2> {};

// Normal numbers only, because a device may flush subnormal ones to zero.
std::vector<float> normal_edges() {
  std::vector<float> values;
  for (const float v : edges())
    if (v == 0 || !(std::abs(v) < std::numeric_limits<float>::min())) values.push_back(v);
  for (const float v : {3.0f, 7.5f, 0.1f, 1e10f, 33.0f, 1e-3f, 1.0000001f, 0.9999999f, 1e-20f})
    values.insert(values.end(), {v, -v});
  return values;
}

TEST_P(Functions2, OfEdges) {
  const Function2& f = GetParam();
  const std::vector<float> values = normal_edges();
  const auto n = static_cast<int64_t>(values.size());
  const Tensor x = tenon::tensor(values, {n, 1}), y = tenon::tensor(values, {1, n});
  const std::vector<float> got = binary(f.name, to_gpu(x), to_gpu(y)).to_vector<float>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const float a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
      const float result = got[static_cast<size_t>(i * n + j)];
      const double wanted = f.exact(static_cast<double>(a), static_cast<double>(b));
      if (std::abs(wanted) < static_cast<double>(std::numeric_limits<float>::min()) && result == 0)
        continue;
      EXPECT_LE(ulps(result, wanted), f.bound)
          << f.name << "(" << a << ", " << b << ") = " << result << ", wanted " << wanted;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Functions2, testing::ValuesIn(kFunctions2),
                         [](const auto& info) { return std::string(info.param.name); });

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

void expect_same(const Tensor& got, const Tensor& wanted, const std::string& what) {
  const std::vector<double> a = tenon::cast(tenon::to(got, "cpu"), DType::F64).to_vector<double>(),
                            b = tenon::cast(wanted, DType::F64).to_vector<double>();
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(same(a[i], b[i])) << what << " at " << i << ": " << a[i] << ", wanted " << b[i];
}

// From one number to the next, in every format: zeros, subnormal numbers, infinities and NaN too.
TEST(Nextafter, SameBitsAsOnTheCpu) {
  const std::vector<float> values = edges();
  const auto n = static_cast<int64_t>(values.size());
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Tensor x = tenon::tensor(values, {n, 1}).to(dtype),
                 y = tenon::tensor(values, {1, n}).to(dtype);
    const auto exact = [](const Tensor& made) {
      return tenon::to(made, tenon::Device("cpu:0")).to(DType::F64).to_vector<double>();
    };
    const std::vector<double> got = exact(tenon::nextafter(to_gpu(x), to_gpu(y))),
                              wanted = exact(tenon::nextafter(x, y));
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (std::isnan(wanted[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << tenon::name_of(dtype) << " " << i;
        continue;
      }
      EXPECT_EQ(std::bit_cast<uint64_t>(got[i]), std::bit_cast<uint64_t>(wanted[i]))
          << tenon::name_of(dtype) << " " << values[i / values.size()] << " towards "
          << values[i % values.size()];
    }
  }
}

TEST(Floats, AreComparedAndDividedAsOnTheCpu) {
  const std::vector<float> values = normal_edges();
  const auto n = static_cast<int64_t>(values.size());
  const Tensor x = tenon::tensor(values, {n, 1}), y = tenon::tensor(values, {1, n});
  for (const char* name : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                           "maximum", "minimum", "logical_and", "logical_xor", "floor_divide"})
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
      const Tensor a = tenon::cast(x, dtype), b = tenon::cast(y, dtype);
      expect_same(binary(name, to_gpu(a), to_gpu(b)), binary(name, a, b), name);
    }
}

// The bits decide, so even a device that flushes subnormal numbers to zero compares them correctly.
TEST(Floats, OfSubnormalSizeKeepTheirOrder) {
  const std::vector<float> values = {0.0f, -0.0f, 1e-40f, -1e-40f, 2e-40f, 1e-45f, 1.2e-38f};
  const Tensor x = tenon::tensor(values, {7, 1}), y = tenon::tensor(values, {1, 7});
  for (const char* name : {"equal", "less", "greater_equal", "maximum", "logical_or"})
    expect_same(binary(name, to_gpu(x), to_gpu(y)), binary(name, x, y), name);
  for (const char* name : {"sign", "signbit", "logical_not", "abs"})
    expect_same(unary(name, to_gpu(x)), unary(name, x), name);
}

// Lengths around a multiple of four, unaligned beginnings, one operand or the other a single value.
TEST(Layouts, OfAnyLengthAndBeginning) {
  const Tensor all = tenon::uniform({40000}, -2, 2, {}, {}, tenon::Generator(3));
  for (const DType dtype :
       {DType::F32, DType::F16, DType::F64, DType::I8, DType::I64, DType::Bool}) {
    const Tensor host = tenon::cast(tenon::mul(all, 40.0), dtype), gpu = to_gpu(host);
    for (const int64_t begin : {0, 1, 4, 6})
      for (const int64_t length : {1, 3, 4, 5, 1023, 30001}) {
        const auto part = [&](const Tensor& x) {
          return tenon::slice(x, 0, begin, begin + length);
        };
        const auto one = [&](const Tensor& x) { return tenon::slice(x, 0, 7, 8); };
        const std::string what = std::to_string(begin) + "+" + std::to_string(length);
        expect_same(tenon::logical_not(part(gpu)), tenon::logical_not(part(host)), "not " + what);
        expect_same(tenon::add(part(gpu), part(gpu)), tenon::add(part(host), part(host)), what);
        expect_same(tenon::mul(part(gpu), one(gpu)), tenon::mul(part(host), one(host)), what);
        expect_same(tenon::mul(one(gpu), part(gpu)), tenon::mul(one(host), part(host)), what);
        expect_same(tenon::clone(part(gpu)), tenon::clone(part(host)), "clone " + what);
        const Tensor yes = tenon::greater(part(host), one(host));
        expect_same(tenon::where(to_gpu(yes), part(gpu), one(gpu)),
                    tenon::where(yes, part(host), one(host)), "where " + what);
        expect_same(tenon::where(to_gpu(yes), part(gpu), part(gpu)), part(host), "where " + what);
      }
  }
}

// Rows in groups of four although the operands are not contiguous: a repeated row or column, a part of each row.
TEST(Layouts, OfRowsThatRepeat) {
  const Tensor x = tenon::uniform({37, 64}, -2, 2, {}, {}, tenon::Generator(4));
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64, DType::U8}) {
    const Tensor host = tenon::cast(tenon::abs(tenon::mul(x, 40.0)), dtype), gpu = to_gpu(host);
    for (const auto& shape : {std::pair{1, 64}, std::pair{37, 1}, std::pair{37, 64}})
      for (const int64_t begin : {0, 4, 8, 9}) {
        const auto rows = shape.first, columns = shape.second;  // clang 14 captures no bindings
        const auto left = [&](const Tensor& t) { return tenon::slice(t, 1, begin, begin + 20); };
        const auto right = [&](const Tensor& t) {
          const Tensor part = tenon::slice(tenon::slice(t, 0, 0, rows), 1, 0, columns);
          return columns == 1 ? part : tenon::slice(part, 1, 12, 32);
        };
        const std::string what = std::to_string(rows) + "x" + std::to_string(columns);
        expect_same(tenon::add(left(gpu), right(gpu)), tenon::add(left(host), right(host)), what);
        expect_same(tenon::clone(left(gpu)), tenon::clone(left(host)), what);
        expect_same(tenon::cast(left(gpu), DType::I32), tenon::cast(left(host), DType::I32), what);
        const Tensor yes = tenon::greater(x, 0.5);
        expect_same(tenon::where(left(to_gpu(yes)), left(gpu), right(gpu)),
                    tenon::where(left(yes), left(host), right(host)), what);
      }
  }
}

// Permuted dimensions, in blocks of 4 × 4, or element by element if a size is not a multiple of four or a row is not aligned.
TEST(Layouts, OfTransposedBlocks) {
  const Tensor all = tenon::uniform({36 * 132 * 4}, -2, 2, {}, {}, tenon::Generator(5));
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64, DType::I8})
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
             {36, 132}, {4, 4}, {130, 36}, {3, 40, 52}, {8, 12, 16}}) {
      int64_t count = 1;
      for (const int64_t size : shape) count *= size;
      const Tensor host = tenon::reshape(
                       tenon::slice(tenon::cast(tenon::mul(all, 60.0), dtype), 0, 0, count), shape),
                   gpu = to_gpu(host);
      std::vector<int64_t> order(shape.size());
      for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
      do {
        const auto turned = [&](const Tensor& x) { return tenon::permute(x, order); };
        const std::string what = std::string(tenon::name_of(dtype)) + " " +
                                 std::to_string(shape[0]) + " x " + std::to_string(shape[1]);
        expect_same(tenon::clone(turned(gpu)), tenon::clone(turned(host)), what);
        for (const int64_t begin : {1, 4}) {
          const auto part = [&](const Tensor& x) { return tenon::slice(turned(x), 0, begin); };
          if (begin < shape[static_cast<size_t>(order[0])])
            expect_same(tenon::clone(part(gpu)), tenon::clone(part(host)), what + ", a part");
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
}

// More workgroups than a dispatch may have, so each invocation takes several elements.
TEST(Layouts, BeyondTheMostWorkgroups) {
  const int64_t n = 65535 * 256 + 777;
  const Tensor x = to_gpu(tenon::arange(0, n, 1, DType::I32));
  const Tensor odd = tenon::bitwise_and(x, tenon::full({}, 1, DType::I32));
  EXPECT_EQ(tenon::to(tenon::slice(odd, 0, n - 3, n), "cpu").to_vector<int32_t>(),
            (std::vector<int32_t>{0, 1, 0}));
  const Tensor turned =
      tenon::add(tenon::transpose(tenon::reshape(tenon::slice(x, 0, 0, n - 1), {2, n / 2}), 0, 1),
                 tenon::full({}, 5, DType::I32));
  EXPECT_EQ(tenon::to(tenon::select(turned, 0, n / 2 - 1), "cpu").to_vector<int32_t>(),
            (std::vector<int32_t>{static_cast<int32_t>(n / 2 + 4), static_cast<int32_t>(n + 3)}));
}

TEST(Casts, AtTheEndsOfRanges) {
  std::vector<double> values = {0,
                                -0.0,
                                0.5,
                                -0.5,
                                0.999,
                                -1,
                                127,
                                128,
                                -128,
                                -129,
                                255,
                                256,
                                32767.5,
                                65535,
                                65536,
                                -32769,
                                2147483647.0,
                                2147483648.0,
                                -2147483649.0,
                                4294967295.0,
                                4294967296.0,
                                9.2e18,
                                9.3e18,
                                -9.3e18,
                                1e300,
                                -1e300,
                                65504,
                                65519.99,
                                65520,
                                3e-8,
                                2.98023223876953125e-8,
                                6e-8,
                                1 + 0x1p-11 + 0x1p-40,
                                1 + 0x1p-8 + 0x1p-40,
                                HUGE_VAL,
                                -HUGE_VAL,
                                std::nan("")};
  const Tensor exact = tenon::tensor(values);
  const DType dtypes[] = {DType::Bool, DType::U8,  DType::U16, DType::U32,  DType::I8,  DType::I16,
                          DType::I32,  DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64};
  for (const DType from : dtypes) {
    const Tensor host = tenon::cast(exact, from);
    for (const DType to : dtypes) {
      const Tensor got = tenon::cast(to_gpu(host), to), wanted = tenon::cast(host, to);
      expect_same(
          got, wanted,
          std::to_string(static_cast<int>(from)) + " to " + std::to_string(static_cast<int>(to)));
    }
  }
}

TEST(Integers, AreDividedAndRaisedAsOnTheCpu) {
  const std::vector<int64_t> values = {0,  1,  -1, 2,   -2,   3,   7,    -7, 31,
                                       32, 63, 64, 100, -100, 127, -128, 255};
  const auto n = static_cast<int64_t>(values.size());
  const Tensor x = tenon::tensor(values, {n, 1}), y = tenon::tensor(values, {1, n});
  for (const DType dtype : {DType::U8, DType::I8, DType::I16, DType::I32, DType::U32, DType::I64})
    for (const char* name :
         {"floor_divide", "remainder", "pow", "bitwise_left_shift", "bitwise_right_shift", "mul"}) {
      const Tensor a = tenon::cast(x, dtype), b = tenon::cast(y, dtype);
      expect_same(binary(name, to_gpu(a), to_gpu(b)), binary(name, a, b), name);
    }
  const Tensor least = tenon::full({1}, INT64_MIN, DType::I64),
               minus = tenon::full({1}, -1, DType::I64);
  expect_same(tenon::floor_divide(to_gpu(least), to_gpu(minus)), least, "smallest / -1");
}

}  // namespace
