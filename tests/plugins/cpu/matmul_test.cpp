// matmul and linear, compared with plain loops in double precision.
#include "reference.hpp"

namespace {

using namespace reference;
using tenon::DType;
using tenon::Tensor;

constexpr DType kReal[] = {DType::U8,  DType::U16, DType::U32, DType::U64,  DType::I8,  DType::I16,
                           DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64};
bool is_unsigned(DType d) {
  return d == DType::U8 || d == DType::U16 || d == DType::U32 || d == DType::U64;
}
bool is_float(DType d) {
  return d == DType::F16 || d == DType::BF16 || d == DType::F32 || d == DType::F64;
}

// (batch…, m, k)·(batch…, k, n) with broadcast batches; both operands have at least two dimensions.
Array product(const Array& x, const Array& y) {
  const size_t rank = std::max(x.shape.size(), y.shape.size());
  const auto size = [&](const Array& a, size_t d) {
    const size_t missing = rank - a.shape.size();
    return d < missing ? int64_t{1} : a.shape[d - missing];
  };
  Shape shape;
  for (size_t d = 0; d + 2 < rank; ++d) shape.push_back(size(x, d) == 1 ? size(y, d) : size(x, d));
  const int64_t batches = count(shape), m = x.shape[x.shape.size() - 2], k = x.shape.back(),
                n = y.shape.back();
  shape.push_back(m);
  shape.push_back(n);
  Array out(shape);
  for (int64_t b = 0; b < batches; ++b) {
    int64_t rest = b, xb = 0, yb = 0, xs = 1, ys = 1;
    for (size_t d = rank - 2; d-- > 0;) {
      const int64_t i = rest % shape[d];
      rest /= shape[d];
      if (size(x, d) > 1) xb += i * xs;
      if (size(y, d) > 1) yb += i * ys;
      xs *= size(x, d);
      ys *= size(y, d);
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += x[(xb * m + i) * k + p] * y[(yb * k + p) * n + j];
        out[(b * m + i) * n + j] = sum;
      }
  }
  return out;
}

// The same elements in another layout: 0 unchanged, 1 transposed, 2 every other element of a larger tensor, 3 a cut-out.
Tensor lay_out(const Array& a, DType dtype, int layout) {
  Tensor t = to_tensor(a, dtype);
  if (layout == 1) return t.transpose(-1, -2).contiguous().transpose(-1, -2);
  if (layout == 2) {
    Shape wide = a.shape;
    wide.back() *= 2;
    Array b(wide);
    for (size_t i = 0; i < a.v.size(); ++i) b.v[2 * i] = a.v[i];
    return to_tensor(b, dtype).slice(-1, {}, {}, 2);
  }
  if (layout == 3) {
    Shape wide = a.shape;
    wide.back() += 3;
    Array b(wide, 1);
    const int64_t n = a.shape.back();
    for (int64_t i = 0; i < count(a.shape); ++i) b[i / n * (n + 3) + 1 + i % n] = a[i];
    return to_tensor(b, dtype).slice(-1, 1, n + 1);
  }
  return t;
}

std::string name(const Shape& x, const Shape& y, DType dtype) {
  std::string text(tenon::name_of(dtype));
  for (const Shape* s : {&x, &y}) {
    text += " (";
    for (const int64_t size : *s) text += std::to_string(size) + " ";
    text += ")";
  }
  return text;
}

TEST(Matmul, EveryDtypeAndLayout) {
  for (const DType dtype : kReal)
    for (int left = 0; left < 4; ++left)
      for (int right = 0; right < 4; ++right) {
        const Array x = whole_numbers({5, 9}, 1, !is_unsigned(dtype)),
                    y = whole_numbers({9, 21}, 2, false);
        expect_close(matmul(lay_out(x, dtype, left), lay_out(y, dtype, right)), product(x, y),
                     is_float(dtype) ? tolerance_of(dtype) : 0,
                     name(x.shape, y.shape, dtype) + " layouts " + std::to_string(left) +
                         std::to_string(right));
      }
}

TEST(Matmul, SizesAroundTheTiles) {
  uint32_t seed = 1;
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16})
    for (const int64_t m : {1, 2, 3, 7, 8, 13, 16, 17, 64, 100})
      for (const int64_t n : {1, 4, 15, 16, 17, 33, 48, 97})
        for (const int64_t k : {1, 8, 31, 64, 129, 300}) {
          if (dtype != DType::F32 && (m + n + k) % 3 != 0) continue;
          const Array x = fractions({m, k}, ++seed), y = fractions({k, n}, ++seed);
          const int layouts = static_cast<int>(seed % 4);
          expect_close(matmul(lay_out(x, dtype, layouts & 1), lay_out(y, dtype, layouts >> 1)),
                       product(x, y), tolerance_of(dtype) * 4,
                       name(x.shape, y.shape, dtype) + " layouts " + std::to_string(layouts));
        }
}

