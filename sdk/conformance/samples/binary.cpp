// Elementwise ops of two and more operands.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// Pairs of shapes that broadcast.
const std::vector<std::pair<Shape, Shape>>& pairs() {
  static const std::vector<std::pair<Shape, Shape>> list = {
      {{2, 3, 4}, {2, 3, 4}}, {{37}, {37}}, {{2, 3, 4}, {4}}, {{3, 1}, {1, 5}},
      {{2, 3}, {}},           {{}, {}},     {{0, 3}, {1, 3}}};
  return list;
}

struct Domain {
  double low = -2, high = 2, low2 = -2, high2 = 2;
  uint64_t dtypes = kReals;
  double tolerance = 1;
  bool gradient = true;
  DType (*result)(DType) = [](DType d) { return d; };
};

template <class Fn>
void binary(Table& t, const std::string& op, Fn fn, Domain d = {}) {
  for (const auto& [a, b] : pairs()) {
    Sample& s = t.add(
        op, label_of(a) + label_of(b), d.dtypes,
        [=, a = a, b = b](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, a, d.low, d.high),
                      random_array(rng, dtype, b, d.low2, d.high2)};
        },
        [=](const Args& args) {
          const Array& x = array(args, 0);
          return one(zip(x, array(args, 1), d.result(x.dtype), fn));
        });
    s.tolerance = d.tolerance;
    s.gradient = d.gradient && a.size() != 1;
  }
}

template <class Fn>
auto of_reals(Fn fn) {
  return
      [fn](Complex x, Complex y) { return Complex(static_cast<double>(fn(x.real(), y.real()))); };
}

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
          return one(zip(array(a, 0), array(a, 1), array(a, 0).dtype, of_reals(fn)));
        });
    s.gradient = false;
  }
}

void add_comparisons(Table& t) {
  DType (*boolean)(DType) = [](DType) { return DType::Bool; };
  Domain d{
      .low = -1, .high = 1, .low2 = -1, .high2 = 1, .dtypes = kReals | kBool, .result = boolean};
  binary(t, "less", of_reals([](double x, double y) { return x < y; }), d);
  binary(t, "less_equal", of_reals([](double x, double y) { return x <= y; }), d);
  binary(t, "greater", of_reals([](double x, double y) { return x > y; }), d);
  binary(t, "greater_equal", of_reals([](double x, double y) { return x >= y; }), d);
  d.dtypes |= kComplex;
  binary(
      t, "equal", [](Complex x, Complex y) { return Complex(x == y); }, d);
  binary(
      t, "not_equal", [](Complex x, Complex y) { return Complex(x != y); }, d);
  binary(
      t, "logical_and", [](Complex x, Complex y) { return Complex(x != 0.0 && y != 0.0); }, d);
  binary(
      t, "logical_or", [](Complex x, Complex y) { return Complex(x != 0.0 || y != 0.0); }, d);
  binary(
      t, "logical_xor", [](Complex x, Complex y) { return Complex((x != 0.0) != (y != 0.0)); }, d);
}

void add_bits(Table& t) {
  auto bits = [](auto fn) {
    return [fn](Complex x, Complex y) {
      return Complex(
          static_cast<double>(fn(static_cast<int64_t>(x.real()), static_cast<int64_t>(y.real()))));
    };
  };
  Domain d{.low = -50, .high = 50, .low2 = -50, .high2 = 50, .dtypes = kInts | kBool};
  binary(t, "bitwise_and", bits([](int64_t x, int64_t y) { return x & y; }), d);
  binary(t, "bitwise_or", bits([](int64_t x, int64_t y) { return x | y; }), d);
  binary(t, "bitwise_xor", bits([](int64_t x, int64_t y) { return x ^ y; }), d);
  d = {.low = 0, .high = 7, .low2 = 0, .high2 = 3, .dtypes = kInts};
  binary(t, "bitwise_left_shift", bits([](int64_t x, int64_t y) { return x << y; }), d);
  d.low = -60, d.high = 60;
  binary(t, "bitwise_right_shift", bits([](int64_t x, int64_t y) { return x >> y; }), d);
}

