// Elementwise ops made of others.
#include "composite/composite.hpp"

TN_DECOMPOSE(square) {
  const Tensor x = in.tensor(0);
  out[0] = x * x;
}

TN_DECOMPOSE(reciprocal) { out[0] = 1 / in.tensor(0); }

TN_DECOMPOSE(rsqrt) { out[0] = 1 / sqrt(in.tensor(0)); }

// x + weight·(y−x)
TN_DECOMPOSE(lerp) {
  const Tensor x = in.tensor(0);
  out[0] = x + mul(sub(in.operand(1), x), in.operand(2));
}

// keeps x's dtype, whatever the value's
TN_DECOMPOSE(masked_fill) {
  const Tensor x = in.tensor(0), mask = in.tensor(1);
  in.frame().require_dtype(1, TN_MASK_BOOL, "a bool mask");
  const bool other = in.frame().is_tensor(2) && in.tensor(2).dtype() != x.dtype();
  out[0] = other ? where(mask, in.tensor(2).to(x.dtype()), x) : where(mask, in.operand(2), x);
}

// Srivastava et al. 2014, scaled while training, so that evaluation is the identity
TN_DECOMPOSE(dropout) {
  const double p = in.real(1);
  in.frame().require(p >= 0 && p <= 1, "p must be between 0 and 1, got {}", p);
  const Tensor x = in.tensor(0);
  out[0] = in.flag(2) && p > 0 ? x * dropout_mask(x.detach(), p, in.generator(3)) : alias(x);
}

// what lies on and below diagonal k; and above
static Tensor triangle(const CompositeArgs& in, bool upper) {
  const Tensor x = in.tensor(0);
  in.frame().require(x.ndim() >= 2, "rank 2 or more is needed, not {}", x.ndim());
  const Tensor row = unsqueeze(arange(0, x.shape(-2), 1, DType::I64, x.device()), 1);
  const Tensor column = arange(0, x.shape(-1), 1, DType::I64, x.device());
  const Tensor distance = column - row;
  const Scalar zero = x.dtype() == DType::Bool ? Scalar(false) : Scalar(0);
  return where(upper ? distance >= in.integer(1) : distance <= in.integer(1), x, zero);
}

TN_DECOMPOSE(tril) { out[0] = triangle(in, false); }

TN_DECOMPOSE(triu) { out[0] = triangle(in, true); }
