// Multi-head attention.
#ifndef TENON_NN_ATTENTION_HPP
#define TENON_NN_ATTENTION_HPP

#include "tenon/nn/detail/multihead.hpp"
#include "tenon/nn/linear.hpp"
#include "tenon/nn/module_of.hpp"

namespace tenon::nn {

namespace functional {
struct ScaledDotProductAttentionFuncOptions {
  Tensor attn_mask = {};  // bool, where true allows, or added to the scores
  double dropout_p = 0;
  bool is_causal = false;
  std::optional<double> scale = {};  // 1 / √E where absent
};

// softmax(scale · query · keyᵀ + attn_mask) · value, of (B, heads, length, E); key and value may have fewer heads, each for a group of
// query's (Vaswani et al. 2017, equation 1).
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value,
                                           const ScaledDotProductAttentionFuncOptions& o = {}) {
  const char* const where = "scaled_dot_product_attention";
  if (o.attn_mask.defined() && o.is_causal)
    nn::detail::refuse(where, "attn_mask and is_causal exclude each other");
  if (nn::detail::check_part(where, "dropout_p", o.dropout_p) > 0)
    nn::detail::refuse(where, "dropout_p", nn::detail::text_of(o.dropout_p),
                       "must be 0: MultiheadAttention has dropout");
  return attention(query, key, value, o.attn_mask, o.is_causal, o.scale).y;
}
}  // namespace functional

struct MultiheadAttentionOptions {
  double dropout = 0;
  bool bias = true;
  bool add_bias_kv = false;
  bool add_zero_attn = false;
  std::optional<int64_t> kdim = {};  // embed_dim where absent
  std::optional<int64_t> vdim = {};  // embed_dim where absent
  bool batch_first = false;
};

// Masks are bool, where true forbids, or floating-point and added to the scores.
struct MultiheadAttentionForwardOptions {
  Tensor key_padding_mask = {};  // (B, S)
  bool need_weights = true;
  Tensor attn_mask = {};  // (L, S) or (B · num_heads, L, S)
  bool average_attn_weights = true;
  bool is_causal = false;  // says that attn_mask is causal, which saves work
};