// Operands of different dtypes, and numbers, which are weak.
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
        return one(map(array(a, 0), array(a, 0).dtype, [](Complex x) { return x * 3.0; }));
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
        return one(map(array(a, 0), DType::F32, [](Complex x) { return x + 0.5; }));
      });
}

void add_several(Table& t) {
  for (const auto& [a, b] : pairs()) {
    t.add(
        "where", label_of(a) + label_of(b), kMovable,
        [a = a, b = b](DType dtype, Rng& rng) {
          return Args{random_array(rng, DType::Bool, a), random_array(rng, dtype, a),
                      random_array(rng, dtype, b)};
        },
        [](const Args& args) {
          const Array &c = array(args, arg::where::condition), &x = array(args, arg::where::x),
                      &y = array(args, arg::where::y);
          Array out(x.dtype, broadcast(broadcast(c.shape, x.shape), y.shape));
          size_t i = 0;
          for_each_index(out.shape, [&](const Shape& at) {
            out.v[i++] = broadcast_at(c, at) != 0.0 ? broadcast_at(x, at) : broadcast_at(y, at);
          });
          return one(out);
        });
    t.add(
        "masked_fill", label_of(a) + label_of(b), kReals,
        [a = a, b = b](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, a), random_array(rng, DType::Bool, b),
                      random_array(rng, dtype, {})};
        },
        [](const Args& args) {
          using arg = tenon::arg::masked_fill;
          const Array& value = array(args, arg::value);
          return one(zip(array(args, arg::x), array(args, arg::mask), array(args, arg::x).dtype,
                         [&](Complex x, Complex m) { return m != 0.0 ? value.v[0] : x; }));
        });
    t.add(
         "lerp", label_of(a) + label_of(b), kFloats,
         [a = a, b = b](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, a), random_array(rng, dtype, b),
                       random_array(rng, dtype, {}, 0, 1)};
         },
         [](const Args& args) {
           using arg = tenon::arg::lerp;
           Complex w = array(args, arg::weight).v[0];
           return one(zip(array(args, arg::x), array(args, arg::y), array(args, arg::x).dtype,
                          [&](Complex x, Complex y) { return x + w * (y - x); }));
         })
        .tolerance = 4;
  }
  struct Bounds {
    const char* label;
    Arg low, high;
    double lo, hi;
  };
  for (const Bounds& bounds : {Bounds{"both", Number{Scalar(-1), -1}, Number{Scalar(1), 1}, -1, 1},
                               Bounds{"low", Number{Scalar(0), 0}, {}, 0, kInf},
                               Bounds{"high", {}, Number{Scalar(1), 1}, -kInf, 1}})
    for (const Shape& shape : usual_shapes())
      t.add(
           "clamp", bounds.label + label_of(shape), kFloats | kSigned,
           [=](DType dtype, Rng& rng) {
             return Args{random_array(rng, dtype, shape), bounds.low, bounds.high};
           },
           [=](const Args& a) {
             return one(map(array(a, 0), array(a, 0).dtype, [&](Complex x) {
               return Complex(std::clamp(x.real(), bounds.lo, bounds.hi));
             }));
           })
          .gradient = shape.size() == 3;
}

void add_casts(Table& t) {
  for (uint32_t code = 0; code < TN_DTYPE_COUNT; ++code) {
    DType to = static_cast<DType>(code);
    t.add(
         "cast", "to " + std::string(name_of(to)), kMovable,
         [to](DType dtype, Rng& rng) {
           return Args{random_array(rng, dtype, {3, 5}, 0, 9), to};
         },
         [to](const Args& a) {
           return one(map(array(a, 0), to,
                          [&](Complex x) { return is_complex(to) ? x : Complex(x.real()); }));
         })
        .gradient = is_floating(to) && size_of(to) == 8;
  }
}

}  // namespace

void add_binary_samples(Table& table) {
  add_arithmetic(table);
  add_special(table);
  add_comparisons(table);
  add_bits(table);
  add_promotion(table);
  add_several(table);
  add_casts(table);
}

}  // namespace tenon::conformance
