// Attention by its definition, Vaswani et al. 2017, eq. 1, in numbers wide enough to sum; for its decompositions and for the
// gradient to the mask.
#pragma once

#include <cmath>
#include <optional>

#include "tenon/ops.hpp"
#include "tenon/tensor.hpp"

namespace tenon::core {

inline Tensor wide(const Tensor& x) {
  return x.to(x.dtype() == DType::F64 ? DType::F64 : DType::F32);
}

struct Attention {
  Tensor q, k, v, mask;  // k and v have q's heads
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
  // e^(s − lse); 0 in rows where all is forbidden
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

Attention make_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                         bool causal, std::optional<double> scale);

}  // namespace tenon::core
