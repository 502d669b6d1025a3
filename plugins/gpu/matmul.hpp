// Tiles of matrix products: sums in registers; operands in shared memory, where one half is filled while the other is multiplied. Operands
// are read through sources, so that a convolution's matrix need not be stored:
//
//   struct Source {
//     static constexpr uint32_t kTogether;   // elements in a fetch
//     bool by_k;                             // a fetch runs along k, or else along the rows of a (columns of b)
//     Vec<C, kTogether> fetch(uint32_t i, uint32_t k, uint32_t end);   // 0 outside the matrix, and from `end` on along k
//   };
#pragma once

#include "launch.hpp"
#include "product.hpp"
#include "special.hpp"

namespace tenon::gpu {

// A tile of kRows × kColumns sums, kOfRow × kOfColumn in each thread; kDepth products between barriers.
template <uint32_t rows, uint32_t columns, uint32_t depth, uint32_t of_row, uint32_t of_column>
struct Tile {
  static constexpr uint32_t kRows = rows, kColumns = columns, kDepth = depth, kOfRow = of_row,
                            kOfColumn = of_column;
  static constexpr uint32_t kAcross = columns / of_column;  // threads along a row
  static constexpr uint32_t kThreads = rows / of_row * kAcross;
  static int64_t count(int64_t m, int64_t n) {
    return ((m + rows - 1) / rows) * ((n + columns - 1) / columns);
  }
};
// For computed values of 4 bytes, and of 8.
template <class C>
inline constexpr uint32_t kDeep = sizeof(C) == 8 ? 8 : 16;
using LargeTile = Tile<128, 128, 8, 8, 8>;
template <class C>
using MiddleTile = Tile<64, 64, kDeep<C>, 8, 4>;
template <class C>
using SmallTile = Tile<32, 32, kDeep<C>, 2, 4>;

enum class TileSize { kSmall, kMiddle, kLarge };
// For `copies` products; `splits`: long sums may be split.
inline TileSize choose_tile(int64_t m, int64_t n, int64_t k, int64_t copies, bool wide,
                            bool splits) {
  if (!wide && LargeTile::count(m, n) * copies >= kBusy) return TileSize::kLarge;
  const int64_t blocks = MiddleTile<float>::count(m, n) * copies;
  const bool idle = blocks < kBusy / 2 && !(splits && k >= 2048);
  return std::min(m, n) <= 32 || idle ? TileSize::kSmall : TileSize::kMiddle;
}
// Calls fn(TypeTag<Tile>).
template <class C, class Fn>
void with_tile(TileSize size, Fn&& fn) {
  if constexpr (kIsReal<C>) {
    if (size == TileSize::kSmall) return fn(TypeTag<SmallTile<C>>{});
    if constexpr (sizeof(C) == 4)
      if (size == TileSize::kLarge) return fn(TypeTag<LargeTile>{});
  }
  fn(TypeTag<MiddleTile<C>>{});
}

#if !defined(TENON_GPU_HOST_ONLY)

// A matrix with any strides, as a source.
template <class T>
struct Matrix {
  static constexpr uint32_t kTogether = sizeof(T) == 8 ? 2 : 4;
  Ptr<const T> at;
  int64_t step = 0, k_step = 0;  // along the rows of a (columns of b); along k
  uint32_t size = 0;             // rows of a, columns of b
  bool by_k = false;
  bool aligned = false;  // fetches that begin at a multiple of kTogether are aligned

  GPU_DEVICE Vec<Compute<T>, kTogether> fetch(uint32_t i, uint32_t k, uint32_t end) const {
    Vec<Compute<T>, kTogether> got;
    const bool inside = by_k ? i < size && k + kTogether <= end : k < end && i + kTogether <= size;
    if (aligned && inside) {
      const Vec<T, kTogether> raw = load_vec<kTogether>(at + (i * step + k * k_step));
      GPU_UNROLL for (uint32_t e = 0; e < kTogether; ++e) got.at[e] = widen<T>(raw.at[e]);
      return got;
    }
    GPU_UNROLL for (uint32_t e = 0; e < kTogether; ++e) {
      const uint32_t row = by_k ? i : i + e, deep = by_k ? k + e : k;
      got.at[e] =
          row < size && deep < end ? load<T>(at, row * step + deep * k_step) : Compute<T>(0);
    }
    return got;
  }
};

// One thread's part of an operand's tile, on its way from the source to shared memory.
template <class S, uint32_t kSide, class Source, class C>
struct Feed {
  static constexpr uint32_t kN = Source::kTogether, kPitch = kSide + 16 / sizeof(C);
  static constexpr uint32_t kFetches = kSide * S::kDepth / kN / S::kThreads;
  static_assert(kFetches * kN * S::kThreads == kSide * S::kDepth);
  Vec<C, kN> held[kFetches];

