// Choices between operands, and what lies between bounds.
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

}  // namespace

void add_where_samples(Table& table) {
  add_choices(table);
  add_clamp(table);
  add_clamp_backward(table);
}

}  // namespace tenon::conformance
