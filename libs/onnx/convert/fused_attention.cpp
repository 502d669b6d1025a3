// Attention as the optimizers of ONNX Runtime write it.
#include <cmath>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// (N, T, heads·size) as (N, heads, T, size), and back.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.reshape({x.shape(0), x.shape(1), heads, x.shape(2) / heads}).transpose(1, 2);
}
Tensor merge_heads(const Tensor& x) {
  return x.transpose(1, 2).reshape({x.shape(0), x.shape(2), x.shape(1) * x.shape(3)});
}

struct Heads {
  Tensor q, k, v;  // (N, heads, T, size)
  int64_t past = 0;
};

// The bias for scores (N, heads, queries, keys), or nothing.
struct Bias {
  const Call& call;
  const Heads& heads;
  Tensor sum;

  void add(const Tensor& more) { sum = sum.defined() ? sum + more : more; }
  // `low` where `seen` is 0, else 0.
  void hide(const Tensor& seen, double low) {
    add(where(seen.to(DType::Bool), 0.0, low).to(heads.q.dtype()));
  }
  // Keys 0, 1, … as a row.
  Tensor places() const {
    return host(range(heads.k.shape(2)), {1, 1, 1, heads.k.shape(2)}, DType::I64, call.device());
  }
  static Ints range(int64_t count, int64_t from = 0) {
    Ints made;
    for (int64_t i = 0; i < count; ++i) made.push_back(from + i);
    return made;
  }
  void causal() {
    const int64_t queries = heads.q.shape(2);
    const Tensor at =
        host(range(queries, heads.past), {1, 1, queries, 1}, DType::I64, call.device());
    hide(less_equal(places(), at), -INFINITY);
  }
  // The mask may hold lengths (N), ends and starts (2·N), or visibility: (N, keys), (N, queries, keys), (N, 1, rows, keys).
  void mask(const Tensor& given, double low) {
    const int64_t batch = heads.q.shape(0), keys = heads.k.shape(2), queries = heads.q.shape(2);
    const Tensor m = given.to(DType::I64);
    if (m.ndim() == 1 && (m.shape(0) == batch || m.shape(0) == 2 * batch)) {
      const auto row = [&](int64_t i) {
        return m.narrow(0, i * batch, batch).reshape({batch, 1, 1, 1});
      };
      Tensor seen = less(places(), row(0));
      if (m.shape(0) == 2 * batch) seen = logical_and(seen, greater_equal(places(), row(1)));
      return hide(seen, low);
    }
    if (m.ndim() == 2) return hide(m.reshape({batch, 1, 1, keys}), low);
    if (m.ndim() == 3) return hide(m.unsqueeze(1), low);
    if (m.ndim() == 4) return hide(m.narrow(2, heads.past, queries).narrow(3, 0, keys), low);
    call.unsupported("a mask of rank " + std::to_string(m.ndim()) + " and " +
                     std::to_string(m.numel()) + " elements");
  }
};

Tensor attended(const Call& call, const Heads& heads, const Tensor& bias) {
  const double given = call.f("scale", 0);
  const std::optional<double> scale = given == 0 ? std::nullopt : std::optional(given);
  return merge_heads(attention(heads.q, heads.k, heads.v, bias, false, scale).y);
}

void append_past(Heads& heads, const Tensor& k, const Tensor& v) {
  heads.past = k.shape(2);
  heads.k = concat({k, heads.k}, 2);
  heads.v = concat({v, heads.v}, 2);
}

