// Matrix notation over handles, for formulas.
#pragma once

#include "tenon/new_op.hpp"

namespace tenon::linalg {

using sdk::call;
using sdk::Handle;

inline bool is_complex(const Handle& x) { return (TN_MASK(x.view().dtype) & TN_MASK_COMPLEX) != 0; }
inline int64_t rows(const Handle& x) { return x.view().shape[x.view().ndim - 2]; }
inline int64_t columns(const Handle& x) { return x.view().shape[x.view().ndim - 1]; }

inline Handle conj(const Handle& x) { return is_complex(x) ? call("conj", x) : x; }
inline Handle T(const Handle& x) { return call("transpose", x, -2, -1); }
inline Handle H(const Handle& x) { return T(conj(x)); }
template <class... More>
Handle dot(const Handle& x, const Handle& y, const More&... more) {
  Handle product = call("matmul", x, y);
  if constexpr (sizeof...(more) == 0)
    return product;
  else
    return dot(product, more...);
}
// A vector (…, n) that multiplies each row, or each column, of a matrix.
inline Handle per_column(const Handle& s) { return call("unsqueeze", s, -2); }
inline Handle per_row(const Handle& s) { return call("unsqueeze", s, -1); }
// One number for each matrix (…), broadcast to its elements.
inline Handle spread(const Handle& x) { return per_row(per_row(x)); }

inline Handle ones_like(const Handle& x) { return call("full_like", x, 1); }
inline Handle zeros_like(const Handle& x) { return call("full_like", x, 0); }
inline Handle eye_like(const Handle& x) { return call("tril", call("triu", ones_like(x), 0), 0); }
// x as the imaginary part of a complex tensor
inline Handle imaginary(const Handle& x) { return call("complex", zeros_like(x), x); }
// The first or last entries along a dimension from the end
inline Handle narrow(const Handle& x, int dim, int64_t from, int64_t to) {
  return call("slice", x, dim, from, to);
}
// Both, one after the other along a dimension
inline Handle join(const Handle& x, const Handle& y, int dim) {
  tn_tensor* const parts[] = {x.get(), y.get()};
  tn_value both{};
  both.tag = TN_VALUE_TENSORS;
  both.count = 2;
  both.as.tensors = parts;
  return call("concat", both, dim);
}
// x broadcast to the shape of y
inline Handle like(const Handle& x, const Handle& y) {
  return call("expand", x, std::span<const int64_t>(y.view().shape, y.view().ndim));
}

}  // namespace tenon::linalg