// Products and sums of all bits, wrapped around, with a bias and without negative results.
template <class T>
void expect_wrapped_products() {
  using Wide = uint64_t;
  uint64_t state = sizeof(T) + std::is_signed_v<T>;
  const auto numbers = [&](int64_t n, int shift) {
    std::vector<T> found(static_cast<size_t>(n));
    for (T& x : found) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x = static_cast<T>(static_cast<int64_t>(state) >> shift);
    }
    return found;
  };
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 40, 9},
                                {3, 7, 33},
                                {5, 0, 4},
                                {9, 70, 1},
                                {13, 5, 65},
                                {98, 600, 130},
                                {2, 3, 1100}})
    for (const int shift : {0, 33})  // of 64 bits, few or many do not fit 32
      for (int layouts = 0; layouts < 4; ++layouts) {
        const std::vector<T> x = numbers(m * k, shift), y = numbers(k * n, shift / 8),
                             bias = numbers(n, shift);
        std::vector<T> plain(static_cast<size_t>(m * n)), positive(plain.size());
        for (int64_t i = 0; i < m * n; ++i) {
          Wide sum = 0;
          for (int64_t p = 0; p < k; ++p)
            sum += static_cast<Wide>(x[static_cast<size_t>(i / n * k + p)]) *
                   static_cast<Wide>(y[static_cast<size_t>(p * n + i % n)]);
          plain[static_cast<size_t>(i)] = static_cast<T>(sum);
          const T whole = static_cast<T>(sum + static_cast<Wide>(bias[static_cast<size_t>(i % n)]));
          positive[static_cast<size_t>(i)] = std::max(whole, T(0));
        }
        const auto laid = [&](const std::vector<T>& v, int64_t rows, int64_t columns, bool turned) {
          const Tensor t = tenon::tensor(v).reshape({rows, columns});
          return turned ? t.transpose(0, 1).contiguous().transpose(0, 1) : t;
        };
        const Tensor a = laid(x, m, k, (layouts & 1) != 0), b = laid(y, k, n, layouts > 1);
        EXPECT_EQ(matmul(a, b).template to_vector<T>(), plain) << m << " " << k << " " << n;
        EXPECT_EQ(linear(a, b.transpose(0, 1), tenon::tensor(bias), "relu").template to_vector<T>(),
                  positive)
            << m << " " << k << " " << n;
      }
}
TEST(Matmul, IntegersWrapAround) {
  expect_wrapped_products<int8_t>();
  expect_wrapped_products<uint8_t>();
  expect_wrapped_products<int16_t>();
  expect_wrapped_products<uint16_t>();
  expect_wrapped_products<int32_t>();
  expect_wrapped_products<uint32_t>();
  expect_wrapped_products<int64_t>();
  expect_wrapped_products<uint64_t>();
}

// Many products of a few numbers each, of which some are one vector wide.
TEST(Matmul, BatchesOfTinyProducts) {
  uint32_t seed = 300;
  for (const DType dtype : {DType::F32, DType::F64})
    for (const int64_t m : {1, 3, 8, 17})
      for (const int64_t n : {1, 2, 3, 5, 8, 16, 17})
        for (const int64_t k : {1, 2, 3, 4, 5, 16, 31})
          for (int layouts = 0; layouts < 16; layouts += 3) {
            const Array x = whole_numbers({3, 4, m, k}, ++seed),
                        y = whole_numbers({4, k, n}, ++seed);
            expect_close(matmul(lay_out(x, dtype, layouts & 3), lay_out(y, dtype, layouts >> 2)),
                         product(x, y), 0,
                         name(x.shape, y.shape, dtype) + " layouts " + std::to_string(layouts));
          }
}

