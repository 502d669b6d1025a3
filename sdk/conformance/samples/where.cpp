// Choosing between operands, and clamping.
#include <algorithm>

#include "binary.hpp"

namespace tenon::conformance {
namespace {

void add_choices(Table& t) {
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
  }
}

struct Bounds {
  const char* label;
  Arg low, high;
  double lo, hi;
};
const std::vector<Bounds>& all_bounds() {
  static const std::vector<Bounds> all = {
      {"both", Number{Scalar(-1), -1}, Number{Scalar(1), 1}, -1, 1},
      {"low", Number{Scalar(0), 0}, {}, 0, kInf},
      {"high", {}, Number{Scalar(1), 1}, -kInf, 1}};
  return all;
}

void add_clamp_backward(Table& t) {
  using arg = arg::clamp_backward;
  for (const Bounds& bounds : all_bounds())
    for (const Shape& shape : usual_shapes())
      t.add(
           "clamp_backward", bounds.label + label_of(shape), kFloats,
           [=](DType dtype, Rng& rng) {
             return Args{random_array(rng, dtype, shape), random_array(rng, dtype, shape),
                         bounds.low, bounds.high};
           },
           [=](const Args& a) {
             const auto g_inside = [&](Complex g, Complex x) {
               return x.real() > bounds.lo && x.real() < bounds.hi ? g : Complex(0);
             };
             return one(zip(array(a, arg::g), array(a, arg::x), array(a, arg::g).dtype, g_inside));
           })
          .gradient = shape.size() == 3;
}

void add_clamp(Table& t) {
  for (const Bounds& bounds : all_bounds())
    for (const Shape& shape : usual_shapes())
      t.add(
           "clamp", bounds.label + label_of(shape), kFloats | kSigned,
           [=](DType dtype, Rng& rng) {
             return Args{random_array(rng, dtype, shape), bounds.low, bounds.high};
           },
           [=](const Args& a) {
             return one(map(array(a, arg::clamp::x), array(a, arg::clamp::x).dtype, [&](Complex x) {
               return Complex(std::clamp(x.real(), bounds.lo, bounds.hi));
             }));
           })
          .gradient = shape.size() == 3;
}

// Both bounds belong to the range; NaN does not.
void add_where_between(Table& t) {
  using arg = arg::where_between;
  for (const auto& [a, b] : pairs())
    t.add(
        "where_between", label_of(a) + label_of(b), kFloats,
        [a = a, b = b](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, a), random_array(rng, dtype, b),
                      random_array(rng, dtype, a), -0.7, 0.9};
        },
        [](const Args& args) {
          const Array &x = array(args, arg::x), &inside = array(args, arg::inside),
                      &outside = array(args, arg::outside);
          Array out(x.dtype, broadcast(x.shape, inside.shape));
          size_t i = 0;
          for_each_index(out.shape, [&](const Shape& at) {
            const double v = broadcast_at(x, at).real();
            out.v[i++] = broadcast_at(v >= -0.7 && v <= 0.9 ? inside : outside, at);
          });
          return one(out);
        });
  t.add(
       "where_between", "edges", kFloats,
       [](DType dtype, Rng&) {
         Array x(dtype, {6});
         const double values[] = {-1, 0, 0.5, 1, kNan, -kInf};
         std::copy(std::begin(values), std::end(values), x.v.begin());
         return Args{x, Number{Scalar(7), 7}, Number{Scalar(-7), -7}, -kInf, 0.5};
       },
       [](const Args& args) {
         const Array& x = array(args, arg::x);
         return one(map(x, x.dtype, [](Complex v) { return Complex(v.real() <= 0.5 ? 7 : -7); }));
       })
      .gradient = false;
}

void add_nan_to_num(Table& t) {
  struct Replacements {
    const char* label;
    Args rest;
    double nan, high, low;  // high = 0 stands for the dtype's largest finite number
  };
  for (const Replacements& r :
       {Replacements{"largest", {}, 0, 0, 0}, Replacements{"given", {2.0, 3.0, -4.0}, 2, 3, -4}})
    t.add(
         "nan_to_num", r.label, kFloats,
         [rest = r.rest](DType dtype, Rng& rng) {
           Array x = random_array(rng, dtype, {37});
           x.v[0] = kNan, x.v[5] = kInf, x.v[36] = -kInf;
           Args args = {x};
           args.insert(args.end(), rest.begin(), rest.end());
           return args;
         },
         [=](const Args& args) {
           const Array& x = array(args, arg::nan_to_num::x);
           const double most = x.dtype == DType::F16    ? 65504
                               : x.dtype == DType::BF16 ? 0x1.fep127
                               : x.dtype == DType::F32  ? 0x1.fffffep127
                                                        : 0x1.fffffffffffffp1023;
           return one(map(x, x.dtype, [&](Complex v) {
             return Complex(std::isnan(v.real()) ? r.nan
                            : v.real() == kInf   ? (r.high != 0 ? r.high : most)
                            : v.real() == -kInf  ? (r.low != 0 ? r.low : -most)
                                                 : v.real());
           }));
         })
        .gradient = false;
  for (const Shape& shape : usual_shapes())
    t.add(
         "nan_to_num", label_of(shape), kFloats,
         [=](DType dtype, Rng& rng) { return Args{random_array(rng, dtype, shape)}; },
         [](const Args& args) { return one(array(args, arg::nan_to_num::x)); })
        .gradient = shape.size() == 3;
}

}  // namespace

void add_where_samples(Table& table) {
  add_choices(table);
  add_where_between(table);
  add_nan_to_num(table);
  add_clamp(table);
  add_clamp_backward(table);
}

}  // namespace tenon::conformance
