// What MultiheadAttention computes between its input and output projections.
#ifndef TENON_NN_DETAIL_MULTIHEAD_HPP
#define TENON_NN_DETAIL_MULTIHEAD_HPP

#include <cmath>
#include <limits>

#include "tenon/nn/detail/check.hpp"
#include "tenon/tenon.hpp"

namespace tenon::nn::detail {

// Converts a mask to what is added to scores; true in a bool mask forbids.
inline Tensor additive_mask(const Tensor& mask, DType dtype, const char* name) {
  if (!mask.defined() || is_floating(mask.dtype())) return mask.defined() ? mask.to(dtype) : mask;
  if (mask.dtype() != DType::Bool)
    refuse("MultiheadAttention", std::string(name) + " must be bool or floating, not " +
                                     std::string(name_of(mask.dtype())));
  return zeros(mask.shape(), dtype, mask.device())
      .masked_fill(mask, -std::numeric_limits<double>::infinity());
}

// Combines the masks for scores (B, H, L, S).
inline Tensor merged_masks(const Tensor& mask, const Tensor& padding, int64_t batch,
                           int64_t heads) {
  Tensor by_head = mask.defined() && mask.ndim() == 3
                       ? mask.reshape({batch, heads, mask.shape(1), mask.shape(2)})
                       : mask;
  if (!padding.defined()) return by_head;
  const Tensor wide = padding.reshape({batch, 1, 1, padding.shape(-1)});
  return by_head.defined() ? by_head + wide : wide;
}

// Projects query, key and value, whose weights are stacked. Uses one product if all are the same tensor, two if key and value are.
inline std::vector<Tensor> project(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& weight, const Tensor& bias) {
  const int64_t width = query.shape(-1);
  // Multiplies by the weights `from` to `to` and splits the result.
  const auto parts = [&](const Tensor& x, int64_t from, int64_t to) {
    return linear(x, weight.slice(0, from * width, to * width),
                  bias.defined() ? bias.slice(0, from * width, to * width) : bias)
        .chunk(to - from, -1);
  };
  if (key.get() != value.get())
    return {parts(query, 0, 1)[0], parts(key, 1, 2)[0], parts(value, 2, 3)[0]};
  if (query.get() == key.get()) return parts(query, 0, 3);
  const std::vector<Tensor> rest = parts(key, 1, 3);
  return {parts(query, 0, 1)[0], rest[0], rest[1]};
}

// Attention of x (L, B, E) to itself: query, key and value stay in the tensor that one product gives. mask_for(dtype) is what is
// added to scores, out(y) the last projection.
template <class MaskFor, class Out>
Tensor attend_packed(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t heads,
                     MaskFor&& mask_for, bool causal, Out&& out) {
  const int64_t length = x.shape(0), batch = x.shape(1), width = x.shape(2);
  const bool steps_first = x.is_contiguous();  // else the view of a (B, L, E)
  Tensor qkv = linear(steps_first ? x : x.transpose(0, 1), weight, bias);
  qkv = qkv.reshape({qkv.shape(0), qkv.shape(1), 3, heads, width / heads});
  const Tensor y =
      attention_packed(steps_first ? qkv.transpose(0, 1) : qkv, mask_for(qkv.dtype()), causal).y;
  if (steps_first) return out(y.transpose(0, 1).reshape({length, batch, width}));
  return out(y.reshape({batch, length, width})).transpose(0, 1);
}

// softmax(q · kᵀ / √E + mask), after dropout.
inline Tensor attention_weights(const Tensor& q, const Tensor& k, const Tensor& mask,
                                double dropout_p) {
  const Tensor scores = (q * (1 / std::sqrt(static_cast<double>(q.shape(-1))))).matmul(k.mt());
  const Tensor weights = (mask.defined() ? scores + mask : scores).softmax(-1);
  return dropout_p > 0 ? dropout(weights, dropout_p) : weights;
}

inline void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                            int64_t embed_dim, int64_t heads, const Tensor& padding,
                            const Tensor& mask, bool is_causal) {
  const char* const where = "MultiheadAttention";
  const auto shapes = [](const Tensor& a, const Tensor& b) {
    return text_of(a.shape()) + " and " + text_of(b.shape());
  };
  const int64_t rank = query.ndim();
  if ((rank != 2 && rank != 3) || key.ndim() != rank || value.ndim() != rank)
    refuse(where, "query, key and value have ranks " + std::to_string(rank) + ", " +
                      std::to_string(key.ndim()) + " and " + std::to_string(value.ndim()) +
                      ", must be all 3 or all 2");
  if (is_causal && !mask.defined())
    refuse(where, "is_causal tells how attn_mask is: give that, too");
  if (query.shape(-1) != embed_dim)
    refuse(where, "the last dimension of query is " + std::to_string(query.shape(-1)) +
                      ", must be " + std::to_string(embed_dim));
  if (key.shape(0) != value.shape(0) || (rank == 3 && key.shape(1) != value.shape(1)))
    refuse(where,
           "key and value have shapes " + shapes(key, value) + ": lengths and batches must agree");
  if (rank == 3 && query.shape(1) != key.shape(1))
    refuse(where, "query and key have shapes " + shapes(query, key) + ": batches must agree");
  const int64_t batch = rank == 3 ? query.shape(1) : 1;
  const std::vector<int64_t> plain{query.shape(0), key.shape(0)},
      by_head{batch * heads, query.shape(0), key.shape(0)};
  if (mask.defined() && !std::ranges::equal(mask.shape(), plain) &&
      !std::ranges::equal(mask.shape(), by_head))
    refuse(where, "attn_mask has shape " + text_of(mask.shape()) + ", must be " + text_of(plain) +
                      " or " + text_of(by_head));
  const std::vector<int64_t> of_keys =
      rank == 3 ? std::vector{batch, key.shape(0)} : std::vector{key.shape(0)};
  if (padding.defined() && !std::ranges::equal(padding.shape(), of_keys))
    refuse(where, "key_padding_mask has shape " + text_of(padding.shape()) + ", must be " +
                      text_of(of_keys));
}

}  // namespace tenon::nn::detail
#endif