  GPU_DEVICE void fetch(Source& source, uint32_t first, uint32_t k, uint32_t end) {
    GPU_UNROLL for (uint32_t f = 0; f < kFetches; ++f) {
      const uint32_t e = (thread_index().x + f * S::kThreads) * kN;
      held[f] = source.by_k ? source.fetch(first + e / S::kDepth, k + e % S::kDepth, end)
                            : source.fetch(first + e % kSide, k + e / kSide, end);
    }
  }
  GPU_DEVICE void put(const Source& source, const Ptr<C>& tile) const {
    GPU_UNROLL for (uint32_t f = 0; f < kFetches; ++f) {
      const uint32_t e = (thread_index().x + f * S::kThreads) * kN;
      if (source.by_k)
        put_apart(tile + (e % S::kDepth * kPitch + e / S::kDepth), held[f]);
      else
        store_vec<kN>(tile + (e / kSide * kPitch + e % kSide), held[f]);
    }
  }
  // Neighbours along k go to different rows.
  GPU_DEVICE static void put_apart(const Ptr<C>& to, const Vec<C, kN>& values) {
    GPU_UNROLL for (uint32_t j = 0; j < kN; ++j) to[j * kPitch] = values.at[j];
  }
};

// Neighbouring sums in a thread: those whose operands are loaded together.
template <uint32_t kCount, class C>
inline constexpr uint32_t kFragment = kCount < 16 / sizeof(C)
                                          ? kCount
                                          : static_cast<uint32_t>(16 / sizeof(C));

// The position in the tile of sum i of kCount, for thread `t` of `threads`.
template <uint32_t kCount, class C>
GPU_DEVICE uint32_t sum_place(uint32_t i, uint32_t t, uint32_t threads) {
  constexpr uint32_t kN = kFragment<kCount, C>;
  return (i / kN * threads + t) * kN + i % kN;
}

// Hook: what else to do with row i's element of a in each product.
struct NothingElse {
  template <class C>
  GPU_DEVICE void operator()(uint32_t, const C&) const {}
};

template <class S, class C, class Rows = NothingElse>
GPU_DEVICE void multiply_step(const Ptr<C>& a, const Ptr<C>& b, uint32_t a_pitch, uint32_t b_pitch,
                              C (&sums)[S::kOfRow * S::kOfColumn], Rows&& rows = {}) {
  constexpr uint32_t kA = kFragment<S::kOfRow, C>, kB = kFragment<S::kOfColumn, C>;
  const uint32_t x = thread_index().x % S::kAcross, y = thread_index().x / S::kAcross;
  GPU_UNROLL for (uint32_t p = 0; p < S::kDepth; ++p) {
    C left[S::kOfRow], right[S::kOfColumn];
    GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; i += kA) {
      const Vec<C, kA> got =
          load_vec<kA>(a + (p * a_pitch + sum_place<S::kOfRow, C>(i, y, S::kThreads / S::kAcross)));
      GPU_UNROLL for (uint32_t e = 0; e < kA; ++e) {
        left[i + e] = got.at[e];
        rows(i + e, left[i + e]);
      }
    }
    GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; j += kB) {
      const Vec<C, kB> got =
          load_vec<kB>(b + (p * b_pitch + sum_place<S::kOfColumn, C>(j, x, S::kAcross)));
      GPU_UNROLL for (uint32_t e = 0; e < kB; ++e) right[j + e] = got.at[e];
    }
    GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i)
        GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j) sums[i * S::kOfColumn + j] =
            plus(sums[i * S::kOfColumn + j], times(left[i], right[j]));
  }
}

// Sums of the rows from m and columns from n over the products from k to end. All threads of the block call it.
template <class S, class C, class A, class B, class Rows = NothingElse>
GPU_DEVICE void multiply(A& a, B& b, uint32_t m, uint32_t n, uint32_t k, uint32_t end,
                         C (&sums)[S::kOfRow * S::kOfColumn], Rows&& rows = {}) {
  using FeedA = Feed<S, S::kRows, A, C>;
  using FeedB = Feed<S, S::kColumns, B, C>;
  GPU_SHARED(C, tile_a, 2 * S::kDepth * FeedA::kPitch);
  GPU_SHARED(C, tile_b, 2 * S::kDepth * FeedB::kPitch);
  GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow * S::kOfColumn; ++i) sums[i] = C(0);
  FeedA feed_a;
  FeedB feed_b;
  feed_a.fetch(a, m, k, end);
  feed_b.fetch(b, n, k, end);
  sync_threads();  // the previous product's tiles were read
  for (uint32_t half = 0; k < end; k += S::kDepth, half ^= 1) {
    const Ptr<C> to_a = tile_a + half * S::kDepth * FeedA::kPitch,
                 to_b = tile_b + half * S::kDepth * FeedB::kPitch;
    feed_a.put(a, to_a);
    feed_b.put(b, to_b);
    sync_threads();
    if (k + S::kDepth < end) {
      feed_a.fetch(a, m, k + S::kDepth, end);
      feed_b.fetch(b, n, k + S::kDepth, end);
    }
    multiply_step<S>(to_a, to_b, FeedA::kPitch, FeedB::kPitch, sums, rows);
  }
}

