// Comparisons.
#include "binary.hpp"

namespace tenon::conformance {
namespace {

void add_comparisons(Table& t) {
  DType (*boolean)(DType) = [](DType) { return DType::Bool; };
  Domains d{
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

}  // namespace

void add_compare_samples(Table& table) { add_comparisons(table); }

}  // namespace tenon::conformance
