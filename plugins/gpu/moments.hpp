// Reducers that several families share: moments, sums of exponentials, sums over two tensors.
#pragma once

#include "reduce.hpp"

namespace tenon::gpu {

// Mean and Σ (x - mean)², by Chan's method. One element is subtracted from all first, so that a large mean costs no accuracy.
template <class C>
struct Moments {
  struct State {
    C mean, squares, n;
  };
  Source x;
  GPU_FN State start() const { return {C(0), C(0), C(0)}; }
  GPU_FN void merge(State& into, const State& other) const {
    const C n = into.n + other.n, delta = other.mean - into.mean;
    const C share = other.n / (n < C(1) ? C(1) : n);
    into.mean += delta * share;
    into.squares += other.squares + delta * delta * into.n * share;
    into.n = n;
  }
  GPU_DEVICE C origin(int64_t base) const { return load_any<C>(x, base); }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    const C first = origin(p.base), n = static_cast<C>(p.n), over = C(1) / n;
    C v[kFoldBlock];
    load_block(x, p, first, v);
    for (C& each : v) each -= first;
    const C mean = sum_of_block(v) * over;
    C rest = C(0), squares = C(0);
    for (uint32_t k = 0; k < kFoldBlock; ++k) {
      const C d = k < p.n ? v[k] - mean : C(0);
      rest += d;
      squares += d * d;
    }
    squares -= rest * rest * over;
    merge(s, {mean, squares < C(0) ? C(0) : squares, n});
  }
};

// The maximum and Σ exp(x - maximum). An infinite or NaN maximum alone decides.
template <class C>
struct Exps {
  struct State {
    C top, sum;
  };
  Source x;
  GPU_FN static bool is_finite(C v) { return !is_nan(v) && !is_inf(v); }
  GPU_FN State start() const { return {-std::numeric_limits<C>::infinity(), C(0)}; }
  GPU_FN void merge(State& into, const State& other) const {
    if (!is_finite(into.top) || !is_finite(other.top)) {
      if (!is_nan(into.top) && (other.top > into.top || is_nan(other.top))) into = other;
    } else if (other.top <= into.top) {
      into.sum += other.sum * std::exp(other.top - into.top);
    } else {
      into = {other.top, other.sum + into.sum * std::exp(into.top - other.top)};
    }
  }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    const C lowest = -std::numeric_limits<C>::infinity();
    C v[kFoldBlock];
    load_block(x, p, lowest, v);
    State block{v[0], C(0)};
    for (uint32_t k = 1; k < kFoldBlock; ++k) block.top = larger(block.top, v[k]);
    if (is_finite(block.top))
      for (const C each : v) block.sum += std::exp(each - block.top);
    merge(s, block);
  }
};

}  // namespace tenon::gpu
