// Attention.
// The statistic lse is f32 if q is f16 or bf16, otherwise of q's dtype.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// Checks an optional mask, which is either added to the scores or, as bool, says which are allowed.
void check_mask(Frame& frame, uint32_t i, std::span<const int64_t> scores, tn_dtype dtype) {
  if (!frame.has(i)) return;
  const tn_tensor& m =
      operand(frame, i, TN_MASK_FLOAT | TN_MASK_BOOL, "a bool or floating-point dtype");
  frame.require(same_shape(broadcast_shapes(frame, m.sizes(), scores), scores),
                "mask of shape {} does not broadcast to {}", format_shape(m.sizes()),
                format_shape(scores));
  if (m.dtype() != TN_DTYPE_BOOL) frame.cast(i, dtype);
}

// Checks q (B, H, L, E), k (B, K, S, E), v (B, K, S, F) and a mask that broadcasts to (B, H, L, S), and returns their dtype. `arg` names
// the op's arguments.
template <class arg>
tn_dtype queries_keys_values(Frame& frame) {
  for (const uint32_t i : {arg::q, arg::k, arg::v}) {
    operand(frame, i, TN_MASK_FLOAT, "a floating-point dtype");
    require_rank(frame, i, 4, 4);
  }
  const tn_tensor &q = frame.tensor(arg::q), &k = frame.tensor(arg::k), &v = frame.tensor(arg::v);
  const int64_t *x = q.shape(), *y = k.shape(), *z = v.shape();
  frame.require(x[0] == y[0] && x[0] == z[0] && y[1] == z[1] && y[2] == z[2] && x[3] == y[3],
                "q {}, k {} and v {} are not (B, H, L, E), (B, K, S, E) and (B, K, S, F)",
                format_shape(q.sizes()), format_shape(k.sizes()), format_shape(v.sizes()));
  frame.require(y[1] == 0 ? x[1] == 0 : x[1] % y[1] == 0,
                "{} heads of q do not divide among {} of k and v", x[1], y[1]);
  const tn_dtype dtype = promote(promote(q.dtype(), k.dtype()), v.dtype());
  for (const uint32_t i : {arg::q, arg::k, arg::v}) frame.cast(i, dtype);
  const int64_t scores[] = {x[0], x[1], x[2], y[2]};
  check_mask(frame, arg::mask, scores, dtype);
  return dtype;
}

// Checks qkv (B, L, 3, H, E) and its mask, and returns the dtype.
template <class arg>
tn_dtype packed(Frame& frame) {
  const tn_tensor& qkv = operand(frame, arg::qkv, TN_MASK_FLOAT, "a floating-point dtype");
  require_rank(frame, arg::qkv, 5, 5);
  const int64_t* n = qkv.shape();
  frame.require(n[2] == 3, "qkv {} is not (B, L, 3, H, E)", format_shape(qkv.sizes()));
  const int64_t scores[] = {n[0], n[3], n[1], n[1]};
  check_mask(frame, arg::mask, scores, qkv.dtype());
  return qkv.dtype();
}

// The shapes that qkv gives y and lse.
Dims packed_output(const tn_tensor& qkv) {
  const int64_t* n = qkv.shape();
  return Dims{{{n[0], n[1], n[3], n[4]}}};
}
Dims packed_rows(const tn_tensor& qkv) {
  const int64_t* n = qkv.shape();
  return Dims{{{n[0], n[3], n[1]}}};
}

// (B, L, H, E) as (B, H, L, E), and back.
Tensor heads_first(const Tensor& x) { return transpose(x, 1, 2); }
// q, k or v of a packed operand.
Tensor unpacked(const Tensor& qkv, int64_t which) { return heads_first(select(qkv, 2, which)); }

Dims output_shape(const tn_tensor& q, const tn_tensor& v) {
  Dims shape(q.sizes());
  shape[3] = v.shape()[3];
  return shape;
}

// Attention by its definition (Vaswani et al. 2017, eq. 1), for the decompositions and for the gradient of the mask.
struct Attention {
  Tensor q, k, v, mask;  // k and v with one head for each of q's
  bool causal;
  double scale;

