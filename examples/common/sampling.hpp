// Chooses the next token of a text from a network's logits.
#pragma once

#include <algorithm>

#include "tenon/tenon.hpp"

// At temperature 0 the likeliest of logits (N), otherwise one drawn from the `top_k` likeliest (0: from all).
inline int64_t draw(const tenon::Tensor& logits, double temperature, int64_t top_k = 0) {
  if (temperature <= 0) return tenon::argmax(logits, 0).item<int64_t>();
  const int64_t count = top_k > 0 ? std::min(top_k, logits.numel()) : logits.numel();
  const auto best = tenon::topk(logits.cpu().to(tenon::DType::F32), count);
  // Finds where a random number falls in the running sum of the probabilities.
  const tenon::Tensor sums = tenon::softmax(best.values / temperature, 0).cumsum(0);
  const int64_t drawn = (sums < tenon::rand({1})).sum().item<int64_t>();
  return best.indices[std::min(drawn, count - 1)].template item<int64_t>();
}
