// softmax, log_softmax and their gradients.
#include <algorithm>

#include "rows.hpp"

namespace tenon::conformance {
namespace {

DType same(DType d) { return d; }

void add_rows(Table& t) {
  auto softmax = [](const Array& x, const std::vector<size_t>& row, Array& out) {
    double top = -kInf, total = 0;
    for (size_t i : row) top = std::max(top, x.re(i));
    for (size_t i : row) total += std::exp(x.re(i) - top);
    for (size_t i : row) out.v[i] = std::exp(x.re(i) - top) / total;
  };
  auto log_softmax = [softmax](const Array& x, const std::vector<size_t>& row, Array& out) {
    softmax(x, row, out);
    for (size_t i : row) out.v[i] = std::log(out.re(i));
  };
  for (const auto& [shape, dim] : rows()) {
    bool checked = Array::count(shape) < 40;
    auto& soft = along(t, "softmax", shape, dim, kFloats, same, softmax);
    soft.tolerance = 4, soft.gradient = checked;
    auto& logs = along(t, "log_softmax", shape, dim, kFloats, same, log_softmax);
    logs.tolerance = 4, logs.gradient = checked;
    for (const std::string op : {"softmax_backward", "log_softmax_backward"}) {
      Sample& s = t.add(
          op, label_of(shape) + " dim " + std::to_string(dim), kFloats,
          [shape = shape, dim = dim](DType dtype, Rng& rng) {
            return Args{random_array(rng, dtype, shape), random_array(rng, dtype, shape, -1, -0.1),
                        dim};
          },
          [=, dim = dim](const Args& args) {
            const Array &g = array(args, arg::softmax_backward::g),
                        &y = array(args, arg::softmax_backward::y);
            Array out(y.dtype, y.shape);
            for_each_row(y, dim, [&](const std::vector<size_t>& row) {
              Complex total = 0;
              for (size_t i : row) total += op[0] == 's' ? g.v[i] * y.v[i] : g.v[i];
              for (size_t i : row)
                out.v[i] =
                    op[0] == 's' ? y.v[i] * (g.v[i] - total) : g.v[i] - std::exp(y.v[i]) * total;
            });
            return one(out);
          });
      s.tolerance = 20, s.gradient = checked;
    }
  }
  Sample& special = t.add(
      "softmax", "special 3", kDouble | TN_MASK(TN_DTYPE_F32),
      [](DType dtype, Rng&) {
        Array x(dtype, {3});
        x.v = {kInf, 0, 1};
        return Args{x, int64_t{0}};
      },
      [](const Args& args) {
        Array out(array(args, arg::softmax::x).dtype, {3});
        std::fill(out.v.begin(), out.v.end(), Complex(kNan));
        return one(out);
      });
  special.gradient = special.layouts = false;
}

}  // namespace

void add_softmax_samples(Table& table) { add_rows(table); }

}  // namespace tenon::conformance
