// Elementwise ops of three operands.
#include "binary.hpp"

namespace tenon::conformance {
namespace {

// fn(x, y, z) for operands of shapes a, b and b; the third is within [low, high].
template <class Fn>
void ternary(Table& t, const std::string& op, const std::string& label, uint64_t dtypes, Fn fn,
             double low, double high, const Args& rest = {}) {
  for (const auto& [a, b] : pairs())
    t.add(
         op, label_of(a) + label_of(b) + label, dtypes,
         [=, a = a, b = b](DType dtype, Rng& rng) {
           Args args = {random_array(rng, dtype, a), random_array(rng, dtype, b),
                        random_array(rng, dtype, b, low, high)};
           args.insert(args.end(), rest.begin(), rest.end());
           return args;
         },
         [=](const Args& args) {
           using arg = tenon::arg::addcmul;
           const Array &x = array(args, arg::x), &y = array(args, arg::y), &z = array(args, arg::z);
           Array out(x.dtype, broadcast(x.shape, y.shape));
           size_t i = 0;
           for_each_index(out.shape, [&](const Shape& at) {
             out.v[i++] = fn(broadcast_at(x, at), broadcast_at(y, at), broadcast_at(z, at));
           });
           return one(out);
         })
        .tolerance = 4;
}

}  // namespace

void add_ternary_samples(Table& table) {
  const auto lerp = [](Complex x, Complex y, Complex w) { return x + w * (y - x); };
  ternary(table, "lerp", "", kFloats, lerp, 0, 1);
  ternary(table, "lerp", " complex", kComplex, lerp, 0, 1);
  const auto product = [](Complex x, Complex y, Complex z) { return x + y * z; };
  ternary(table, "addcmul", "", kReals | kComplex, product, -2, 2);
  ternary(table, "addcmul", " half", kFloats,
          [](Complex x, Complex y, Complex z) { return x + 0.5 * y * z; }, -2, 2, {0.5});
  ternary(
      table, "addcdiv", "", kFloats | kComplex,
      [](Complex x, Complex y, Complex z) { return x + y / z; }, 1, 2);
  ternary(table, "addcdiv", " half", kFloats,
          [](Complex x, Complex y, Complex z) { return x - 0.5 * y / z; }, 1, 2, {-0.5});
}

}  // namespace tenon::conformance
