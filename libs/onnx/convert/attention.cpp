// Attention and its companions: rotary embeddings, linear attention.
#include <cmath>

#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// (N, T, heads·size) as (N, heads, T, size).
Tensor heads_of(const Tensor& x, int64_t heads) {
  return x.reshape({x.shape(0), x.shape(1), heads, x.shape(2) / heads}).transpose(1, 2);
}
// Repeats each key or value head for its `group` of query heads.
Tensor shared_heads(const Tensor& x, int64_t group) {
  if (group == 1) return x;
  return x.unsqueeze(2)
      .expand({x.shape(0), x.shape(1), group, x.shape(2), x.shape(3)})
      .reshape({x.shape(0), x.shape(1) * group, x.shape(2), x.shape(3)});
}

// Which keys a query may see by position: causal, windowed, within a sequence's length.
struct Visible {
  bool causal;
  int64_t left, right;
  Ints lengths;  // of each sequence in the batch, or empty
  int64_t past;  // how many keys precede the first query's own

  bool all() const { return !causal && left < 0 && right < 0 && lengths.empty(); }
  Tensor mask(int64_t queries, int64_t keys, Device device) const {
    Ints holds;
    const auto batch = std::max<size_t>(1, lengths.size());
    for (size_t n = 0; n < batch; ++n) {
      const int64_t length = lengths.empty() ? keys : lengths[n];
      const int64_t offset = lengths.empty() ? past : length - queries;
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t j = 0; j < keys; ++j) {
          const int64_t at = i + offset;
          const bool seen = j < length && (!causal || j <= at) && (left < 0 || j >= at - left) &&
                            (right < 0 || j <= at + right);
          holds.push_back(seen ? 1 : 0);
        }
    }
    return host(holds, {static_cast<int64_t>(batch), 1, queries, keys}, DType::Bool, device);
  }
};

// The bias for the scores: 0 where a key is visible, -inf elsewhere; a float mask is added as it is.
Tensor bias_of(const Call& call, const Visible& visible, const Tensor& q, int64_t keys,
               DType dtype) {
  Tensor bias;
  if (call.has(3)) {
    const Tensor mask = call.x(3);
    bias = mask.dtype() == DType::Bool
               ? where(mask, zeros_like(mask).to(dtype), full_like(mask, -INFINITY, dtype))
               : mask.to(dtype);
    if (bias.shape(-1) < keys) bias = pad(bias, {0, keys - bias.shape(-1)}, "constant", -INFINITY);
  }
  if (visible.all()) return bias;
  const Tensor seen = visible.mask(q.shape(2), keys, q.device());
  const Tensor hidden = where(seen, zeros_like(seen).to(dtype), full_like(seen, -INFINITY, dtype));
  return bias.defined() ? bias + hidden : hidden;
}

// A row without visible keys gives 0.
Tensor probabilities(const Tensor& scores) {
  const Tensor nothing = equal(scores.max(-1, true), -INFINITY);
  return where(nothing, zeros_like(scores),
               softmax(where(nothing, zeros_like(scores), scores), -1));
}

