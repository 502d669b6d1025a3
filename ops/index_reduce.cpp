// Reductions into the places that indices name.
#include "ops/gradients.hpp"
#include "ops/indexed.hpp"
#include "ops/record.hpp"

namespace {

// The row-major positions in x that index names, as a vector.
Tensor flat_places(const Tensor& x, int64_t dim, const Tensor& index) {
  const auto sizes = index.shape();
  int64_t apart = 1;
  Tensor place;
  for (size_t d = sizes.size(); d-- > 0;) {
    Tensor own = index;
    if (static_cast<int64_t>(d) != dim) {
      Sizes row;
      for (size_t e = 0; e < sizes.size(); ++e) row.push(e == d ? sizes[d] : 1);
      own = reshape(arange(0, sizes[d], 1, DType::I64, x.device()), row);
    }
    place = place.defined() ? place + own * apart : own * apart;
    if (x.ndim() > 0) apart *= x.shape(static_cast<int64_t>(d));
  }
  return reshape(place.defined() ? expand(place, sizes) : index, index.numel());
}

Tensor combined(std::string_view reduce, const Tensor& a, const Tensor& b) {
  return reduce == "prod" ? a * b : reduce == "amax" ? maximum(a, b) : minimum(a, b);
}

// A call of scatter_reduce without its values.
struct Places {
  Tensor x, index;
  int64_t dim;

  Tensor read(const Tensor& from) const { return gather(from, dim, index); }
  Tensor add(const Tensor& to, const Tensor& src) const { return scatter_add(to, dim, index, src); }
  // How many values go to each place.
  Tensor count(DType dtype) const {
    return add(full(x.shape(), 0, dtype, x.device()), full(index.shape(), 1, dtype, x.device()));
  }
  Tensor hit() const { return greater(count(DType::I64), 0); }

  // The combined values of each place; anything where there are none. Neighbours of the same place are combined over distances
  // 1, 2, 4 …, so that the last of each holds the result (Hillis and Steele 1986).
  Tensor all(std::string_view reduce, const Tensor& src) const {
    const int64_t n = index.numel();
    if (n == 0) return x;
    const Tensor flat = flat_places(x, dim, index), order = argsort(flat);
    const Tensor place = index_select(flat, 0, order);
    Tensor values = index_select(reshape(src, n), 0, order);
    for (int64_t step = 1; step < n; step *= 2) {
      const Tensor after = slice(values, 0, step, n), before = slice(values, 0, 0, n - step);
      const Tensor same = equal(slice(place, 0, step, n), slice(place, 0, 0, n - step));
      values =
          concat({slice(values, 0, 0, step), where(same, combined(reduce, after, before), after)});
    }
    const Tensor each = arange(0, x.numel(), 1, DType::I64, x.device());
    const Tensor last = maximum(searchsorted(place, each, true) - 1, 0);
    return reshape(index_select(values, 0, last), x.shape());
  }
};

// The gradient of a factor is the product of the others. If a place has one zero, only the zero gets a gradient, the product of the
// rest. With two zeros all gradients are 0, but their own gradients are not.
void product_gradients(GradCall& c, const Places& at, const Tensor& g, bool include_self) {
  using arg = tenon::arg::scatter_reduce;
  const Tensor x = c.in(arg::x), src = c.in(arg::src), out = c.out(0);
  const auto part = [](const Tensor& v, auto zero, auto other) {
    return where(equal(v, 0), zero, other);
  };
  const Tensor own = include_self ? x : ones(x.shape(), x);
  const Tensor zeros_of =
      at.add(part(own, ones(x.shape(), x), 0), part(src, ones(src.shape(), src), 0));
  const Tensor rest =
      scatter_reduce(part(own, 1, own), at.dim, at.index, part(src, 1, src), "prod");
  const Tensor sum_of_zeros = at.add(part(own, own, 0), part(src, src, 0));
  const auto others = [&](const Tensor& v, auto&& seen) {
    const Tensor zero = seen(zeros_of), left = seen(rest);
    const Tensor of_two = where(equal(zero, 2), left * (seen(sum_of_zeros) - v), 0);
    return part(v, where(equal(zero, 1), left, of_two), seen(out) / part(v, 1, v));
  };
  if (c.needs(arg::x))
    c.set(arg::x, include_self ? g * conj_of(others(x, [](const Tensor& each) { return each; }))
                               : where(at.hit(), 0, g));
  if (c.needs(arg::src))
    c.set(arg::src,
          at.read(g) * conj_of(others(src, [&](const Tensor& each) { return at.read(each); })));
}

// All values that equal a place's result share its gradient.
void extremum_gradients(GradCall& c, const Places& at, const Tensor& g, bool include_self) {
  using arg = tenon::arg::scatter_reduce;
  const Tensor x = c.in(arg::x), src = c.in(arg::src), out = c.out(0);
  const Tensor mine =
      include_self ? equal(x, out).to(g.dtype()) : where(at.hit(), 0, ones(x.shape(), g));
  const Tensor theirs = equal(src, at.read(out)).to(g.dtype());
  const Tensor share = g / maximum(at.add(mine, theirs), 1);
  c.set(arg::x, share * mine);
  if (c.needs(arg::src)) c.set(arg::src, at.read(share) * theirs);
}

// Only a product or an extremum needs the values; a sum or mean does not.
uint32_t unread_values(const tn_value* args) {
  using arg = tenon::arg::scatter_reduce;
  const std::string_view reduce(args[arg::reduce].as.str, args[arg::reduce].count);
  return reduce == "sum" || reduce == "mean" ? in_(arg::x) | in_(arg::src) | out_(0) : 0;
}

}  // namespace

