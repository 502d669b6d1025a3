// Indexing.
// Indices are read as i64; kernels check their values before they write anything.
// Reading and adding are each other's adjoints.
#include <algorithm>

#include "ops/gradients.hpp"
#include "ops/indexed.hpp"
#include "ops/record.hpp"

namespace {

struct Advanced {
  Dims shape;            // of the result; without the masks' sizes if dynamic
  bool dynamic = false;  // a mask decides the shape
};

// NumPy's rules: index tensors broadcast to one shape, which takes their place, or comes first if a slice separates them.
Advanced advanced_shape(const Frame& frame, const tn_tensor& x,
                        std::span<tn_tensor* const> indices) {
  Advanced out;
  Dims broadcast;
  uint32_t dim = 0, runs = 0, place = 0;
  bool inside = false, any = false;
  Dims kept;
  for (tn_tensor* index : indices) {
    const bool mask = index != nullptr && index->dtype() == TN_DTYPE_BOOL;
    const uint32_t consumed = mask ? index->ndim() : 1;
    frame.require(dim + consumed <= x.ndim(), "too many indices for a tensor of rank {}", x.ndim());
    if (index == nullptr) {
      kept.push(x.shape()[dim++]);
      inside = false;
      continue;
    }
    if (!inside && runs++ == 0) place = kept.n;
    inside = any = true;
    if (mask) {
      frame.require(same_shape(index->sizes(), x.sizes().subspan(dim, consumed)),
                    "mask {} does not have the shape of dimensions {} to {} of {}",
                    format_shape(index->sizes()), dim, dim + consumed, format_shape(x.sizes()));
      out.dynamic = true;
    } else {
      frame.require(is_integral(index->dtype()),
                    "an index must be an integer or bool tensor, got {}",
                    dtype_name(index->dtype()));
      Dims joined;
      if (!core::broadcast(broadcast, index->sizes(), joined))
        frame.fail(TN_OUT_OF_RANGE, "indices of shapes {} and {} do not broadcast",
                   format_shape(broadcast), format_shape(index->sizes()));
      broadcast = joined;
    }
    dim += consumed;
  }
  for (; dim < x.ndim(); ++dim) kept.push(x.shape()[dim]);
  if (runs > 1 || !any) place = 0;
  for (uint32_t d = 0; d < place; ++d) out.shape.push(kept[d]);
  for (int64_t size : broadcast) out.shape.push(size);
  for (uint32_t d = place; d < kept.n; ++d) out.shape.push(kept[d]);
  return out;
}

// x with a part replaced by src; the caller has checked the part's shape.
void put_part(Frame& frame, const tn_tensor& x, std::span<const int64_t> part) {
  using arg = tenon::arg::slice_scatter;  // as_strided_scatter also begins with x and src
  require_shape(frame, arg::src, part);
  take_dtype(frame, arg::src, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// Sets src's gradient for scatter and scatter_add: g where they read src, zeros where index does not reach.
void set_source(GradCall& c, const Tensor& g, const Tensor& index) {
  using arg = tenon::arg::scatter;
  const Tensor read = gather(g, c.integer(arg::dim), index);
  const auto src = c.shape(arg::src), have = index.shape();
  if (src.empty() || std::ranges::equal(src, have)) return c.set(arg::src, read);
  Sizes pads;  // the last dimension first: nothing before, the rest after
  int64_t list[2 * TN_MAX_DIMS];
  for (size_t d = 0; d < src.size(); ++d) {
    const size_t from = src.size() - 1 - d;
    list[2 * d] = 0;
    list[2 * d + 1] = src[from] - have[from];
  }
  c.set(arg::src, pad(read, std::span<const int64_t>(list, 2 * src.size())));
}

}  // namespace

TN_OP(gather) = {
    .schema = "(Tensor x, int dim, Tensor index) -> Tensor",
    .gives = "The entries along dim that index names, in the shape of index.",
    .example = "tenon.gather(t([[1., 2.], [3., 4.]]), 1, t([[1], [0]]))",
    .linear = "x",
    .rule = &rule::gather,
    .gradient = &gradient::gather,
};

TN_RULE(gather, gather,
        {.dtypes = "any; the index is an integer", .shapes = "the index's, whose rank is x's"}) {
  const auto [x, index, dim] = IndexedDim(frame);
  require_within(frame, index, x.sizes(), dim, "x");
  frame.result(0, x.dtype(), index.sizes());
}

// g added up at the places that were read
TN_GRADIENT(gather, {.always = in_(arg::index)}) {
  const Tensor g = c.grad();
  c.set(arg::x, put(detail::op_scatter_add, sum_or_zeros(c, arg::x, g), c.integer(arg::dim),
                    c.in(arg::index), g));
}

TN_OP(scatter) = {
    .schema = "(Tensor x, int dim, Tensor index, Tensor src) -> Tensor",
    .gives = "x with the entries that index names along dim replaced by src.",
    .example = "tenon.scatter(t([0., 0., 0.]), 0, t([2, 0]), t([5., 6.]))",
    .linear = "x src",
    .in_place = true,
    .rule = &rule::scatter,
    .gradient = &gradient::scatter,
    .updates_first = true,
};

// One number may stand for src.
TN_RULE(scatter, scatter, {.dtypes = "x's; the index is an integer", .shapes = "x's"}) {
  const auto [x, index, dim] = IndexedDim(frame);
  require_within(frame, index, x.sizes(), dim, "x");
  if (!sizes_of(frame, arg::src).empty())
    require_within(frame, index, sizes_of(frame, arg::src), -1, "src");
  take_dtype(frame, arg::src, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// x: g except where src was put; src: g at those places
TN_GRADIENT(scatter, {.always = in_(arg::index)}) {
  const Tensor g = c.grad(), index = c.in(arg::index);
  if (c.needs(arg::x))
    c.set(arg::x, scatter(g, c.integer(arg::dim), index, zeros(index.shape(), g)));
  if (c.needs(arg::src)) set_source(c, g, index);
}

TN_OP(scatter_add) = {
    .schema = "(Tensor x, int dim, Tensor index, Tensor src) -> Tensor",
    .gives = "x with src added to the entries that index names along dim.",
    .example = "tenon.scatter_add(t([1., 1.]), 0, t([0, 0]), t([5., 6.]))",
    .autocast = "widest",
    .linear = "x src",
    .in_place = true,
    .rule = &rule::scatter,
    .gradient = &gradient::scatter_add,
    .updates_first = true,
};

// x: g; src: g at the places to which it was added
TN_GRADIENT(scatter_add, {.always = in_(arg::index)}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad());
  if (c.needs(arg::src)) set_source(c, c.grad(), c.in(arg::index));
}

TN_OP(index_select) = {
    .schema = "(Tensor x, int dim, Tensor index) -> Tensor",
    .gives = "The entries along dim that a vector of indices names.",
    .example = "tenon.index_select(t([1., 2., 3.]), 0, t([2, 0]))",
    .linear = "x",
    .rule = &rule::index_select,
    .gradient = &gradient::index_select,
};

TN_RULE(index_select, index_select,
        {.dtypes = "any; the index is an integer of rank 0 or 1",
         .shapes = "x's with the index's length along `dim`"}) {
  const IndexedDim at(frame);
  frame.result(0, at.x.dtype(), at.selected(frame));
}

// g added up at the places that were read
TN_GRADIENT(index_select, {.always = in_(arg::index)}) {
  const Tensor g = c.grad();
  const Tensor row = c.shape(arg::x).empty() ? reshape(g, c.shape(arg::x)) : Tensor();
  c.set(arg::x, row.defined() ? row
                              : put(detail::op_index_add, sum_or_zeros(c, arg::x, g),
                                    c.integer(arg::dim), c.in(arg::index), g));
}

TN_OP(index_add) = {
    .schema = "(Tensor x, int dim, Tensor index, Tensor src) -> Tensor",
    .gives = "x with the entries of src added to those of x that index names along dim.",
    .example = "tenon.index_add(t([1., 1.]), 0, t([1, 1]), t([5., 6.]))",
    .linear = "x src",
    .in_place = true,
    .rule = &rule::index_add,
    .gradient = &gradient::index_add,
    .updates_first = true,
};

TN_RULE(index_add, index_add, {.dtypes = "x's; the index is an integer", .shapes = "x's"}) {
  const IndexedDim at(frame);
  const tn_tensor& x = at.x;
  operand(frame, arg::src);
  require_shape(frame, arg::src, at.selected(frame));
  frame.raise(arg::src);
  take_dtype(frame, arg::src, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// x: g; src: g at the places to which it was added
TN_GRADIENT(index_add, {.always = in_(arg::index)}) {
  if (c.needs(arg::x)) c.set(arg::x, c.grad());
  if (c.needs(arg::src))
    c.set(arg::src, reshape(index_select(c.grad(), c.integer(arg::dim), c.in(arg::index)),
                            c.shape(arg::src)));
}

TN_OP(index) = {
    .schema = "(Tensor x, Tensor?[] indices) -> Tensor",
    .gives = "x[indices] with a tensor, or None for all, for each dimension.",
    .example = "tenon.index(t([[1., 2.], [3., 4.]]), [None, t([1, 0])])",
    .linear = "x",
    .rule = &rule::index,
    .gradient = &gradient::index,
};

TN_RULE(index, index,
        {.dtypes = "any; indices are integers",
         .shapes =
             "indices broadcast against each other and take the place of the dimensions that they "
             "index"}) {
  tn_tensor& x = operand(frame, arg::x);
  const Advanced out = advanced_shape(frame, x, frame.tensors(arg::indices));
  out.dynamic ? frame.dynamic_result(0, x.dtype()) : frame.result(0, x.dtype(), out.shape);
}

// g added up at the places that were read
TN_GRADIENT(index, {.always = in_(arg::indices)}) {
  const Tensor g = c.grad();
  const auto indices = c.ins(arg::indices);
  c.set(arg::x,
        put(detail::op_index_put, sum_or_zeros(c, arg::x, g), TensorList(indices), g, true));
}

TN_OP(index_put) = {
    .schema = "(Tensor x, Tensor?[] indices, Tensor values, bool accumulate=false) -> Tensor",
    .gives = "x with values written, or added, at x[indices].",
    .example = "tenon.index_put(t([1., 2.]), [t([0])], t([9.]))",
    .autocast = "widest",
    .linear = "x values",
    .in_place = true,
    .rule = &rule::index_put,
    .gradient = &gradient::index_put,
    .updates_first = true,
};

TN_RULE(index_put, index_put, {.dtypes = "x's; indices are integers", .shapes = "x's"}) {
  tn_tensor& x = operand(frame, arg::x);
  const Advanced out = advanced_shape(frame, x, frame.tensors(arg::indices));
  const auto values = sizes_of(frame, arg::values);
  if (!out.dynamic) {
    const bool fits = same_shape(broadcast_shapes(frame, out.shape, values), out.shape);
    frame.require(fits, "values {} do not broadcast to {}", format_shape(values),
                  format_shape(out.shape));
  }
  take_dtype(frame, arg::values, x.dtype());
  frame.result(0, x.dtype(), x.sizes());
}

// x: g except where values were put (all of g if they were added); values: g at those places
TN_GRADIENT(index_put, {.always = in_(arg::indices)}) {
  const Tensor g = c.grad();
  const auto indices = c.ins(arg::indices);
  if (c.needs(arg::x))
    c.set(arg::x, c.flag(arg::accumulate) ? g : index_put(g, indices, zeros(IntList(), g)));
  if (c.needs(arg::values)) c.set(arg::values, index(g, indices));
}

TN_OP(take) = {
    .schema = "(Tensor x, Tensor index) -> Tensor",
    .gives = "The elements of the flattened x that index names.",
    .example = "t([10., 20., 30.]).take(t([2, 0]))",
    .dtypes = "any; the index is an integer",
    .shapes = "The shape of index; x counts as flattened",
    .linear = "x",
    .through = true,
    .decompose = &decomposition::take,
};

// elements of x, flattened
TN_DECOMPOSE(take) {
  const Tensor x = in.tensor(arg::x), index = in.tensor(arg::index);
  out[0] =
      reshape(index_select(reshape(x, x.numel()), 0, reshape(index, index.numel())), index.shape());
}

TN_OP(slice_scatter) = {
    .schema =
        "(Tensor x, Tensor src, int dim, int? start=none, int? end=none, int step=1) -> Tensor",
    .gives = "x with src in place of a slice.",
    .example = "tenon.slice_scatter(t([1., 2., 3.]), t([8., 9.]), 0, 1)",
    .linear = "x src",
    .rule = &rule::slice_scatter,
    .gradient = &gradient::slice_scatter,
    .decompose = &decomposition::slice_scatter,
    .updates_first = true,
};

// The bounds reach the kernel filled in.
TN_RULE(slice_scatter, slice_scatter, {.dtypes = "x's", .shapes = "x's"}) {
  const tn_tensor& x = operand(frame, arg::x);
  const uint32_t dim = fix_dim(frame, arg::dim, x.ndim());
  frame.require(x.ndim() > 0, "a tensor of rank 0 has no slice to write to");
  const int64_t size = x.shape()[dim];
  const int64_t step = frame.integer(arg::step);
  frame.require(step > 0, "step must be positive, got {}", step);
  const auto bound = [&](uint32_t i, int64_t otherwise) {
    int64_t at = frame.has(i) ? frame.integer(i) : otherwise;
    if (at < 0) at += size;
    return std::clamp<int64_t>(at, 0, size);
  };
  const int64_t start = bound(arg::start, 0), end = std::max(start, bound(arg::end, size));
  frame.set_integer(arg::start, start);
  frame.set_integer(arg::end, end);
  Dims part(x.sizes());
  part[dim] = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  put_part(frame, x, part);
}

// x: g outside the slice; src: g in the slice
TN_GRADIENT(slice_scatter, {}) {
  const Tensor g = c.grad();
  const auto start = optional_integer(c, arg::start), end = optional_integer(c, arg::end);
  const int64_t dim = c.integer(arg::dim), step = c.integer(arg::step);
  if (c.needs(arg::x))
    c.set(arg::x, slice_scatter(g, zeros(c.shape(arg::src), g), dim, start, end, step));
  if (c.needs(arg::src)) c.set(arg::src, slice(g, dim, start, end, step));
}

// a copy of x, then src written into the part
TN_DECOMPOSE(slice_scatter) {
  const Tensor x = in.tensor(arg::x), copy = clone(x);
  slice(copy, in.integer(arg::dim), in.integer_or_none(arg::start), in.integer_or_none(arg::end),
        in.integer(arg::step))
      .copy_(in.tensor(arg::src));
  out[0] = copy;
}

TN_OP(as_strided_scatter) = {
    .schema = "(Tensor x, Tensor src, int[] shape, int[] strides, int offset=0) -> Tensor",
    .gives = "x with src in place of as_strided.",
    .example = "tenon.as_strided_scatter(t([1., 2., 3.]), t([9.]), (1,), (1,), 2)",
    .linear = "x src",
    .rule = &rule::as_strided_scatter,
    .gradient = &gradient::as_strided_scatter,
    .decompose = &decomposition::as_strided_scatter,
    .updates_first = true,
};

TN_RULE(as_strided_scatter, as_strided_scatter, {.dtypes = "x's", .shapes = "x's"}) {
  const tn_tensor& x = operand(frame, arg::x);
  const Dims part(frame.ints(arg::shape));
  const auto strides = frame.ints(arg::strides);
  frame.require(strides.size() == part.n, "{} strides for {} dimensions", strides.size(), part.n);
  int64_t low = frame.integer(arg::offset), high = low;
  for (uint32_t d = 0; d < part.n; ++d) {
    int64_t reach = 0;
    frame.require(
        !__builtin_mul_overflow(strides[d], std::max<int64_t>(part[d], 1) - 1, &reach) &&
            !__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high),
        "strides {} are too large", format_shape(strides));
  }
  frame.require(count_elements(part) == 0 || (low >= 0 && high < x.numel),
                "elements {} to {} lie outside a tensor of {} elements", low, high, x.numel);
  put_part(frame, x, part);
}

// x: g except where src was put; src: g at those places
TN_GRADIENT(as_strided_scatter, {}) {
  const Tensor g = c.grad();
  if (c.needs(arg::x))
    c.set(arg::x, as_strided_scatter(g, zeros(c.shape(arg::src), g), c.ints(arg::shape),
                                     c.ints(arg::strides), c.integer(arg::offset)));
  if (c.needs(arg::src))
    c.set(arg::src,
          as_strided(g, c.ints(arg::shape), c.ints(arg::strides), c.integer(arg::offset)));
}

TN_DECOMPOSE(as_strided_scatter) {
  const Tensor copy = contiguous(clone(in.tensor(arg::x)));
  as_strided(copy, in.ints(arg::shape), in.ints(arg::strides), in.integer(arg::offset))
      .copy_(in.tensor(arg::src));
  out[0] = copy;
}