// One or a few columns beyond whole vectors, such as 7×7 positions, over several slices of k.
TEST(Matmul, ColumnsLeft) {
  uint32_t seed = 900;
  for (const DType dtype : {DType::F32, DType::F64})
    for (const int64_t n : {17, 33, 34, 49, 50, 52, 53, 113})
      for (const int64_t m : {95, 97, 500}) {
        const Array x = whole_numbers({m, 700}, ++seed), y = whole_numbers({700, n}, ++seed);
        expect_close(matmul(to_tensor(x, dtype), to_tensor(y, dtype)), product(x, y), 0,
                     name(x.shape, y.shape, dtype));
      }
}

TEST(Matmul, LargeEnoughForThreadsAndCacheBlocks) {
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{300, 260, 280}, {500, 130, 700}, {7, 1000, 600}, {1000, 3, 500}})
    for (int layouts = 0; layouts < 4; ++layouts) {
      const Array x = whole_numbers({m, k}, 3), y = whole_numbers({k, n}, 4), want = product(x, y);
      expect_close(
          matmul(lay_out(x, DType::F32, layouts & 1), lay_out(y, DType::F32, layouts >> 1)), want,
          0, "f32");
      expect_close(
          matmul(lay_out(x, DType::F64, layouts & 1), lay_out(y, DType::F64, layouts >> 1)), want,
          0, "f64");
    }
}

// Lines of a matrix that are added to one row of sums, in groups of eight and singly.
TEST(Matmul, ARowTimesAWideMatrix) {
  for (const DType dtype : {DType::F32, DType::F64})
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{701, 603}, {300, 3}, {1040, 64}}) {
      const Array x = whole_numbers({1, k}, 41), y = whole_numbers({k, n}, 42),
                  b = whole_numbers({n}, 43), want = product(x, y);
      const Tensor tx = to_tensor(x, dtype), ty = to_tensor(y, dtype);
      expect_close(matmul(tx, ty), want, 0, name(x.shape, y.shape, dtype));
      const Tensor column = matmul(ty.transpose(0, 1), tx.transpose(0, 1));
      expect_close(column.transpose(0, 1).contiguous(), want, 0, "as a column");
      Array biased = want;
      for (int64_t j = 0; j < n; ++j) biased[j] = std::max(0.0, biased[j] + b[j]);
      expect_close(linear(tx, ty.transpose(0, 1), to_tensor(b, dtype), "relu"), biased, 0,
                   "linear");
    }
}

// Products of halves that are large enough for oneDNN.
TEST(Matmul, LargeHalves) {
  for (const DType dtype : {DType::BF16, DType::F16})
    for (int layouts = 0; layouts < 16; ++layouts) {
      const Array x = whole_numbers({90, 110}, 30), y = whole_numbers({110, 100}, 31),
                  b = whole_numbers({100}, 32);
      const Tensor tx = lay_out(x, dtype, layouts & 3), ty = lay_out(y, dtype, layouts >> 2);
      const Array want = product(x, y);
      expect_close(matmul(tx, ty), want, tolerance_of(dtype), "layouts " + std::to_string(layouts));
      Array biased = want;
      for (int64_t i = 0; i < count(want.shape); ++i)
        biased[i] = std::max(0.0, want[i] + b[i % 100]);
      expect_close(linear(tx, ty.transpose(0, 1), to_tensor(b, dtype), "relu"), biased,
                   tolerance_of(dtype), "linear");
    }
  const Array x = whole_numbers({2, 1, 60, 70}, 33), y = whole_numbers({3, 70, 80}, 34);
  expect_close(matmul(to_tensor(x, DType::BF16), to_tensor(y, DType::BF16)), product(x, y),
               tolerance_of(DType::BF16), "batches");
  expect_close(matmul(to_tensor(x, DType::BF16).permute({1, 0, 2, 3}).transpose(0, 1),
                      to_tensor(y, DType::BF16)),
               product(x, y), tolerance_of(DType::BF16), "permuted batches");
}