  // scale·q·kᵀ + mask (B, H, L, S), −∞ where forbidden
  Tensor scores() const {
    Tensor s = matmul(q * scale, transpose(k, -2, -1));
    const bool allows = mask.defined() && mask.dtype() == DType::Bool;
    if (mask.defined()) s = allows ? where(mask, s, -INFINITY) : s + wide(mask);
    if (!causal) return s;
    return where(tril(full({s.shape(2), s.shape(3)}, true, DType::Bool, s.device())), s, -INFINITY);
  }
  // e^(s − lse); 0 in rows where everything is forbidden
  static Tensor weights(const Tensor& scores, const Tensor& lse) {
    return exp(scores - unsqueeze(where(lse == -INFINITY, 0, lse), -1));
  }
  // p∘(g·vᵀ − Σ g∘y + d lse), Dao et al. 2022, app. B.4
  Tensor score_gradient(const Tensor& p, const Tensor& g, const Tensor& y,
                        const Tensor& glse) const {
    Tensor along = sum(wide(g) * wide(y), -1);
    if (glse.defined()) along = along - glse;
    return p * (matmul(wide(g), transpose(v, -2, -1)) - unsqueeze(along, -1));
  }
};

// Each head of k or v serves a group of q's, Ainslie et al. 2023.
Tensor for_heads(const Tensor& x, int64_t heads) {
  const int64_t b = x.shape(0), h = x.shape(1), n = x.shape(2), width = x.shape(3);
  if (h == heads) return x;
  return reshape(expand(unsqueeze(x, 2), {b, h, heads / h, n, width}), {b, heads, n, width});
}
Tensor summed_groups(const Tensor& g, int64_t heads) {
  const int64_t b = g.shape(0), h = g.shape(1), n = g.shape(2), width = g.shape(3);
  return h == heads ? g : sum(reshape(g, {b, heads, h / heads, n, width}), 2);
}

Attention make_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                         bool causal, double scale) {
  const int64_t heads = q.shape(1);
  return {wide(q), for_heads(wide(k), heads), for_heads(wide(v), heads), mask, causal, scale};
}

// The scale if none was given.
double default_scale(const Tensor& q) {
  return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(q.shape(3), 1)));
}

std::optional<double> real_or_none(const CompositeArgs& in, uint32_t i) {
  return in.has(i) ? std::optional(in.real(i)) : std::nullopt;
}

template <class arg>
Attention of_arguments(const CompositeArgs& in) {
  const Tensor q = in.tensor(arg::q);
  return make_attention(q, in.tensor(arg::k), in.tensor(arg::v), in.tensor(arg::mask),
                        in.flag(arg::causal),
                        real_or_none(in, arg::scale).value_or(default_scale(q)));
}

}  // namespace

TN_OP(attention) = {
    .schema =
        "(Tensor q, Tensor k, Tensor v, Tensor? mask=none, bool causal=false, float? "
        "scale=none) -> Tensor y, Tensor lse",
    .gives =
        "Scaled dot-product attention: softmax(scale·q·kᵀ + mask)·v, and lse, the logarithm of "
        "each query's Σ e^score. A bool mask allows where it is true, any other is added to the "
        "scores; causal hides the keys after the query's position; scale defaults to 1/√E. If k "
        "and v have fewer heads, each serves a group of q's.",
    .example =
        "tenon.attention(t([[[[1., 0.]]]]), t([[[[1., 0.], [0., 1.]]]]), t([[[[2.], [4.]]]])).y",
    .autocast = "low",
    .rule = &rule::attention,
    .gradient = &gradient::attention,
    .decompose = &decomposition::attention,
};

TN_RULE(
    attention, attention,
    {.dtypes = "a floating dtype, common to all; the mask may also be bool",
     .shapes =
         "q (B, H, L, E), k (B, G, S, E), v (B, G, S, F) give y (B, H, L, F); H is a multiple of "
         "G"}) {
  const tn_dtype dtype = queries_keys_values<arg>(frame);
  frame.result(arg::result::y, dtype, output_shape(frame.tensor(arg::q), frame.tensor(arg::v)));
  frame.result(arg::result::lse, statistic(dtype), frame.tensor(arg::q).sizes().first(3));
}

