// matmul and linear at shapes that the suite does not reach: across the edges of tiles, split sums, thin operands, many workgroups.
#include "against_cpu.hpp"

namespace {

using namespace test_vulkan;
using reference::fractions;
using reference::whole_numbers;

constexpr DType kDtypes[] = {DType::F32, DType::F16, DType::BF16, DType::F64, DType::I32,
                             DType::I64, DType::U32, DType::U8,   DType::I16};

void check(DType dtype, const Shape& x, const Shape& y, double factor = 1) {
  const Array a = whole_numbers(x, 1, false), b = whole_numbers(y, 2, false);
  std::string what = "matmul";
  for (const Shape* shape : {&x, &y}) {
    what += " (";
    for (const int64_t size : *shape) what += std::to_string(size) + " ";
    what += ")";
  }
  expect_same(
      dtype, what, [&](const Place& on) { return tenon::matmul(on(a), on(b)); }, factor);
}

TEST(Matmul, AcrossTileEdges) {
  const Shape sizes[] = {{1, 1, 1},    {5, 3, 7},      {31, 33, 32},  {33, 31, 33},  {64, 16, 64},
                         {65, 17, 63}, {70, 129, 130}, {128, 40, 65}, {257, 15, 34}, {9, 300, 9}};
  for (const Shape& s : sizes)
    for (const DType dtype : {DType::F32, DType::I32}) check(dtype, {s[0], s[1]}, {s[1], s[2]});
}

TEST(Matmul, EveryDtype) {
  for (const DType dtype : kDtypes) {
    check(dtype, {45, 37}, {37, 70});
    check(dtype, {3, 70}, {70, 41});
  }
}

// Enough tiles for the largest tile size to be chosen.
TEST(Matmul, LargeTiles) {
  check(DType::F32, {1, 2100, 3}, {1, 3, 2050});
  check(DType::F16, {4, 1030, 9}, {4, 9, 1025});
  check(DType::F64, {2, 1030, 3}, {2, 3, 600});
}

// Few results with long sums: the sums are computed in parts.
TEST(Matmul, SplitSums) {
  for (const DType dtype : {DType::F32, DType::F16, DType::F64, DType::I64}) {
    const Array a = fractions({40, 5003}, 3), b = fractions({5003, 36}, 4);
    const double factor = dtype == DType::F32 ? 20 : 4;
    if (tenon::is_floating(dtype))
      expect_same(
          dtype, "split", [&](const Place& on) { return tenon::matmul(on(a), on(b)); }, factor);
    else
      check(dtype, {40, 5003}, {5003, 36});
    check(dtype == DType::F16 ? DType::F32 : dtype, {2, 70001}, {70001, 3});
  }
}

TEST(Matmul, ThinOperands) {
  for (const int64_t rows : {1, 4, 5})
    for (const int64_t n : {1, 33, 200}) {
      check(DType::F32, {rows, 77}, {77, n});
      const Array a = whole_numbers({rows, 90}, 5), b = whole_numbers({n, 90}, 6);
      expect_same(DType::F32, "thin, transposed",
                  [&](const Place& on) { return tenon::matmul(on(a), on(b).transpose(0, 1)); });
    }
  for (const DType dtype : {DType::BF16, DType::F64, DType::I64, DType::U8}) {
    check(dtype, {100}, {100});
    check(dtype, {300, 77}, {77});
    check(dtype, {77}, {77, 300});
  }
}

// Four elements are read at once if everything is aligned, otherwise one by one.
TEST(Matmul, ThinOperandsInQuads) {
  for (const DType dtype : {DType::F32, DType::F16, DType::F64, DType::U8}) {
    check(dtype, {3, 128}, {128, 256});
    check(dtype, {2, 5, 1, 132}, {5, 132, 140});
    const Array a = whole_numbers({2, 136}, 17, false), b = whole_numbers({140, 136}, 18, false);
    const auto product = [&](const Place& on, int64_t first) {
      return tenon::matmul(on(a).slice(1, first), on(b).slice(1, first).transpose(0, 1));
    };
    for (const int64_t first : {0, 1, 4})
      expect_same(dtype, "along k", [&](const Place& on) { return product(on, first); });
    expect_same(dtype, "backwards", [&](const Place& on) {
      return tenon::matmul(on(a), on(b).flip(1).transpose(0, 1));
    });
  }
}

TEST(Matmul, OperandsAreNotCopied) {
  const Array a = whole_numbers({3, 66, 50}, 7), b = whole_numbers({3, 50, 70}, 8);
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64, DType::I16}) {
    expect_same(dtype, "transposed", [&](const Place& on) {
      const Tensor x = on(a).transpose(1, 2).contiguous().transpose(1, 2);
      const Tensor y = on(b).transpose(0, 2).contiguous().transpose(0, 2);
      return tenon::matmul(x, y);
    });
    expect_same(dtype, "backwards and with gaps", [&](const Place& on) {
      return tenon::matmul(on(a).slice(1, {}, {}, 3), on(b).slice(2, 5, 60));
    });
    expect_same(dtype, "one left operand for a batch",
                [&](const Place& on) { return tenon::matmul(on(a).select(0, 1), on(b)); });
    expect_same(dtype, "one right operand for a batch",
                [&](const Place& on) { return tenon::matmul(on(a), on(b).select(0, 2)); });
  }
}

// More products than one dispatch has workgroups.
TEST(Matmul, LargeBatches) {
  check(DType::F32, {70000, 1, 3}, {70000, 3, 1});
  check(DType::F32, {300, 7, 5}, {300, 5, 6});
  check(DType::F32, {6, 1, 9, 11}, {1, 5, 11, 8});
}

TEST(Linear, BiasAndActivationOnEveryPath) {
  for (const std::string activation :
       {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"})
    for (const DType dtype : {DType::F32, DType::F64})
      // With tiles, with few rows, with split sums.
      for (const Shape& s : {Shape{70, 33, 65}, Shape{2, 100, 40}, Shape{36, 5000, 34}}) {
        const Array x = fractions({s[0], s[1]}, 9), w = fractions({s[2], s[1]}, 10),
                    b = fractions({s[2]}, 11);
        expect_same(
            dtype, "linear " + activation,
            [&](const Place& on) { return tenon::linear(on(x), on(w), on(b), activation); },
            s[1] > 1000 ? 40 : 6);
      }
}

TEST(Linear, OneOutputAndStridedBias) {
  const Array x = whole_numbers({50, 20}, 12), w = whole_numbers({1, 20}, 13),
              b = whole_numbers({1}, 14);
  expect_same(DType::F32, "one output",
              [&](const Place& on) { return tenon::linear(on(x), on(w), on(b), "relu"); });
  const Array v = whole_numbers({34, 20}, 15), c = whole_numbers({68}, 16);
  expect_same(DType::I32, "strided bias", [&](const Place& on) {
    return tenon::linear(on(x), on(v), on(c).slice(0, {}, {}, 2));
  });
}

}  // namespace