TEST(Matmul, BatchesBroadcast) {
  const std::pair<Shape, Shape> shapes[] = {
      {{3, 4, 5}, {5, 6}},          {{3, 4, 5}, {3, 5, 6}},       {{4, 5}, {3, 5, 6}},
      {{2, 1, 4, 5}, {3, 5, 6}},    {{2, 3, 4, 5}, {1, 5, 2}},    {{1, 4, 5}, {7, 5, 1}},
      {{7, 1, 5}, {5, 3}},          {{2, 3, 1, 5}, {2, 3, 5, 4}}, {{64, 8, 16}, {64, 16, 8}},
      {{5, 2, 40, 64}, {2, 64, 48}}};
  for (const auto& [sx, sy] : shapes)
    for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::BF16, DType::F16}) {
      const Array x = whole_numbers(sx, 5), y = whole_numbers(sy, 6);
      expect_close(matmul(to_tensor(x, dtype), to_tensor(y, dtype)), product(x, y),
                   is_float(dtype) ? tolerance_of(dtype) : 0, name(sx, sy, dtype));
    }
  // A batch that shows one matrix many times, and a batch in another order.
  const Array x = whole_numbers({4, 5}, 7), y = whole_numbers({2, 3, 5, 6}, 8);
  expect_close(matmul(to_tensor(x, DType::F32).expand({2, 3, 4, 5}), to_tensor(y, DType::F32)),
               product(x, y), 0, "expanded");
  const Tensor swapped = to_tensor(y, DType::F32).permute({1, 0, 2, 3});
  expect_close(matmul(to_tensor(x, DType::F32), swapped).permute({1, 0, 2, 3}).contiguous(),
               product(x, y), 0, "permuted");
}

TEST(Matmul, Vectors) {
  const Array row = whole_numbers({1, 40}, 9), matrix = whole_numbers({40, 33}, 10),
              batch = whole_numbers({3, 40, 33}, 11);
  for (const DType dtype : {DType::F32, DType::F64, DType::I64, DType::F16}) {
    const Tensor v = to_tensor(row, dtype).reshape({40}), m = to_tensor(matrix, dtype);
    Array want = product(row, matrix);
    want.shape = {33};
    expect_close(matmul(v, m), want, tolerance_of(dtype), "vector matrix");
    expect_close(matmul(m.transpose(0, 1), v), want, tolerance_of(dtype), "matrix vector");
    expect_close(matmul(m.transpose(0, 1).contiguous(), v), want, tolerance_of(dtype),
                 "matrix vector");
    want = product(row, batch);
    want.shape = {3, 33};
    expect_close(matmul(v, to_tensor(batch, dtype)), want, tolerance_of(dtype), "vector batch");
    expect_close(matmul(to_tensor(batch, dtype).transpose(1, 2), v), want, tolerance_of(dtype),
                 "batch vector");
    double dot = 0;
    for (const double x : row.v) dot += x * x;
    EXPECT_EQ(values(matmul(v, v)).at(0), dot);
    EXPECT_EQ(matmul(v, v).ndim(), 0);
  }
}

TEST(Matmul, Complex) {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Array xr = whole_numbers({4, 7}, 12), xi = whole_numbers({4, 7}, 13),
                yr = whole_numbers({7, 70}, 14), yi = whole_numbers({7, 70}, 15);
    const Tensor z = matmul(complex(to_tensor(xr, dtype), to_tensor(xi, dtype)),
                            complex(to_tensor(yr, dtype), to_tensor(yi, dtype)));
    Array re = product(xr, yr), im = product(xr, yi);
    const Array ii = product(xi, yi), ir = product(xi, yr);
    for (size_t i = 0; i < re.v.size(); ++i) re.v[i] -= ii.v[i], im.v[i] += ir.v[i];
    expect_close(real(z), re, 0, "real part");
    expect_close(imag(z), im, 0, "imaginary part");
  }
}

TEST(Matmul, Empty) {
  for (const DType dtype : {DType::F32, DType::I32, DType::BF16}) {
    EXPECT_EQ(shape_of(matmul(tenon::zeros({0, 3}, dtype), tenon::zeros({3, 4}, dtype))),
              (Shape{0, 4}));
    EXPECT_EQ(shape_of(matmul(tenon::zeros({2, 0, 3, 5}, dtype), tenon::zeros({5, 4}, dtype))),
              (Shape{2, 0, 3, 4}));
    expect_close(matmul(tenon::zeros({2, 0}, dtype), tenon::zeros({0, 3}, dtype)), Array({2, 3}), 0,
                 "nothing to sum");
  }
}

TEST(Matmul, SameResultEachTime) {
  const Tensor x = to_tensor(fractions({130, 300}, 16), DType::F32),
               y = to_tensor(fractions({300, 170}, 17), DType::F32);
  const auto first = values(matmul(x, y));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(values(matmul(x, y)), first);
}