TN_OP(scatter_reduce) = {
    .schema =
        "(Tensor x, int dim, Tensor index, Tensor src, str reduce, bool include_self=true) -> "
        "Tensor",
    .gives =
        "x with the entries that index names along dim replaced by the sum, prod, mean, amax or "
        "amin of the values of src for each and, with include_self, of the entry itself. Means of "
        "integers are rounded down.",
    .example = "tenon.scatter_reduce(t([1., 1.]), 0, t([0, 0]), t([5., 6.]), 'amax')",
    .autocast = "widest",
    .rule = &rule::scatter_reduce,
    .gradient = &gradient::scatter_reduce,
    .decompose = &decomposition::scatter_reduce,
};

TN_RULE(
    scatter_reduce, scatter_reduce,
    {.dtypes = "x's, a mean's not bool, an amax's and amin's not complex; the index is an integer",
     .shapes = "x's; src has the index's, which is not larger than x except along `dim`"}) {
  const auto [x, index, dim] = IndexedDim(frame);
  require_within(frame, index, x.sizes(), dim, "x");
  operand(frame, arg::src);
  require_shape(frame, arg::src, index.sizes());
  frame.raise(arg::src);
  take_dtype(frame, arg::src, x.dtype());
  const std::string_view reduce = frame.str(arg::reduce);
  frame.require(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
                    reduce == "amin",
                "reduce must be sum, prod, mean, amax or amin, got {}", reduce);
  if (reduce == "mean") numeric_operand(frame, arg::x);
  if (reduce == "amax" || reduce == "amin") ordered_operand(frame, arg::x);
  frame.result(0, x.dtype(), x.sizes());
}

// sum: x gets g, except without include_self where values came; src gets g at its place. mean: both divided by the count.
TN_GRADIENT(scatter_reduce, {.always = in_(arg::x) | in_(arg::index) | in_(arg::src) | out_(0),
                             .unread = &unread_values}) {
  const Tensor index = c.in(arg::index);
  const bool include_self = c.flag(arg::include_self);
  const std::string_view reduce = c.str(arg::reduce);
  Tensor g = c.grad();
  const Places at{g, index, c.integer(arg::dim)};
  if (reduce == "prod") return product_gradients(c, at, g, include_self);
  if (reduce != "sum" && reduce != "mean") return extremum_gradients(c, at, g, include_self);
  const Tensor to_x = include_self ? g : where(at.hit(), 0, g);
  if (reduce == "sum") {
    c.set(arg::x, to_x);
    return c.set(arg::src, at.read(g));
  }
  const Tensor count = maximum(at.count(g.dtype()) + (include_self ? 1 : 0), 1);
  c.set(arg::x, to_x / count);
  if (c.needs(arg::src)) c.set(arg::src, at.read(g / count));
}

TN_DECOMPOSE(scatter_reduce) {
  const Tensor given = in.tensor(arg::x), index = in.tensor(arg::index);
  const std::string_view reduce = in.str(arg::reduce);
  const bool include_self = in.flag(arg::include_self), real = is_floating(given.dtype());
  const bool sums = reduce == "sum" || reduce == "mean", logical = given.dtype() == DType::Bool;
  // Halves are combined in f32.
  const Tensor x = real      ? wide(given)
                   : logical ? given.to(DType::I64)
                             : given,
               src = in.tensor(arg::src).to(x.dtype());
  const Places at{x, index, wrapped(in.integer(arg::dim), std::max<size_t>(x.shape().size(), 1))};
  const Tensor hit = at.hit();
  if (sums) {
    Tensor total = at.add(include_self ? x : where(hit, 0, x), src);
    if (reduce == "mean") {
      const Tensor count = maximum(at.count(x.dtype()) + (include_self ? 1 : 0), 1);
      total = is_integral(static_cast<tn_dtype>(x.dtype())) ? floor_divide(total, count)
                                                            : total / count;
    }
    out[0] = total.to(given.dtype());
  } else {
    const Tensor all = at.all(reduce, src);
    out[0] = where(hit, include_self ? combined(reduce, x, all) : all, x).to(given.dtype());
  }
}