// Splits (N, T, 3·D), or the widths in qkv_hidden_sizes, into q, k and v.
Results attend(const Call& call, const Tensor& qkv, size_t mask, size_t past, size_t bias) {
  const int64_t count = call.i("num_heads", 0), width = qkv.shape(2) / 3;
  if (count < 1) call.fail("num_heads is required");
  if (call.flag("do_rotary") || call.flag("past_present_share_buffer"))
    call.unsupported("do_rotary or past_present_share_buffer");
  const Ints widths = call.list("qkv_hidden_sizes", {width, width, width});
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != qkv.shape(2))
    call.fail("qkv_hidden_sizes does not fit " + std::to_string(qkv.shape(2)) + " columns");
  Heads heads{split_heads(qkv.narrow(2, 0, widths[0]), count),
              split_heads(qkv.narrow(2, widths[0], widths[1]), count),
              split_heads(qkv.narrow(2, widths[0] + widths[1], widths[2]), count)};
  if (call.has(past)) append_past(heads, call.x(past).select(0, 0), call.x(past).select(0, 1));
  Bias added{call, heads, {}};
  if (call.has(mask)) added.mask(call.x(mask), call.f("mask_filter_value", -10000));
  if (call.flag("unidirectional")) added.causal();
  if (call.has(bias)) added.add(call.x(bias));
  return {attended(call, heads, added.sum),
          call.wants(1) ? Value(stack({heads.k, heads.v}, 0)) : Value()};
}

// Inputs: x, weight (in, 3·D), bias, mask, past (2, N, heads, T, size), bias for the scores.
Results attention_of_input(const Call& call) {
  const Tensor product = matmul(call.x(0), call.x(1));
  return attend(call, call.has(2) ? product + call.x(2) : product, 3, 4, 5);
}

// The integer form: x, weight, bias, scales of x and weight, mask, zero points of x and weight, past.
Results attention_of_integers(const Call& call) {
  const auto real = [&](size_t x, size_t scale, size_t zero) {
    const Tensor q = call.x(x).to(DType::F32);
    return (call.has(zero) ? q - call.x(zero).to(DType::F32) : q) * call.x(scale);
  };
  const auto weight = call.kept(call.constant({1, 4, 7}), [&] { return real(1, 4, 7); });
  return attend(call, matmul(real(0, 3, 6), *weight) + call.x(2), 5, 8, call.size());
}

// Query (N, T, D); key and value of the same form or split into heads. Packed: (N, T, heads, 3 or 2, size).
Results multi_head_attention(const Call& call) {
  const int64_t count = call.i("num_heads", 0);
  if (count < 1) call.fail("num_heads is required");
  Tensor q = call.x(0), k = call.maybe(1), v = call.maybe(2);
  const auto flat = [](const Tensor& packed, int64_t i) {
    const Tensor x = packed.select(3, i);
    return x.reshape({x.shape(0), x.shape(1), x.shape(2) * x.shape(3)});
  };
  if (q.ndim() == 5) {
    k = flat(q, 1), v = flat(q, 2), q = flat(q, 0);
  } else if (k.defined() && k.ndim() == 5) {
    v = flat(k, 1), k = flat(k, 0);
  }
  if (!k.defined() || !v.defined()) call.unsupported("a call without keys or values");
  const auto with_bias = [&](const Tensor& x, int64_t at) {
    if (!call.has(3) || x.ndim() != 3) return x;
    return x + call.x(3).narrow(0, at, x.shape(2));
  };
  const int64_t width = q.shape(2);
  const auto headed = [&](const Tensor& x) { return x.ndim() == 4 ? x : split_heads(x, count); };
  Heads heads{headed(with_bias(q, 0)), headed(with_bias(k, width)),
              headed(with_bias(v, 2 * width))};
  if (call.has(6)) append_past(heads, call.x(6), call.x(7));
  Bias added{call, heads, {}};
  if (call.has(4)) added.mask(call.x(4), call.f("mask_filter_value", -10000));
  if (call.flag("unidirectional")) added.causal();
  if (call.has(5)) added.add(call.x(5));
  return {attended(call, heads, added.sum), heads.k, heads.v};
}

}  // namespace

Family fused_attention_ops() {
  static const Entry ops[] = {
      {"Attention", 1, attention_of_input, kMicrosoft},
      {"MultiHeadAttention", 1, multi_head_attention, kMicrosoft},
      {"QAttention", 1, attention_of_integers, kMicrosoft},
  };
  return ops;
}

}  // namespace tenon::onnx
