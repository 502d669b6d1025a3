// Reductions of a warp, of a block, and of tensors (the kernels; fold.hpp distributes them over the device).
//
// A state is any struct without initialisers. join(into, other) merges a later state into an earlier one. The order is the same in every
// run, so results are too.
#pragma once

#include "arithmetic.hpp"
#include "layout.hpp"
#include "source.hpp"

namespace tenon::gpu {

inline constexpr uint32_t kFoldThreads = kBlockThreads;
inline constexpr uint32_t kFoldBlock = 8;  // elements that a thread takes at a time

// Dimensions of a walk through memory, outermost first.
struct Span {
  int64_t size, step;  // in elements
  Divider divider;
};

struct FoldShape {
  int64_t results, count;  // count: elements of a result
  int64_t chunk, chunks;   // a result is combined from this many chunks of `chunk` elements
  uint32_t lanes;          // threads that share a result
  uint32_t columns;        // neighbouring threads hold neighbouring results
  uint32_t together;       // a thread's elements are contiguous and aligned to vectors
  uint32_t nkept, nreduced;
  Span kept[TN_MAX_DIMS], reduced[TN_MAX_DIMS];
};

// The value of the lane whose number differs in the bits of `mask`; for any type made of 32-bit words.
template <class S>
GPU_DEVICE S swap_lanes(const S& value, uint32_t mask) {
  constexpr uint32_t kWordBytes = sizeof(S) % 8 == 0 ? 8 : 4;
  static_assert(sizeof(S) % kWordBytes == 0);
  using Word = std::conditional_t<kWordBytes == 8, uint64_t, uint32_t>;
  Word words[sizeof(S) / kWordBytes];
  __builtin_memcpy(words, &value, sizeof value);
  for (Word& word : words) word = shuffle_xor(word, mask);
  S other;
  __builtin_memcpy(&other, words, sizeof other);
  return other;
}

// Combines the values of `lanes` neighbouring threads and gives each the result. `lanes` is a power of two, at most the block; all threads
// of the block take part. Lanes combine in pairs, so floating-point results are the same in all of them.
template <class S, class Join>
GPU_DEVICE S group_reduce(S mine, uint32_t lanes, const Join& join) {
  for (uint32_t mask = 1; mask < lanes && mask < warp_width(); mask *= 2) {
    const S other = swap_lanes(mine, mask);
    if ((thread_index().x & mask) == 0) {
      join(mine, other);
    } else {
      S first = other;
      join(first, mine);
      mine = first;
    }
  }
  if (lanes <= warp_width()) return mine;
  GPU_SHARED(S, parts, kMostWarps);
  if (lane() == 0) parts[warp()] = mine;
  sync_threads();
  const uint32_t first = thread_index().x / lanes * lanes / warp_width();
  mine = parts[first];
  for (uint32_t k = 1; k < lanes / warp_width(); ++k) {
    const S other = parts[first + k];
    join(mine, other);
  }
  sync_threads();
  return mine;
}
template <class S, class Join>
GPU_DEVICE S block_reduce(S mine, const Join& join) {
  return group_reduce(mine, block_size().x, join);
}

struct Sum {
  template <class C>
  GPU_FN void operator()(C& into, const C& other) const {
    into = plus(into, other);
  }
};
struct Largest {
  template <class C>
  GPU_FN void operator()(C& into, const C& other) const {
    into = larger(into, other);
  }
};

// Combines the values of threads t, t + per, t + 2·per … of the block, for the threads below `per`. There are `lanes` of them, a power of
// two.
template <class S, class Join>
GPU_DEVICE S column_reduce(S mine, uint32_t lanes, uint32_t per, const Join& join) {
  if (lanes == 1) return mine;
  GPU_SHARED(S, parts, kFoldThreads);
  const uint32_t t = thread_index().x;
  parts[t] = mine;
  sync_threads();
  for (uint32_t half = lanes / 2; half > 0; half /= 2) {
    if (t < half * per) {
      const S other = parts[t + half * per];
      join(mine, other);
      parts[t] = mine;
    }
    sync_threads();
  }
  return mine;
}

// Up to kFoldBlock reduced elements of a result.
struct Places {
  int64_t at[kFoldBlock];  // in elements
  int64_t base;            // of the result's first element
  int64_t position,
      step;  // the index of the first among the reduced elements; the distance to the next
  uint32_t n;
  bool together;
};

GPU_DEVICE int64_t locate(const Span* spans, uint32_t n, int64_t i) {
  if (n == 0) return 0;
  int64_t place = 0;
  for (uint32_t d = n - 1; d > 0; --d) {
    const int64_t rest =
        i >> 31 != 0 ? i / spans[d].size : spans[d].divider.divide(static_cast<uint32_t>(i));
    place += (i - rest * spans[d].size) * spans[d].step;
    i = rest;
  }
  return place + i * spans[0].step;
}

// The elements of a block; `otherwise` fills up a short block.
template <class C>
GPU_DEVICE void load_block(const Source& from, const Places& p, C otherwise, C* v) {
  visit_types(TypesIn<C>{}, from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr uint32_t kN = sizeof(T) >= 2 ? 16 / sizeof(T) : kFoldBlock;
    const Ptr<const T> at = ptr_cast<const T>(from.at);
    if (p.together) {
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; k += kN) {
        const Vec<T, kN> some = load_vec<kN>(at + (p.at[0] + k));
        GPU_UNROLL
        for (uint32_t j = 0; j < kN; ++j) v[k + j] = to_compute<C, T>(some.at[j]);
      }
    } else {
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; ++k) {
        v[k] = otherwise;
        if (k < p.n) {
          const T element = at[p.at[k]];
          v[k] = to_compute<C, T>(element);
        }
      }
    }
  });
}

