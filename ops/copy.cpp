// Copies and conversions.
#include "dispatch/call.hpp"
#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

TN_OP(cast) = {
    .schema = "(Tensor x, dtype dtype) -> Tensor",
    .gives =
        "x in another dtype; floats are truncated towards zero for integers. Values that are too "
        "large become NaN in float8_e4m3fn, infinity in other floats.",
    .example = "tenon.cast(t([1.7, -1.7]), tenon.int32)",
    .linear = "x",
    .rule = &rule::cast,
    .gradient = &gradient::cast,
};

// The rule asks for no cast, because the kernel itself converts.
TN_RULE(cast, cast,
        {.dtypes = "any; the result has `dtype`", .shapes = "x's", .elementwise = true}) {
  const tn_dtype from = operand(frame, arg::x).dtype();
  const tn_dtype to = frame.dtype_or(arg::dtype, from);
  frame.require(to < TN_DTYPE_COUNT, "unknown dtype code {}", to);
  elementwise(frame, to);
}

// y = x in another dtype; the engine converts the gradient back
TN_GRADIENT(cast, {}) { c.set(arg::x, c.grad()); }

TN_OP(clone) = {
    .schema = "(Tensor x) -> Tensor",
    .gives =
        "A copy of the elements with x's order of dimensions and no gaps (`contiguous` makes "
        "rows); gradients flow through.",
    .example = "tenon.clone(t([1., 2.]))",
    .linear = "x",
    .rule = &rule::clone,
    .gradient = &gradient::identity,
};

TN_RULE(clone, clone, {.dtypes = "any; the result has x's", .shapes = "x's", .elementwise = true}) {
  elementwise(frame, operand(frame, arg::x).dtype());
}

// y = x
TN_GRADIENT_OF(identity, clone, {}) { c.set(arg::x, c.grad()); }

TN_OP(contiguous) = {
    .schema = "(Tensor x) -> Tensor",
    .gives = "A row-major copy without gaps.",
    .example = "tenon.contiguous(t([[1., 2.], [3., 4.]]).T)",
    .dtypes = "any; the result has x's",
    .shapes = "x's",
    .linear = "x",
    .elementwise = true,
    .gradient = &gradient::identity,
    .run = &run::contiguous,
};

// Returns x itself if it is row-major.
TN_RUN(contiguous) {
  tn_tensor& x = frame.tensor(arg::x);
  outs[0] = (x.contiguous() ? Ref::share(&x) : copy_rows(x)).take();
}

TN_OP(to) = {
    .schema = "(Tensor x, device device) -> Tensor",
    .gives = "x on another device.",
    .example = "tenon.to(t([1., 2.]), 'cpu')",
    .dtypes = "any; the result has x's",
    .shapes = "x's",
    .linear = "x",
    .elementwise = true,
    .gradient = &gradient::to,
    .run = &run::to,
};

// Returns x itself if it is already on the device.
TN_RUN(to) {
  tn_tensor& x = frame.tensor(arg::x);
  tn_device& target = *frame.arg(arg::device).as.device;
  if (x.device == &target) {
    outs[0] = Ref::share(&x).take();
    return;
  }
  if (!has_elements(x)) fail_released(x);
  const Ref dense = make_contiguous(x);
  Ref copy(make_tensor(x.dtype(), x.sizes(), target));
  copy_dense(*dense, *copy);
  outs[0] = copy.take();
  if (wants_record(frame)) record(frame, outs, 1);
}

// y = x on another device
TN_GRADIENT(to, {}) { c.set(arg::x, to(c.grad(), c.device(arg::x))); }
