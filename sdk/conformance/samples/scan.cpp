// Cumulative sums and products.
#include "rows.hpp"

namespace tenon::conformance {
namespace {

void add_scans(Table& t) {
  for (const auto& [shape, dim] : rows()) {
    bool checked = Array::count(shape) < 40;
    auto& sum = along(t, "cumsum", shape, dim, kReals | kComplex, sum_dtype,
                      [](const Array& x, const std::vector<size_t>& row, Array& out) {
                        Complex total = 0;
                        for (size_t i : row) out.v[i] = total += x.v[i];
                      });
    sum.tolerance = 40, sum.gradient = checked;
    auto& prod = along(t, "cumprod", shape, dim, kDouble, sum_dtype,
                       [](const Array& x, const std::vector<size_t>& row, Array& out) {
                         Complex total = 1;
                         for (size_t i : row) out.v[i] = total *= x.v[i];
                       });
    prod.tolerance = 200, prod.gradient = Array::count(shape) <= 24;
  }
  for (int zeros : {1, 2})
    t.add(
         "cumprod", std::to_string(zeros) + " zeros", kDouble,
         [=](DType dtype, Rng& rng) {
           return Args{with_zeros(dtype, rng, zeros), int64_t{0}};
         },
         [=](const Args& args) {
           const Array& x = array(args, 0);
           Array out(x.dtype, x.shape);
           Complex total = 1;
           for (size_t i = 0; i < x.size(); ++i) out.v[i] = total *= x.v[i];
           return one(out);
         })
        .layouts = false;
}

}  // namespace

void add_scan_samples(Table& table) { add_scans(table); }

}  // namespace tenon::conformance