// As many as there are.
template <class C>
GPU_DEVICE void store_block(const Target& to, const Places& p, const C* v) {
  visit_types(TypesIn<C>{}, to.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr uint32_t kN = sizeof(T) >= 2 ? 16 / sizeof(T) : kFoldBlock;
    const Ptr<T> at = ptr_cast<T>(to.at);
    if (p.together) {
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; k += kN) {
        Vec<T, kN> some;
        GPU_UNROLL
        for (uint32_t j = 0; j < kN; ++j) some.at[j] = narrow<T>(v[k + j]);
        store_vec<kN>(at + (p.at[0] + k), some);
      }
    } else {
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; ++k)
        if (k < p.n) store<T>(at, p.at[k], v[k]);
    }
  });
}

// Pairwise.
template <class C>
GPU_FN C sum_of_block(const C* v) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

// A reducer R has a type State and
//   State start() const;
//   void take(State& s, const Places& p, int64_t result) const;   // loads and merges a block of elements
//   void merge(State& into, const State& other) const;
//   void finish(int64_t result, const State& s) const;            // stores
template <class R>
GPU_DEVICE void fold_range(const R& r, const FoldShape& f, int64_t result, int64_t begin,
                           int64_t end, uint32_t lane, typename R::State& s) {
  Places p;
  p.base = locate(f.kept, f.nkept, result);
  p.step = f.together != 0 ? 1 : f.lanes;
  const int64_t turn = int64_t{f.lanes} * kFoldBlock;
  for (int64_t j = begin + (f.together != 0 ? int64_t{lane} * kFoldBlock : lane); j < end;
       j += turn) {
    const int64_t rest = end - j;
    p.n = rest > (kFoldBlock - 1) * p.step ? kFoldBlock
                                           : static_cast<uint32_t>((rest + p.step - 1) / p.step);
    p.position = j;
    p.together = f.together != 0 && p.n == kFoldBlock;
    if (f.nreduced <= 1) {
      const int64_t step = f.nreduced == 0 ? 0 : f.reduced[0].step;
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; ++k) p.at[k] = p.base + (j + k * p.step) * step;
    } else {
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; ++k)
        p.at[k] = k == 0 || !p.together
                      ? p.base + locate(f.reduced, f.nreduced, k < p.n ? j + k * p.step : j)
                      : p.at[0] + k;
    }
    r.take(s, p, result);
  }
}

template <class R>
struct Merging {
  const R& r;
  GPU_DEVICE void operator()(typename R::State& into, const typename R::State& other) const {
    r.merge(into, other);
  }
};

// Stores results, or the states of chunks as [chunk][result].
template <class R>
GPU_KERNEL fold_elements(R r, FoldShape f, Ptr<typename R::State> states) {
  const uint32_t t = thread_index().x, per = kFoldThreads / f.lanes;
  const uint32_t lane = f.columns != 0 ? t / per : t % f.lanes;
  const uint32_t mine = f.columns != 0 ? t % per : t / f.lanes;
  const int64_t blocks = (f.results + per - 1) / per;
  for (int64_t work = block_index().x; work < blocks * f.chunks; work += block_count().x) {
    const int64_t result = work % blocks * per + mine, chunk = work / blocks;
    const int64_t begin = chunk * f.chunk;
    typename R::State s = r.start();
    if (result < f.results)
      fold_range(r, f, result, begin, begin + f.chunk < f.count ? begin + f.chunk : f.count, lane,
                 s);
    const Merging<R> join{r};
    s = f.columns != 0 ? column_reduce(s, f.lanes, per, join) : group_reduce(s, f.lanes, join);
    if (lane != 0 || result >= f.results) continue;
    if (f.chunks == 1)
      r.finish(result, s);
    else
      states[chunk * f.results + result] = s;
  }
}

// Combines the states of chunks into results.
template <class R>
GPU_KERNEL fold_states(R r, int64_t results, int64_t chunks, uint32_t lanes,
                       Ptr<const typename R::State> states) {
  const uint32_t t = thread_index().x, per = kFoldThreads / lanes;
  const int64_t blocks = (results + per - 1) / per;
  for (int64_t work = block_index().x; work < blocks; work += block_count().x) {
    const int64_t result = work * per + t % per;
    typename R::State s = r.start();
    for (int64_t c = t / per; c < chunks && result < results; c += lanes) {
      const typename R::State other = states[c * results + result];
      r.merge(s, other);
    }
    s = column_reduce(s, lanes, per, Merging<R>{r});
    if (t < per && result < results) r.finish(result, s);
  }
}

}  // namespace tenon::gpu
