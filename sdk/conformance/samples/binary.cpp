// Elementwise ops of two operands.
#include "binary.hpp"

namespace tenon::conformance {
namespace {

double floor_mod(double x, double y) { return x - y * std::floor(x / y); }

void add_arithmetic(Table& t) {
  binary(t, "add", [](Complex x, Complex y) { return x + y; }, {.dtypes = kReals | kComplex});
  binary(t, "sub", [](Complex x, Complex y) { return x - y; },
         {.low = 2, .high = 4, .low2 = 0, .dtypes = kReals | kComplex});
  binary(t, "mul", [](Complex x, Complex y) { return x * y; },
         {.dtypes = kReals | kComplex, .tolerance = 2});
  binary(
      t, "div", [](Complex x, Complex y) { return x / y; },
      {.low2 = 1, .high2 = 3, .dtypes = kReals | kComplex, .tolerance = 4, .result = fractional});
  binary(
      t, "floor_divide", of_reals([](double x, double y) { return std::floor(x / y); }),
      {.low = -9, .high = 9, .low2 = 1, .high2 = 3, .dtypes = kInts | kDouble, .gradient = false});
  binary(t, "remainder", of_reals(floor_mod),
         {.low = 1, .high = 9, .low2 = 2, .high2 = 4, .dtypes = kInts | kDouble, .tolerance = 20});
  binary(t, "pow", of_reals([](double x, double y) { return std::pow(x, y); }),
         {.low = 1, .high = 3, .low2 = 0, .high2 = 3, .tolerance = 8});
  binary(t, "maximum", of_reals([](double x, double y) { return std::max(x, y); }));
  binary(t, "minimum", of_reals([](double x, double y) { return std::min(x, y); }));
  binary(t, "atan2", of_reals([](double x, double y) { return std::atan2(x, y); }),
         {.low = 0.5, .high = 2, .low2 = 0.5, .dtypes = kFloats, .tolerance = 2});
  binary(t, "hypot", of_reals([](double x, double y) { return std::hypot(x, y); }),
         {.low = 0.5, .high = 2, .dtypes = kFloats, .tolerance = 2});
  binary(t, "copysign", of_reals([](double x, double y) { return std::copysign(x, y); }),
         {.low = 0.5, .dtypes = kFloats});
  binary(t, "nextafter", of_reals([](double x, double y) { return std::nextafter(x, y); }),
         {.dtypes = kFloats});
  binary(t, "logaddexp", of_reals([](double x, double y) {
           return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
         }),
         {.dtypes = kFloats, .tolerance = 2});
  binary(t, "complex", [](Complex x, Complex y) { return Complex(x.real(), y.real()); },
         {.dtypes = TN_MASK(TN_DTYPE_F32) | kDouble,
          .result = [](DType d) { return d == DType::F32 ? DType::C64 : DType::C128; }});
}

void add_special(Table& t) {
  struct Special {
    const char* op;
    std::function<double(double, double)> fn;
  };
  auto propagate = [](auto fn) {
    return [fn](double x, double y) { return std::isnan(x) || std::isnan(y) ? kNan : fn(x, y); };
  };
  const Special list[] = {
      {"maximum", propagate([](double x, double y) { return std::max(x, y); })},
      {"minimum", propagate([](double x, double y) { return std::min(x, y); })},
      {"add", [](double x, double y) { return x + y; }},
      {"div", [](double x, double y) { return x / y; }},
      {"pow", [](double x, double y) { return std::pow(x, y); }},
  };
  for (const Special& special : list) {
    Sample& s = t.add(
        special.op, "special", kFloats,
        [](DType dtype, Rng&) {
          double values[] = {kInf, -kInf, kNan, 0.0, 1.0, -2.0};
          Array x(dtype, {6, 1}), y(dtype, {6});
          for (size_t i = 0; i < 6; ++i) x.v[i] = y.v[i] = values[i];
          return Args{x, y};
        },
        [fn = special.fn](const Args& a) {
          const Array& x = array(a, arg::add::x);
          return one(zip(x, array(a, arg::add::y), x.dtype, of_reals(fn)));
        });
    s.gradient = false;
  }
}

void add_bits(Table& t) {
  auto bits = [](auto fn) {
    return [fn](Complex x, Complex y) {
      return Complex(
          static_cast<double>(fn(static_cast<int64_t>(x.real()), static_cast<int64_t>(y.real()))));
    };
  };
  Domains d{.low = -50, .high = 50, .low2 = -50, .high2 = 50, .dtypes = kInts | kBool};
  binary(t, "bitwise_and", bits([](int64_t x, int64_t y) { return x & y; }), d);
  binary(t, "bitwise_or", bits([](int64_t x, int64_t y) { return x | y; }), d);
  binary(t, "bitwise_xor", bits([](int64_t x, int64_t y) { return x ^ y; }), d);
  d = {.low = 0, .high = 7, .low2 = 0, .high2 = 3, .dtypes = kInts};
  binary(t, "bitwise_left_shift", bits([](int64_t x, int64_t y) { return x << y; }), d);
  d.low = -60, d.high = 60;
  binary(t, "bitwise_right_shift", bits([](int64_t x, int64_t y) { return x >> y; }), d);
}

// Operands with different dtypes, and numbers, which are weak.
void add_promotion(Table& t) {
  struct Pair {
    DType x, y, wanted;
  };
  const Pair pairs[] = {
      {DType::U8, DType::I8, DType::I16},    {DType::I32, DType::I64, DType::I64},
      {DType::U32, DType::I32, DType::I64},  {DType::F32, DType::F64, DType::F64},
      {DType::F16, DType::BF16, DType::F32}, {DType::I64, DType::F32, DType::F32},
      {DType::Bool, DType::I8, DType::I8},   {DType::Bool, DType::F16, DType::F16},
      {DType::F64, DType::C64, DType::C128}, {DType::F32, DType::C64, DType::C64}};
  for (const Pair& p : pairs)
    t.add(
         "add", "promotes " + std::string(name_of(p.x)) + " and " + std::string(name_of(p.y)),
         kDouble,
         [=](DType, Rng& rng) {
           return Args{random_array(rng, p.x, {3, 4}, 0, 9), random_array(rng, p.y, {4}, 0, 9)};
         },
         [=](const Args& a) {
           return one(zip(array(a, arg::add::x), array(a, arg::add::y), p.wanted,
                          [](Complex x, Complex y) { return x + y; }));
         })
        .tolerance = 1e6;
  t.add(
      "mul", "number", kFloats | kInts,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {3, 4}, 0, 9), Number{Scalar(3), 3}};
      },
      [](const Args& a) {
        return one(map(array(a, arg::mul::x), array(a, arg::mul::x).dtype,
                       [](Complex x) { return x * 3.0; }));
      });
  t.add(
      "sub", "number first", kFloats,
      [](DType dtype, Rng& rng) {
        return Args{Number{Scalar(1.5), 1.5}, random_array(rng, dtype, {3, 4})};
      },
      [](const Args& a) {
        return one(map(array(a, arg::sub::y), array(a, arg::sub::y).dtype,
                       [](Complex x) { return 1.5 - x; }));
      });
  t.add(
      "add", "float number with integers", kInts,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {5}, 0, 9), Number{Scalar(0.5), 0.5}};
      },
      [](const Args& a) {
        return one(map(array(a, arg::add::x), DType::F32, [](Complex x) { return x + 0.5; }));
      });
}

}  // namespace

void add_binary_samples(Table& table) {
  add_arithmetic(table);
  add_special(table);
  add_bits(table);
  add_promotion(table);
}

}  // namespace tenon::conformance