TEST(Matmul, Errors) {
  const Tensor a = tenon::zeros({2, 3}), b = tenon::zeros({4, 5});
  EXPECT_EQ(error_of([&] { matmul(a, b); }),
            "[matmul] inner sizes differ: shapes (2, 3) and (4, 5) (3 and 4)");
  EXPECT_NE(error_of([&] { matmul(tenon::zeros({}), b); }).find("at least one dimension"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              matmul(tenon::zeros({2, 3, 4}), tenon::zeros({3, 4, 2}));
            }).find("broadcast"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              matmul(tenon::zeros({2, 3}, DType::Bool), a);
            }).find("[matmul]"),
            std::string::npos);
}

Array linear_reference(const Array& x, const Array& weight, const Array* bias,
                       const std::string& activation) {
  Array wt({weight.shape[1], weight.shape[0]});
  for (int64_t o = 0; o < weight.shape[0]; ++o)
    for (int64_t i = 0; i < weight.shape[1]; ++i)
      wt[i * weight.shape[0] + o] = weight[o * weight.shape[1] + i];
  Array flat = x;
  flat.shape = {count(x.shape) / x.shape.back(), x.shape.back()};
  Array out = product(flat, wt);
  out.shape = x.shape;
  out.shape.back() = weight.shape[0];
  for (size_t i = 0; i < out.v.size(); ++i) {
    double& y = out.v[i];
    if (bias != nullptr) y += bias->v[i % bias->v.size()];
    if (activation == "relu") y = std::max(y, 0.0);
    if (activation == "gelu") y = 0.5 * y * (1 + std::erf(y * std::sqrt(0.5)));
    if (activation == "gelu_tanh")
      y *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
    if (activation == "silu") y = y / (1 + std::exp(-y));
    if (activation == "sigmoid") y = 1 / (1 + std::exp(-y));
    if (activation == "tanh") y = std::tanh(y);
  }
  return out;
}

TEST(Linear, ActivationsDtypesBias) {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64})
    for (const char* activation : {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"})
      for (const Shape& shape :
           {Shape{6}, Shape{3, 6}, Shape{2, 5, 6}, Shape{40, 6}, Shape{0, 6}}) {
        const Array x = fractions(shape, 20), w = fractions({70, 6}, 21), b = fractions({70}, 22);
        const Tensor tx = to_tensor(x, dtype), tw = to_tensor(w, dtype), tb = to_tensor(b, dtype);
        const std::string what = std::string(activation) + " " + name(shape, w.shape, dtype);
        expect_close(linear(tx, tw, tb, activation), linear_reference(x, w, &b, activation),
                     tolerance_of(dtype), what);
        expect_close(linear(tx, tw, {}, activation), linear_reference(x, w, nullptr, activation),
                     tolerance_of(dtype), what);
      }
}

// Weights are read once and widened on the fly; the last vector and the last columns are incomplete.
TEST(Linear, FewRowsOfHalves) {
  for (const DType dtype : {DType::F16, DType::BF16})
    for (int64_t rows = 1; rows <= 5; ++rows)
      for (const int64_t k : {64, 131, 1000})
        for (const int64_t n : {1, 6, 77}) {
          const Array x = fractions({rows, k}, 40), w = fractions({n, k}, 41),
                      b = fractions({n}, 42);
          const Tensor tx = to_tensor(x, dtype), tw = to_tensor(w, dtype), tb = to_tensor(b, dtype);
          for (const char* activation : {"none", "relu", "gelu"})
            expect_close(linear(tx, tw, tb, activation), linear_reference(x, w, &b, activation),
                         8 * tolerance_of(dtype), name(x.shape, w.shape, dtype));
          expect_close(matmul(tx, tw.transpose(0, 1)), linear_reference(x, w, nullptr, "none"),
                       8 * tolerance_of(dtype), name(x.shape, w.shape, dtype));
        }
}

TEST(Linear, LayoutsAndLargeBias) {
  const Array x = fractions({33, 200}, 23), w = fractions({130, 200}, 24), b = fractions({130}, 25);
  Array spread({260});
  for (int64_t i = 0; i < 130; ++i) spread[2 * i] = b[i];
  for (int left = 0; left < 4; ++left)
    for (int right = 0; right < 4; ++right)
      for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
        const Tensor bias = to_tensor(spread, dtype).slice(0, {}, {}, 2);
        expect_close(linear(lay_out(x, dtype, left), lay_out(w, dtype, right), bias, "relu"),
                     linear_reference(x, w, &b, "relu"), 4 * tolerance_of(dtype), "strided bias");
      }
  const Array xi = whole_numbers({4, 9}, 26), wi = whole_numbers({5, 9}, 27),
              bi = whole_numbers({5}, 28);
  expect_close(linear(to_tensor(xi, DType::I32), to_tensor(wi, DType::I32),
                      to_tensor(bi, DType::I32), "relu"),
               linear_reference(xi, wi, &bi, "relu"), 0, "integers");
}