// The first element of tile `which` in a result of m × n. Tiles go in bands of rows, column by column, so that blocks running at the same
// time share what they read.
struct TilePlace {
  uint32_t row, column;
};
template <class S>
GPU_DEVICE TilePlace tile_place(int64_t which, uint32_t m, uint32_t n) {
  constexpr uint32_t kBand = 8;  // rows of tiles
  const uint32_t across = (n + S::kColumns - 1) / S::kColumns, down = (m + S::kRows - 1) / S::kRows;
  const auto band = static_cast<uint32_t>(which / (int64_t{kBand} * across)) * kBand,
             high = down - band < kBand ? down - band : kBand,
             at = static_cast<uint32_t>(which - int64_t{band} * across);
  return {(band + at % high) * S::kRows, at / high * S::kColumns};
}

// Stores finish(sum, column) for a tile's sums in a dense matrix of m × n. Rows are aligned to vectors if n allows it.
template <class S, class T, class C, class Finish>
GPU_DEVICE void store_tile(const C (&sums)[S::kOfRow * S::kOfColumn], const TilePlace& place,
                           uint32_t m, uint32_t n, const Ptr<T>& to, const Finish& finish) {
  constexpr uint32_t kN = kFragment<S::kOfColumn, C>;
  const uint32_t x = thread_index().x % S::kAcross, y = thread_index().x / S::kAcross;
  GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i) {
    const uint32_t row = place.row + sum_place<S::kOfRow, C>(i, y, S::kThreads / S::kAcross);
    GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; j += kN) {
      const uint32_t column = place.column + sum_place<S::kOfColumn, C>(j, x, S::kAcross);
      if (row >= m || column >= n) continue;
      const int64_t first = int64_t{row} * n + column;
      Vec<T, kN> made;
      GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) if (column + e < n) made.at[e] =
          finish(sums[i * S::kOfColumn + j + e], column + e);
      if (n % kN == 0) {
        store_vec<kN>(to + first, made);
      } else {
        GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) if (column + e < n) to[first + e] = made.at[e];
      }
    }
  }
}
// For store_tile: sums unchanged, or rounded.
struct AsTheyAre {
  template <class C>
  GPU_DEVICE C operator()(const C& sum, uint32_t) const {
    return sum;
  }
};

// ---- What becomes of a sum ----------------------------------------------------------------------------------------------

template <class C>
GPU_DEVICE C activated(C x, uint32_t activation) {
  if constexpr (kIsReal<C>) {
    switch (activation) {
      case kGelu:
        return gelu(x);
      case kSilu:
        return silu(x);
      case kSigmoid:
        return sigmoid(x);
      case kTanh:
        return std::tanh(x);
      case kGeluTanh:
        return gelu_tanh(x);
    }
  }
  return activation == kRelu && x < C(0) ? C(0) : x;
}

// Bias and activation. Integers are handled by size; `is_signed` matters for relu.
template <class T>
struct Epilogue {
  Ptr<const T> bias;
  int64_t bias_step = 0;
  uint32_t activation = kNone;
  bool is_signed = false;

  GPU_DEVICE T operator()(Compute<T> sum, uint32_t column) const {
    if (bias) sum = plus(sum, load<T>(bias, column * bias_step));
    if constexpr (kIsFloat<T>) {
      return narrow<T>(activated(sum, activation));
    } else {
      const T result = narrow<T>(sum);
      return activation == kRelu && is_signed && result >> (8 * sizeof(T) - 1) != 0 ? T(0) : result;
    }
  }
};

// Adds `parts` × `results` partial sums in order; a row has `columns`.
template <class T>
GPU_KERNEL add_parts(Ptr<const Compute<T>> partial, Ptr<T> out, uint32_t parts, int64_t results,
                     uint32_t columns, Epilogue<T> finish) {
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    Compute<T> sum = partial[i];
    for (uint32_t p = 1; p < parts; ++p) {
      const Compute<T> part = partial[p * results + i];
      sum = plus(sum, part);
    }
    out[i] = finish(sum, static_cast<uint32_t>(i % columns));
  }
}

#endif

}  // namespace tenon::gpu