// y = softmax(scale·q·kᵀ + mask)·v; the fused op gives the gradients of q, k and v; that of the mask is the scores' gradient
TN_GRADIENT(attention, {.always = in_(arg::q) | in_(arg::k) | in_(arg::v) | in_(arg::mask) |
                                  out_(arg::result::y) | out_(arg::result::lse)}) {
  const Tensor q = c.in(arg::q), k = c.in(arg::k), v = c.in(arg::v), mask = c.in(arg::mask),
               y = c.out(arg::result::y), lse = c.out(arg::result::lse),
               glse = c.grad(arg::result::lse);
  const Tensor g = c.grad(arg::result::y).defined() ? c.grad(arg::result::y) : zeros(y.shape(), y);
  const auto scale = c.has(arg::scale) ? std::optional(c.real(arg::scale)) : std::nullopt;
  if (c.needs(arg::mask)) {
    const Attention a =
        make_attention(q, k, v, mask, c.flag(arg::causal), scale.value_or(default_scale(q)));
    c.set(arg::mask, a.score_gradient(Attention::weights(a.scores(), lse), g, y, glse));
  }
  if (!c.needs(arg::q) && !c.needs(arg::k) && !c.needs(arg::v)) return;
  const auto grads = attention_backward(g, q, k, v, y, lse, glse, mask, c.flag(arg::causal), scale);
  c.set(arg::q, grads.gq);
  c.set(arg::k, grads.gk);
  c.set(arg::v, grads.gv);
}

TN_DECOMPOSE(attention) {
  const Attention a = of_arguments<arg>(in);
  const Tensor scores = a.scores();
  out[arg::result::lse] = logsumexp(scores, -1);
  out[arg::result::y] =
      matmul(Attention::weights(scores, out[arg::result::lse]), a.v).to(in.tensor(arg::q).dtype());
}

TN_OP(attention_backward) = {
    .schema =
        "(Tensor g, Tensor q, Tensor k, Tensor v, Tensor y, Tensor lse, Tensor? glse, Tensor? "
        "mask, bool causal, float? scale) -> Tensor gq, Tensor gk, Tensor gv",
    .gives = "The gradients of attention, computed from its results; glse is the gradient of lse.",
    .example =
        "tenon.attention_backward(t([[[[1.]]]]), t([[[[1.]]]]), t([[[[1.]]]]), t([[[[2.]]]]), "
        "t([[[[2.]]]]), t([[[1.]]]), None, None, False, None).gv",
    .rule = &rule::attention_backward,
    .through = true,
    .decompose = &decomposition::attention_backward,
};

TN_RULE(attention_backward, attention_backward,
        {.dtypes = "as in `attention`", .shapes = "those of q, k, v"}) {
  const tn_dtype dtype = queries_keys_values<arg>(frame);
  const Dims out = output_shape(frame.tensor(arg::q), frame.tensor(arg::v));
  for (const uint32_t i : {arg::g, arg::y}) parameter(frame, i, out, dtype);
  for (const uint32_t i : {arg::lse, arg::glse})
    parameter(frame, i, frame.tensor(arg::q).sizes().first(3), statistic(dtype));
  frame.result(arg::result::gq, dtype, frame.tensor(arg::q).sizes());
  frame.result(arg::result::gk, dtype, frame.tensor(arg::k).sizes());
  frame.result(arg::result::gv, dtype, frame.tensor(arg::v).sizes());
}

TN_DECOMPOSE(attention_backward) {
  const Attention a = of_arguments<arg>(in);
  const Tensor g = in.tensor(arg::g), p = Attention::weights(a.scores(), in.tensor(arg::lse)),
               ds = a.score_gradient(p, g, in.tensor(arg::y), in.tensor(arg::glse)) * a.scale;
  const int64_t heads = in.tensor(arg::k).shape(1);
  out[arg::result::gq] = matmul(ds, a.k).to(g.dtype());
  out[arg::result::gk] = summed_groups(matmul(transpose(ds, -2, -1), a.q), heads).to(g.dtype());
  out[arg::result::gv] = summed_groups(matmul(transpose(p, -2, -1), wide(g)), heads).to(g.dtype());
}

TN_OP(attention_packed) = {
    .schema =
        "(Tensor qkv, Tensor? mask=none, bool causal=false, float? scale=none) -> Tensor y, Tensor "
        "lse",
    .gives =
        "attention of q, k and v in one tensor, as a single product computes them, with y in the "
        "layout that the next product reads. Its gradient is written once, into one tensor.",
    .example = "tenon.attention_packed(tenon.ones(1, 2, 3, 1, 4)).y.shape",
    .autocast = "low",
    .rule = &rule::attention_packed,
    .gradient = &gradient::attention_packed,
    .decompose = &decomposition::attention_packed,
};