Results attention_of(const Call& call) {
  Tensor q = call.x(0), k = call.x(1), v = call.x(2);
  const bool flat = q.ndim() == 3;
  if (flat) {
    const int64_t q_heads = call.i("q_num_heads", 0), kv_heads = call.i("kv_num_heads", 0);
    if (q_heads < 1 || kv_heads < 1)
      call.fail("q_num_heads and kv_num_heads are required for tensors of rank 3");
    q = heads_of(q, q_heads);
    k = heads_of(k, kv_heads);
    v = heads_of(v, kv_heads);
  }
  int64_t past = 0;
  if (call.has(4)) {
    past = call.x(4).shape(2);
    k = concat({call.x(4), k}, 2);
    v = concat({call.x(5), v}, 2);
  }
  const Tensor present_k = k, present_v = v;
  const int64_t group = q.shape(1) / std::max<int64_t>(1, k.shape(1)), keys = k.shape(2);
  if (group < 1 || group * k.shape(1) != q.shape(1))
    call.fail("heads of queries are no multiple of those of keys");
  const double scale = call.find("scale") != nullptr
                           ? call.f("scale", 1)
                           : 1 / std::sqrt(static_cast<double>(q.shape(3)));
  const Visible visible{call.flag("is_causal"), call.i("left_window_size", -1),
                        call.i("right_window_size", -1), call.has(6) ? call.ints(6) : Ints(), past};
  const double softcap = call.f("softcap", 0);
  const auto finished = [&](const Tensor& y, const Tensor& scores) -> Results {
    const Tensor result =
        flat ? y.transpose(1, 2).reshape({y.shape(0), y.shape(2), y.shape(1) * y.shape(3)}) : y;
    return {result, present_k, present_v, scores};
  };
  const DType dtype = q.dtype();
  const Tensor bias = bias_of(call, visible, q, keys, dtype);
  if (softcap == 0 && !call.wants(3) && call.find("softmax_precision") == nullptr)
    return finished(attention(q, k, v, bias, false, scale).y, {});
  k = shared_heads(k, group);
  v = shared_heads(v, group);
  const Tensor raw = matmul(q * std::sqrt(scale), (k * std::sqrt(scale)).mt());
  const Tensor capped = softcap > 0 ? tanh(raw / softcap) * softcap : raw;
  const Tensor biased = bias.defined() ? capped + bias : capped;
  const DType precision = call.dtype("softmax_precision", dtype);
  const Tensor p = probabilities(biased.to(precision)).to(dtype);
  const Tensor stages[] = {raw, capped, biased, p};
  const int64_t mode = call.i("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) call.fail("qk_matmul_output_mode " + std::to_string(mode));
  return finished(matmul(p, v), stages[mode]);
}

// The variant with bodies that modify scores and probabilities.
Tensor flex_attention(const Call& call) {
  const Tensor q = call.x(0);
  const int64_t group = q.shape(1) / std::max<int64_t>(1, call.x(1).shape(1));
  const Tensor k = shared_heads(call.x(1), group), v = shared_heads(call.x(2), group);
  const DType precision =
      call.dtype("softmax_precision", q.dtype() == DType::F64 ? DType::F64 : DType::F32);
  const double scale = call.find("scale") != nullptr
                           ? call.f("scale", 1)
                           : 1 / std::sqrt(static_cast<double>(q.shape(3)));
  const auto changed = [&](const char* name, const Tensor& x) {
    return call.find(name) == nullptr ? x : call.run(call.graph(name), {x}).at(0).tensor();
  };
  const Tensor scores = changed("score_mod", matmul(q.to(precision), k.to(precision).mt()) * scale);
  return matmul(changed("prob_mod", softmax(scores, -1)), v.to(precision)).to(q.dtype());
}

// Linear attention: each head has a state (d_k, d_v) that decays and is updated token by token.
Results linear_attention(const Call& call) {
  const int64_t q_heads = call.i("q_num_heads", 1), kv_heads = call.i("kv_num_heads", 1);
  const Tensor q = heads_of(call.x(0), q_heads), k = heads_of(call.x(1), kv_heads),
               v = heads_of(call.x(2), kv_heads);
  const int64_t batch = q.shape(0), steps = q.shape(2), d_k = q.shape(3),
                group = q_heads / kv_heads;
  const std::string rule = call.s("update_rule", "gated_delta");
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  const double given = call.f("scale", 0),
               scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(d_k));
  const DType dtype = q.dtype() == DType::F64 ? DType::F64 : DType::F32;
  Tensor state = call.has(3) ? call.x(3).to(dtype)
                             : zeros({batch, kv_heads, d_k, v.shape(3)}, dtype, q.device());
  const auto at = [&](const Tensor& of, int64_t t) { return of.select(2, t).to(dtype); };
  const Tensor decay = call.has(4) ? heads_of(call.x(4), kv_heads) : Tensor(),
               beta = call.has(5) ? heads_of(call.x(5), std::min(kv_heads, call.x(5).shape(2)))
                                  : Tensor();
  std::vector<Tensor> ys;
  for (int64_t t = 0; t < steps; ++t) {
    const Tensor key = at(k, t), value = at(v, t);
    if (gated && decay.defined()) state = state * exp(at(decay, t)).unsqueeze(-1);
    Tensor update = value;
    if (delta) {
      update = value - matmul(key.unsqueeze(-2), state).squeeze(-2);
      if (beta.defined()) update = update * at(beta, t);
    }
    state = state + key.unsqueeze(-1) * update.unsqueeze(-2);
    const Tensor query = at(q, t).reshape({batch, kv_heads, group, d_k});
    ys.push_back((matmul(query, state) * scale).reshape({batch, q_heads * v.shape(3)}));
  }
  return {stack(ys, 1).to(q.dtype()),
          call.has(3) ? state.to(call.x(3).dtype()) : state.to(q.dtype())};
}

// Rotates pairs of elements by an angle that grows with the position.
Tensor rotary(const Call& call) {
  const Tensor given = call.x(0);
  const bool flat = given.ndim() == 3;
  Tensor x = flat ? heads_of(given, call.i("num_heads", 1)) : given;  // (N, heads, T, size)
  const int64_t size = x.shape(3), dim = call.i("rotary_embedding_dim", 0) == 0
                                             ? size
                                             : call.i("rotary_embedding_dim", 0);
  const auto angles = [&](size_t input) {
    Tensor cache = call.x(input);
    if (call.has(3)) {
      const Tensor at = call.x(3).to(DType::I64);
      cache = cache.index_select(0, at.reshape({-1}))
                  .reshape({at.shape(0), at.shape(1), cache.shape(1)});
    }
    return cache.narrow(2, 0, dim / 2).unsqueeze(1);
  };
  const Tensor cosine = angles(1), sine = angles(2), turned = x.narrow(3, 0, dim);
  const bool pairs = call.flag("interleaved");
  const Tensor a = pairs ? turned.slice(3, 0, dim, 2) : turned.narrow(3, 0, dim / 2);
  const Tensor b = pairs ? turned.slice(3, 1, dim, 2) : turned.narrow(3, dim / 2, dim / 2);
  const Tensor real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  Tensor y =
      pairs ? stack({real, imaginary}, 4).reshape(turned.shape()) : concat({real, imaginary}, 3);
  if (dim < size) y = concat({y, x.narrow(3, dim, size - dim)}, 3);
  return flat ? y.transpose(1, 2).reshape(given.shape()) : y;
}

}  // namespace

Family attention_ops() {
  static const Entry ops[] = {
      {"Attention", 23, attention_of},
      {"LinearAttention", 27, linear_attention},
      {"RotaryEmbedding", 23, rotary},
      {"FlexAttention", 1, flex_attention, kPreview},
  };
  return ops;
}

}  // namespace tenon::onnx