// A single column is processed as a row, with one bias value for all of it; a bias may also be one value shown many times.
// Few rows at a time, as of a tensor (time, batch, k) that was (batch, time, k), are one product, in the same bits; many of them a few.
TEST(Linear, RowsApart) {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (const Shape& shape : {Shape{2, 50, 40}, Shape{3, 7, 5, 64}, Shape{3, 1000, 130}}) {
      const Tensor x = tenon::rand(shape).to(dtype).transpose(0, 1),
                   weight = tenon::rand({33, shape.back()}).to(dtype),
                   bias = tenon::rand({33}).to(dtype);
      const auto expect_same = [&](const Tensor& of_view, const Tensor& of_copy) {
        EXPECT_EQ(values(of_view), values(of_copy)) << shape.size() << " " << shape.back();
      };
      const Tensor copy = x.contiguous();
      expect_same(linear(x, weight, bias), linear(copy, weight, bias));
      expect_same(linear(x, weight, {}, "relu"), linear(copy, weight, {}, "relu"));
      expect_same(matmul(x, weight.transpose(0, 1)), matmul(copy, weight.transpose(0, 1)));
    }
}

TEST(Linear, OneColumnAndOneValue) {
  for (const Shape& shape : {Shape{33, 7}, Shape{900, 700}})
    for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
      const Array x = fractions(shape, 29), w = fractions({1, shape[1]}, 30),
                  v = fractions({5, shape[1]}, 31), b = fractions({1}, 32);
      const Tensor bias = to_tensor(b, dtype);
      expect_close(linear(to_tensor(x, dtype), to_tensor(w, dtype), bias, "relu"),
                   linear_reference(x, w, &b, "relu"), 8 * tolerance_of(dtype), "one column");
      expect_close(linear(to_tensor(x, dtype), to_tensor(v, dtype), expand(bias, {5})),
                   linear_reference(x, v, &b, "none"), 8 * tolerance_of(dtype), "one value");
    }
}

TEST(Linear, KeepsNotANumber) {
  Array x({2, 3}, 1);
  x[0] = std::nan("");
  const Array w({4, 3}, 1);
  const auto y = values(linear(to_tensor(x, DType::F32), to_tensor(w, DType::F32), {}, "relu"));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[4], 3);
}

TEST(Linear, NonFiniteRowsInEightBitsBecomeNan) {
  constexpr double kInf = INFINITY, kMost = 3e38;  // twice that is no f32
  const Tensor packed = tenon::full({3, 4}, 2, DType::I8), scale = tenon::full({3, 1}, 0.5);
  const auto row = [&](const std::vector<double>& x) {
    return values(linear_w8a8(tenon::tensor(x, {1, 4}, DType::F32), packed, scale));
  };
  for (const double y : row({1, 2, 3, 4})) EXPECT_NEAR(y, 10, 0.1);
  for (const auto& x : {row({1, kInf, 3, 4}), row({1, -kInf, 3, 4}), row({kMost, -kMost, 3, 4})})
    for (const double y : x) EXPECT_TRUE(std::isnan(y));
  EXPECT_EQ(row({0, 0, 0, 0}), (std::vector<double>{0, 0, 0}));
}

TEST(Linear, Errors) {
  const Tensor x = tenon::zeros({2, 3}), w = tenon::zeros({4, 3});
  EXPECT_NE(error_of([&] {
              linear(x, tenon::zeros({4, 5}));
            }).find("(3 and 5 features)"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              linear(x, w, tenon::zeros({3}));
            }).find("bias must have shape (4,), got (3,)"),
            std::string::npos);
  EXPECT_NE(error_of([&] { linear(x, w, {}, "swish"); }).find("unknown activation \"swish\""),
            std::string::npos);
  EXPECT_NE(error_of([&] { linear(x, tenon::zeros({3})); }).find("weight must be (out, in)"),
            std::string::npos);
}

}  // namespace
