// Attention, forward and backward with what the forward kept.
#include "composite/attention.hpp"

#include "composite/composite.hpp"

namespace {

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

// q, k and v are arguments `first` and on; mask, causal and scale those from `rest` on.
Attention of_arguments(const CompositeArgs& in, uint32_t first, uint32_t rest) {
  const auto scale = in.has(rest + 2) ? std::optional(in.real(rest + 2)) : std::nullopt;
  return make_attention(in.tensor(first), in.tensor(first + 1), in.tensor(first + 2),
                        in.tensor(rest), in.flag(rest + 1), scale);
}

}  // namespace

Attention tenon::core::make_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& mask, bool causal,
                                      std::optional<double> scale) {
  const int64_t heads = q.shape(1), width = std::max<int64_t>(q.shape(3), 1);
  return {wide(q),
          for_heads(wide(k), heads),
          for_heads(wide(v), heads),
          mask,
          causal,
          scale.value_or(1 / std::sqrt(static_cast<double>(width)))};
}

TN_DECOMPOSE(attention) {
  const Attention a = of_arguments(in, 0, 3);
  const Tensor scores = a.scores();
  out[1] = logsumexp(scores, -1);
  out[0] = matmul(Attention::weights(scores, out[1]), a.v).to(in.tensor(0).dtype());
}

TN_DECOMPOSE(attention_backward) {
  const Attention a = of_arguments(in, 1, 7);
  const Tensor g = in.tensor(0), p = Attention::weights(a.scores(), in.tensor(5)),
               ds = a.score_gradient(p, g, in.tensor(4), in.tensor(6)) * a.scale;
  const int64_t heads = in.tensor(2).shape(1);
  out[0] = matmul(ds, a.k).to(g.dtype());
  out[1] = summed_groups(matmul(transpose(ds, -2, -1), a.q), heads).to(g.dtype());
  out[2] = summed_groups(matmul(transpose(p, -2, -1), wide(g)), heads).to(g.dtype());
}
