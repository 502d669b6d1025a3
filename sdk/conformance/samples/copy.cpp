// Copies and casts.
#include "unary.hpp"

namespace tenon::conformance {
namespace {

void add_copies(Table& t) {
  real(t, "clone", [](double x) { return x; }, {.dtypes = kMovable & ~kComplex});
  real(t, "contiguous", [](double x) { return x; }, {.dtypes = kMovable & ~kComplex});
  complex_valued(t, "clone", [](Complex x) { return x; });
  t.add(
      "to", "where it is", kMovable,
      [](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, {2, 3}), Device("cpu")};
      },
      [](const Args& a) { return one(array(a, arg::to::x)); });
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
           return one(map(array(a, arg::cast::x), to,
                          [&](Complex x) { return is_complex(to) ? x : Complex(x.real()); }));
         })
        .gradient = is_floating(to) && size_of(to) == 8;
  }
}

}  // namespace

void add_copy_samples(Table& table) {
  add_copies(table);
  add_casts(table);
}

}  // namespace tenon::conformance
