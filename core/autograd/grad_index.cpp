// Gradients of indexing, joining and rolling: reading and adding are each other's adjoints.
#include <algorithm>

#include "autograd/grad_tools.hpp"

namespace {

std::optional<int64_t> integer(const GradCall& c, uint32_t arg) {
  return c.has(arg) ? std::optional(c.integer(arg)) : std::nullopt;
}

// What was read of src (argument 3), with zeros where index does not reach.
void set_source(GradCall& c, const Tensor& g, const Tensor& index) {
  const Tensor read = gather(g, c.integer(1), index);
  const auto src = c.shape(3), have = index.shape();
  if (src.empty() || std::ranges::equal(src, have)) return c.set(3, read);
  Sizes pads;  // the last dimension first: nothing in front, the rest behind
  int64_t list[2 * TN_MAX_DIMS];
  for (size_t d = 0; d < src.size(); ++d) {
    const size_t from = src.size() - 1 - d;
    list[2 * d] = 0;
    list[2 * d + 1] = src[from] - have[from];
  }
  c.set(3, pad(read, std::span<const int64_t>(list, 2 * src.size())));
}

}  // namespace

// g added up at the places that were read
TN_GRADIENT(gather, {.always = in_(2)}) {
  const Tensor g = c.grad();
  c.set(0, put(detail::op_scatter_add, zeros(c.shape(0), g), c.integer(1), c.in(2), g));
}

// x: g but where src was put; src: g at those places
TN_GRADIENT(scatter, {.always = in_(2)}) {
  const Tensor g = c.grad(), index = c.in(2);
  if (c.needs(0)) c.set(0, scatter(g, c.integer(1), index, zeros(index.shape(), g)));
  if (c.needs(3)) set_source(c, g, index);
}

// x: g; src: g at the places it was added to
TN_GRADIENT(scatter_add, {.always = in_(2)}) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(3)) set_source(c, c.grad(), c.in(2));
}

// g added up at the places that were read
TN_GRADIENT(index_select, {.always = in_(2)}) {
  const Tensor g = c.grad();
  const Tensor row = c.shape(0).empty() ? reshape(g, c.shape(0)) : Tensor();
  c.set(0, row.defined()
               ? row
               : put(detail::op_index_add, zeros(c.shape(0), g), c.integer(1), c.in(2), g));
}

// x: g; src: g at the places it was added to
TN_GRADIENT(index_add, {.always = in_(2)}) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(3)) c.set(3, reshape(index_select(c.grad(), c.integer(1), c.in(2)), c.shape(3)));
}

// g added up at the places that were read
TN_GRADIENT(index, {.always = in_(1)}) {
  const Tensor g = c.grad();
  const auto indices = c.ins(1);
  c.set(0, put(detail::op_index_put, zeros(c.shape(0), g), TensorList(indices), g, true));
}

// x: g but where values were put (where they were added: all of g); values: g at those places
TN_GRADIENT(index_put, {.always = in_(1)}) {
  const Tensor g = c.grad();
  const auto indices = c.ins(1);
  if (c.needs(0)) c.set(0, c.flag(3) ? g : index_put(g, indices, zeros(IntList(), g)));
  if (c.needs(2)) c.set(2, index(g, indices));
}

// x: g but in the slice; src: g in the slice
TN_GRADIENT(slice_scatter, {}) {
  const Tensor g = c.grad();
  const auto start = integer(c, 3), end = integer(c, 4);
  const int64_t dim = c.integer(2), step = c.integer(5);
  if (c.needs(0)) c.set(0, slice_scatter(g, zeros(c.shape(1), g), dim, start, end, step));
  if (c.needs(1)) c.set(1, slice(g, dim, start, end, step));
}

// x: g but where src was put; src: g at those places
TN_GRADIENT(as_strided_scatter, {}) {
  const Tensor g = c.grad();
  if (c.needs(0))
    c.set(0, as_strided_scatter(g, zeros(c.shape(1), g), c.ints(2), c.ints(3), c.integer(4)));
  if (c.needs(1)) c.set(1, as_strided(g, c.ints(2), c.ints(3), c.integer(4)));
}

// g added up at the rows that were read; none to the padding row
TN_GRADIENT(embedding, {.always = in_(1)}) {
  if (c.needs(0)) c.set(0, embedding_backward(c.grad(), c.in(1), c.shape(0)[0], integer(c, 2)));
}

// linear in g: reads the rows that g was added to; zeros at the padding row
TN_GRADIENT(embedding_backward, {.always = in_(1)}) {
  const Tensor index = c.in(1), read = embedding(c.grad(), index);
  if (!c.has(3)) return c.set(0, read);
  const int64_t padding = wrapped(c.integer(3), c.integer(2));
  c.set(0, where(unsqueeze(equal(index, padding), -1), 0, read));
}

// rolled back
TN_GRADIENT(roll, {}) {
  Sizes back;
  for (const int64_t shift : c.ints(1)) back.push(-shift);
  c.set(0, c.has(2) ? roll(c.grad(), back, c.ints(2)) : roll(c.grad(), back));
}

// to each its part
TN_GRADIENT(concat, {}) {
  const Tensor g = c.grad();
  const int64_t dim = wrapped(c.integer(1), g.ndim());
  int64_t at = 0;
  for (uint32_t k = 0; k < c.count(0); ++k) {
    const int64_t size = c.shape(0, k)[dim];
    if (c.needs(0, k)) c.set(0, k, slice(g, dim, at, at + size));
    at += size;
  }
}