TN_RULE(attention_packed, attention_packed,
        {.dtypes = "floating; the mask may also be bool",
         .shapes = "qkv (B, L, 3, H, E) gives y (B, L, H, E) and lse (B, H, L)"}) {
  const tn_dtype dtype = packed<arg>(frame);
  const tn_tensor& qkv = frame.tensor(arg::qkv);
  frame.result(arg::result::y, dtype, packed_output(qkv));
  frame.result(arg::result::lse, statistic(dtype), packed_rows(qkv));
}

// as attention, with q, k and v in one tensor
TN_GRADIENT(attention_packed, {.always = in_(arg::qkv) | in_(arg::mask) | out_(arg::result::y) |
                                         out_(arg::result::lse)}) {
  const Tensor qkv = c.in(arg::qkv), mask = c.in(arg::mask), y = c.out(arg::result::y),
               lse = c.out(arg::result::lse), glse = c.grad(arg::result::lse);
  const Tensor g = c.grad(arg::result::y).defined() ? c.grad(arg::result::y) : zeros(y.shape(), y);
  const auto scale = c.has(arg::scale) ? std::optional(c.real(arg::scale)) : std::nullopt;
  if (c.needs(arg::mask)) {
    const Tensor q = unpacked(qkv, 0);
    const Attention a = make_attention(q, unpacked(qkv, 1), unpacked(qkv, 2), mask,
                                       c.flag(arg::causal), scale.value_or(default_scale(q)));
    c.set(arg::mask, a.score_gradient(Attention::weights(a.scores(), lse), heads_first(g),
                                      heads_first(y), glse));
  }
  if (c.needs(arg::qkv))
    c.set(arg::qkv,
          attention_packed_backward(g, qkv, y, lse, glse, mask, c.flag(arg::causal), scale));
}

TN_DECOMPOSE(attention_packed) {
  const Tensor qkv = in.tensor(arg::qkv);
  const auto found =
      attention(unpacked(qkv, 0), unpacked(qkv, 1), unpacked(qkv, 2), in.tensor(arg::mask),
                in.flag(arg::causal), real_or_none(in, arg::scale));
  out[arg::result::y] = contiguous(heads_first(found.y));
  out[arg::result::lse] = found.lse;
}

TN_OP(attention_packed_backward) = {
    .schema =
        "(Tensor g, Tensor qkv, Tensor y, Tensor lse, Tensor? glse, Tensor? mask, bool causal, "
        "float? scale) -> Tensor",
    .gives =
        "The gradient of attention_packed, computed from its results; glse is the gradient of lse.",
    .example =
        "tenon.attention_packed_backward(t([[[[1.]]]]), t([[[[[1.]], [[1.]], [[2.]]]]]), "
        "t([[[[2.]]]]), "
        "t([[[1.]]]), None, None, False, None).flatten()",
    .rule = &rule::attention_packed_backward,
    .through = true,
    .decompose = &decomposition::attention_packed_backward,
};

TN_RULE(attention_packed_backward, attention_packed_backward,
        {.dtypes = "as in `attention_packed`", .shapes = "that of qkv"}) {
  const tn_dtype dtype = packed<arg>(frame);
  const tn_tensor& qkv = frame.tensor(arg::qkv);
  for (const uint32_t i : {arg::g, arg::y}) parameter(frame, i, packed_output(qkv), dtype);
  for (const uint32_t i : {arg::lse, arg::glse})
    parameter(frame, i, packed_rows(qkv), statistic(dtype));
  frame.result(0, dtype, qkv.sizes());
}

TN_DECOMPOSE(attention_packed_backward) {
  const Tensor qkv = in.tensor(arg::qkv);
  const auto grads = attention_backward(
      heads_first(in.tensor(arg::g)), unpacked(qkv, 0), unpacked(qkv, 1), unpacked(qkv, 2),
      heads_first(in.tensor(arg::y)), in.tensor(arg::lse), in.tensor(arg::glse),
      in.tensor(arg::mask), in.flag(arg::causal), real_or_none(in, arg::scale));
  out[0] = stack({heads_first(grads.gq), heads_first(grads.gk), heads_first(grads.gv)}, 2);
}