// Multi-head attention (Vaswani et al. 2017, section 3.2.2) of query (L, B, embed_dim), key (S, B, kdim) and value (S, B, vdim); (B, L, …)
// with batch_first; or all without a batch:
//
//   auto [y, weights] = attention(query, key, value, {.attn_mask = mask});
//
// The weights are averaged over heads (B, L, S), for each head (B, num_heads, L, S), or undefined if not needed.
class MultiheadAttention
    : public ModuleOf<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&,
                                                 const MultiheadAttentionForwardOptions&)> {
 public:
  MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                     const MultiheadAttentionOptions& options = {})
      : out_proj(add("out_proj",
                     Linear(checked(embed_dim, num_heads, options), embed_dim, options.bias))),
        heads_(num_heads),
        options_(options) {
    const int64_t kdim = options.kdim.value_or(embed_dim), vdim = options.vdim.value_or(embed_dim);
    const bool one = kdim == embed_dim && vdim == embed_dim;
    in_proj_weight = add_projection("in_proj_weight", one, {3 * embed_dim, embed_dim});
    q_proj_weight = add_projection("q_proj_weight", !one, {embed_dim, embed_dim});
    k_proj_weight = add_projection("k_proj_weight", !one, {embed_dim, kdim});
    v_proj_weight = add_projection("v_proj_weight", !one, {embed_dim, vdim});
    in_proj_bias = add_parameter("in_proj_bias", options.bias ? zeros({3 * embed_dim}) : Tensor());
    bias_k = add_bias("bias_k", options.add_bias_kv, embed_dim);
    bias_v = add_bias("bias_v", options.add_bias_kv, embed_dim);
    if (options.bias) out_proj.bias.set(zeros({embed_dim}).requires_grad_());
  }

  std::tuple<Tensor, Tensor> forward(
      const Tensor& query, const Tensor& key, const Tensor& value,
      const MultiheadAttentionForwardOptions& options = {}) override {
    const bool swap = options_.batch_first && query.ndim() == 3;
    const auto steps_first = [&](const Tensor& x) { return swap ? x.transpose(0, 1) : x; };
    const Tensor q = steps_first(query), k = key.get() == query.get() ? q : steps_first(key),
                 v = value.get() == key.get() ? k : steps_first(value);
    detail::check_attention(q, k, v, out_proj.weight->shape(0), heads_, options.key_padding_mask,
                            options.attn_mask, options.is_causal);
    if (q.ndim() == 3) {
      auto [y, weights] = attend(q, k, v, options);
      return {steps_first(y), weights};
    }
    const Tensor q1 = q.unsqueeze(1), k1 = k.get() == q.get() ? q1 : k.unsqueeze(1),
                 v1 = v.get() == k.get() ? k1 : v.unsqueeze(1);
    auto [y, weights] = attend(q1, k1, v1, options);
    return {y.squeeze(1), weights.defined() ? weights.squeeze(0) : weights};
  }
  std::string describe() const override {
    return "MultiheadAttention(" + std::to_string(out_proj.weight->shape(0)) + ", " +
           std::to_string(heads_) + " heads)";
  }
  bool batch_first() const { return options_.batch_first; }

  Parameter in_proj_weight, q_proj_weight, k_proj_weight,
      v_proj_weight;  // only the first, or the other three
  Parameter in_proj_bias, bias_k, bias_v;
  Linear out_proj;

 private:
  // Returns embed_dim after checking the options.
  static int64_t checked(int64_t embed_dim, int64_t num_heads,
                         const MultiheadAttentionOptions& options) {
    const char* const where = "MultiheadAttention";
    detail::check_least(where, "embed_dim", embed_dim, 1);
    detail::check_least(where, "num_heads", num_heads, 1);
    if (embed_dim % num_heads != 0)
      detail::refuse(where, "embed_dim " + std::to_string(embed_dim) +
                                " must be a multiple of num_heads " + std::to_string(num_heads));
    detail::check_part(where, "dropout", options.dropout);
    detail::check_least(where, "kdim", options.kdim.value_or(embed_dim), 1);
    detail::check_least(where, "vdim", options.vdim.value_or(embed_dim), 1);
    return embed_dim;
  }
  Parameter add_projection(const std::string& name, bool there, IntList shape) {
    Tensor weight = there ? empty(shape) : Tensor();
    return add_parameter(name, there ? init::xavier_uniform_(weight) : weight);
  }
  Parameter add_bias(const std::string& name, bool there, int64_t embed_dim) {
    Tensor bias = there ? empty({1, 1, embed_dim}) : Tensor();
    return add_parameter(name, there ? init::xavier_normal_(bias) : bias);
  }
  std::vector<Tensor> project(const Tensor& query, const Tensor& key, const Tensor& value) const {
    const Tensor& bias = in_proj_bias;
    if (in_proj_weight.defined()) return detail::project(query, key, value, in_proj_weight, bias);
    const auto biases = bias.defined() ? bias.chunk(3) : std::vector<Tensor>(3);
    return {linear(query, q_proj_weight, biases[0]), linear(key, k_proj_weight, biases[1]),
            linear(value, v_proj_weight, biases[2])};
  }
  // Appends a key and a value that no mask hides.
  void grow(std::vector<Tensor>& qkv) const {
    for (const size_t i : {1u, 2u}) {
      std::vector<Tensor> rows{qkv[i]};
      const int64_t batch = qkv[i].shape(1), width = qkv[i].shape(2);
      if (options_.add_bias_kv)
        rows.push_back((i == 1 ? bias_k : bias_v)->expand({1, batch, width}));
      if (options_.add_zero_attn)
        rows.push_back(zeros({1, batch, width}, qkv[i].dtype(), qkv[i].device()));
      if (rows.size() > 1) qkv[i] = concat(rows, 0);
    }
  }
  // Of (L, B, E), (S, B, …) and (S, B, …).
  std::tuple<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const MultiheadAttentionForwardOptions& options) {
    const int64_t length = query.shape(0), batch = query.shape(1), width = query.shape(2),
                  grown = int64_t{options_.add_bias_kv} + int64_t{options_.add_zero_attn};
    const double dropout_p = training() ? options_.dropout : 0;
    const bool fused = !options.need_weights && dropout_p == 0,
               causal =
                   options.is_causal && !options.key_padding_mask.defined() && grown == 0 && fused;
    const auto mask_for = [&](DType dtype) {
      const auto mask_of = [&](const Tensor& mask, const char* name) {
        const Tensor added = detail::additive_mask(mask, dtype, name);
        return added.defined() && grown > 0 ? pad(added, {0, grown}) : added;
      };
      return detail::merged_masks(causal ? Tensor() : mask_of(options.attn_mask, "attn_mask"),
                                  mask_of(options.key_padding_mask, "key_padding_mask"), batch,
                                  heads_);
    };
    if (fused && grown == 0 && in_proj_weight.defined() && query.get() == key.get() &&
        key.get() == value.get())
      return {detail::attend_packed(query, in_proj_weight, in_proj_bias, heads_, mask_for, causal,
                                    out_proj),
              Tensor()};
    std::vector<Tensor> qkv = project(query, key, value);
    grow(qkv);
    for (Tensor& x : qkv)
      x = x.reshape({x.shape(0), batch, heads_, width / heads_}).permute({1, 2, 0, 3});
    const Tensor mask = mask_for(qkv[0].dtype());
    Tensor y, weights;
    if (!fused) {
      weights = detail::attention_weights(qkv[0], qkv[1], mask, dropout_p);
      y = weights.matmul(qkv[2]);
    } else {
      y = attention(qkv[0], qkv[1], qkv[2], mask, causal).y;
    }
    y = out_proj(y.permute({2, 0, 1, 3}).reshape({length, batch, width}));
    if (!options.need_weights) return {y, Tensor()};
    return {y, options.average_attn_weights ? weights.mean(1) : weights};
  }
  int64_t heads_;
  MultiheadAttentionOptions options_;
};

}  // namespace tenon::nn
#endif
