// The engine of reductions. A reducer R says how a short contiguous run becomes a state and how
// states merge; the engine finds the runs, converts elements, and spreads the work over threads.
// Pieces are of fixed size and merged in order, so results don't depend on the number of threads.
// It is compiled once a reducer: elements come in and results go out through functions.
//
// struct R {
//   using Elem = …;   // what runs are made of
//   using State = …;  // of any number of elements
//   State start() const;
//   State run(const Elem* x, int64_t n, int64_t at) const;  // 0 < n <= kChunk; x[0] is element `at`
//   void columns(const Elem* x, int64_t step, int64_t rows, int64_t cols, int64_t at,
//                State* s) const;                       // merges column c into s[c]
//   void merge(State& into, const State& other) const;  // `other` comes after `into`
//   static constexpr bool ordered = false;              // true if positions matter
// };
#include <memory>

#include "lanes-inl.hpp"
#include "reduce_plan.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

#if defined(TENON_CPU_REDUCE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_REDUCE_INL
#undef TENON_CPU_REDUCE_INL
#else
#define TENON_CPU_REDUCE_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

constexpr int64_t kChunk = 4096;
constexpr int64_t kPiece = 65536;
constexpr int64_t kColumns = 1024;  // memory is read along rows as far as folded values stay in L1
constexpr int64_t kColumnRows = 64;
constexpr int64_t kBufferRows = 16, kBufferColumns = 256;  // converted at a time
constexpr int64_t kFewColumns = 8;
// Each piece has states of its own. Of a broadcast tensor, which may have more elements than any memory, pieces are larger.
constexpr int64_t kMostPieces = 1 << 20, kMostRowPieces = 1 << 10;

// range(begin, end) of `count` elements, in pieces of a size that `count` gives, merged in order: threads change no bit.
template <class State, class Range, class Merge>
State fold_pieces(int64_t count, Range&& range, Merge&& merge) {
  const int64_t piece = std::max(kPiece, count / kMostPieces + 1);
  const int64_t pieces = (count + piece - 1) / piece;
  if (pieces <= 1) return range(0, count);
  const auto states = std::make_unique<State[]>(static_cast<size_t>(pieces));
  parallel_for(pieces, 2, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p)
      states[p] = range(p * piece, std::min(count, (p + 1) * piece));
  });
  for (int64_t p = 1; p < pieces; ++p) merge(states[0], states[p]);
  return states[0];
}

// The next n columns of a row, at most a vector of them; lanes behind are 0.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_columns(D d, const T* x, int64_t n) {
  return n == static_cast<int64_t>(hn::Lanes(d)) ? load(d, x)
                                                 : load_first(d, x, static_cast<size_t>(n), 0);
}

// step down `cols` columns of `rows` rows, up to kColumns; put(c, v, n) takes the folded values of the n columns from c on. Row by
// row, as memory lies, four at a time, so that what is folded is read and written once for four.
template <class D, class T, class Step, class Put>
HWY_INLINE void fold_columns(D d, const T* x, int64_t stride, int64_t rows, int64_t cols,
                             hn::Vec<D> start, Step&& step, Put&& put) {
  HWY_ALIGN hn::TFromD<D> folded[kColumns];
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = cols / lanes * lanes;
  for (int64_t c = 0; c < whole; c += lanes) hn::Store(start, d, folded + c);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    for (int64_t c = 0; c < whole; c += lanes) {
      const T* const from = x + r * stride + c;
      auto v = step(hn::Load(d, folded + c), load(d, from));
      v = step(v, load(d, from + stride));
      v = step(v, load(d, from + 2 * stride));
      hn::Store(step(v, load(d, from + 3 * stride)), d, folded + c);
    }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < whole; c += lanes)
      hn::Store(step(hn::Load(d, folded + c), load(d, x + r * stride + c)), d, folded + c);
  for (int64_t c = 0; c < whole; c += lanes) put(c, hn::Load(d, folded + c), lanes);
  if (whole == cols) return;
  auto rest = start;
  for (r = 0; r < rows; ++r)
    rest = step(rest, load_first(d, x + r * stride + whole, static_cast<size_t>(cols - whole), 0));
  put(whole, rest, cols - whole);
}
// put for fold_columns: state[c + i] = merge(state[c + i], lane i).
template <class D, class State, class Merge>
HWY_INLINE auto into_states(D d, State* states, Merge&& merge) {
  return [d, states, merge](int64_t c, hn::Vec<D> v, int64_t n) HWY_ATTR {
    HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    constexpr int64_t kWhole = hn::MaxLanes(D());
    State* const to = states + c;
    if (n == kWhole)  // in vectors, which the compiler makes of a known number
      for (int64_t i = 0; i < kWhole; ++i) to[i] = merge(to[i], static_cast<State>(lanes[i]));
    else
      for (int64_t i = 0; i < n; ++i) to[i] = merge(to[i], static_cast<State>(lanes[i]));
  };
}

// Writes n results from offset `at` of the output on, `step` apart; `count` elements went into each.
template <class R>
using PutFn = void (*)(const R& r, char* out, int64_t at, int64_t step,
                       const typename R::State* states, int64_t n, int64_t count);
// By a function that writes one: put(r, out, at, state, count).
template <class R, auto Put>
void put_each(const R& r, char* out, int64_t at, int64_t step, const typename R::State* states,
              int64_t n, int64_t count) {
  if (step == 1)
    for (int64_t i = 0; i < n; ++i) Put(r, out, at + i, states[i], count);
  else
    for (int64_t i = 0; i < n; ++i) Put(r, out, at + i * step, states[i], count);
}

// How elements of a tensor become those of a reducer.
template <class Elem>
struct Source {
  int64_t size;  // bytes of an element in the tensor
  bool direct;   // they are Elem already
  void (*load)(const char* x, int64_t step, int64_t n, Elem* y);  // step in elements
};

template <class T, class Elem>
HWY_INLINE Elem convert(T x) {
  if constexpr (is_complex_v<T> && !is_complex_v<Elem>) {
    return static_cast<Elem>(std::abs(x));
  } else if constexpr (std::is_same_v<T, uint64_t> && std::is_same_v<Elem, int64_t>) {
    return static_cast<int64_t>(x ^ (uint64_t{1} << 63));  // keeps the order
  } else {
    return static_cast<Elem>(x);
  }
}
template <class T, class Elem>
void load_run(const char* from, int64_t step, int64_t n, Elem* y) {
  const T* x = reinterpret_cast<const T*>(from);
  if (step != 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = convert<T, Elem>(x[i * step]);
  } else if constexpr (is_half_v<T> && std::is_same_v<Elem, float>) {
    map_row(x, y, static_cast<size_t>(n), [](auto v) HWY_ATTR { return v; });
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = convert<T, Elem>(x[i]);
  }
}
// Integers of one size have the same bits, but for those that an order was made of.
template <class T, class Elem>
constexpr bool kSameBits = std::is_same_v<T, Elem> ||
                           (std::is_integral_v<T> && std::is_unsigned_v<Elem> &&
                            sizeof(T) == sizeof(Elem));
template <class Elem, uint64_t Mask>
Source<Elem> source_of(tn_dtype dtype) {
  return visit_dtype<Mask>(dtype, [&]<class T>(Tag<T>) {
    return Source<Elem>{sizeof(T), kSameBits<T, Elem>, &load_run<T, Elem>};
  });
}

// Whether elements are not zero, as bytes 0 and 1.
template <class T>
void load_truth(const char* from, int64_t step, int64_t n, uint8_t* y) {
  const T* x = reinterpret_cast<const T*>(from);
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] != T(0);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i * step] != T(0);
  }
}
inline Source<uint8_t> truth_of(tn_dtype dtype) {
  return visit_dtype(dtype, []<class T>(Tag<T>) {
    return Source<uint8_t>{sizeof(T), std::is_same_v<T, bool>, &load_truth<T>};
  });
}

template <class R>
struct Reduction {
  const R& r;
  const ReducePlan& plan;
  Source<typename R::Elem> source;
  PutFn<R> put;

  using Elem = typename R::Elem;
  using State = typename R::State;

  // The state of the reduced elements [begin, end), x being the result's first element.
  State range(const char* x, int64_t begin, int64_t end) const {
    State state = r.start();
    const int64_t inner = plan.nreduced == 0 ? 1 : plan.shape[plan.nreduced - 1];
    const int64_t step = plan.nreduced == 0 ? 1 : plan.step[plan.nreduced - 1];
    // Long runs are taken where they lie; short ones and other layouts are gathered first.
    const bool direct = source.direct && step == 1 && (plan.nreduced <= 1 || inner >= 512);
    HWY_ALIGN Elem buffer[kChunk];
    for (int64_t at = begin; at < end;) {
      int64_t n = std::min(kChunk, end - at);
      if (direct) {
        n = std::min(n, inner - at % inner);
        r.merge(state, r.run(reinterpret_cast<const Elem*>(x) + plan.reduced_offset(at), n, at));
        at += n;
        continue;
      }
      for (int64_t done = 0; done < n;) {
        const int64_t m = std::min(n - done, inner - (at + done) % inner);
        source.load(x + plan.reduced_offset(at + done) * source.size, step, m, buffer + done);
        done += m;
      }
      r.merge(state, r.run(buffer, n, at));
      at += n;
    }
    return state;
  }

  State one(const char* x) const {
    return fold_pieces<State>(
        plan.count, [&](int64_t begin, int64_t end) { return range(x, begin, end); },
        [&](State& into, const State& other) { r.merge(into, other); });
  }

  // The states of n rows that are `step` elements apart, together at most kChunk elements; those without a gap are converted as one.
  void converted_rows(const char* x, int64_t step, int64_t n, State* states) const {
    HWY_ALIGN Elem buffer[kChunk];
    const int64_t pieces = step == plan.count ? 1 : n, size = n / pieces * plan.count;
    for (int64_t k = 0; k < pieces; ++k)
      source.load(x + k * step * source.size, 1, size, buffer + k * size);
    for (int64_t k = 0; k < n; ++k) states[k] = r.run(buffer + k * plan.count, plan.count, 0);
  }

  // Rows [begin, end) of the reduced elements into the states of `cols` columns from x on.
  void add_columns(const char* x, int64_t cols, int64_t begin, int64_t end, State* states) const {
    const int64_t inner = plan.nreduced == 0 ? 1 : plan.shape[plan.nreduced - 1];
    const int64_t step = plan.nreduced == 0 ? 0 : plan.step[plan.nreduced - 1];
    HWY_ALIGN Elem buffer[kBufferRows * kBufferColumns];
    for (int64_t at = begin; at < end;) {
      int64_t rows = std::min({kColumnRows, end - at, inner - at % inner});
      const char* from = x + plan.reduced_offset(at) * source.size;
      if (source.direct) {
        r.columns(reinterpret_cast<const Elem*>(from), step, rows, cols, at, states);
      } else {
        rows = std::min(rows, kBufferRows);
        for (int64_t c = 0; c < cols; c += kBufferColumns) {
          const int64_t n = std::min(kBufferColumns, cols - c);
          for (int64_t i = 0; i < rows; ++i)
            source.load(from + (i * step + c) * source.size, 1, n, buffer + i * kBufferColumns);
          r.columns(buffer, kBufferColumns, rows, n, at, states + c);
        }
      }
      at += rows;
    }
  }

  // A block of columns, its row pieces over threads when nothing else is.
  void column_block(int64_t task) const {
    const int64_t width = plan.kept_shape[plan.nkept - 1], out_step = plan.out_step[plan.nkept - 1];
    const int64_t blocks = (width + kColumns - 1) / kColumns;
    const int64_t c = task % blocks * kColumns, cols = std::min(kColumns, width - c);
    const int64_t piece = std::max(
        {kColumnRows, 4 * kPiece / std::min(width, kColumns), plan.count / kMostRowPieces + 1});
    const int64_t pieces = (plan.count + piece - 1) / piece;
    int64_t from, to;
    plan.locate(task / blocks * width + c, from, to);
    const auto states = std::make_unique<State[]>(static_cast<size_t>(pieces * cols));
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        std::fill_n(states.get() + p * cols, cols, r.start());
        add_columns(plan.x + from * source.size, cols, p * piece,
                    std::min(plan.count, (p + 1) * piece), states.get() + p * cols);
      }
    });
    for (int64_t p = 1; p < pieces; ++p) {
      for (int64_t i = 0; i < cols; ++i) r.merge(states[i], states[p * cols + i]);
    }
    put(r, plan.out, to, out_step, states.get(), cols, plan.count);
  }

  // Results of a few elements each, a block of them at a time: element by element into rows of a buffer, which are then folded.
  // Not rows (one reduced dimension): fused kernels give them to this one a few at a time and must get the same bits.
  bool by_blocks() const {
    return plan.nreduced > 1 && plan.count > 0 && plan.count <= kBufferRows && plan.nkept > 0 &&
           plan.kept_shape[plan.nkept - 1] >= kFewColumns;
  }
  void blocks() const {
    const int64_t width = plan.kept_shape[plan.nkept - 1], x_step = plan.kept_step[plan.nkept - 1];
    const int64_t out_step = plan.out_step[plan.nkept - 1];
    const int64_t across = (width + kBufferColumns - 1) / kBufferColumns;
    const int64_t grain = std::max<int64_t>(1, kPiece / 2 / (plan.count * kBufferColumns));
    parallel_for(plan.kept / width * across, grain, [&](int64_t begin, int64_t end) {
      HWY_ALIGN Elem buffer[kBufferRows * kBufferColumns];
      State states[kBufferColumns];
      for (int64_t task = begin; task < end; ++task) {
        const int64_t c = task % across * kBufferColumns, n = std::min(kBufferColumns, width - c);
        int64_t from, to;
        plan.locate(task / across * width + c, from, to);
        for (int64_t i = 0; i < plan.count; ++i)
          source.load(plan.x + (from + plan.reduced_offset(i)) * source.size, x_step, n,
                      buffer + i * kBufferColumns);
        std::fill_n(states, n, r.start());
        r.columns(buffer, kBufferColumns, plan.count, n, 0, states);
        put(r, plan.out, to, out_step, states, n, plan.count);
      }
    });
  }

  void all() const {
    if (plan.kept == 0) return;
    if (plan.count > 0 && plan.by_columns()) {
      const int64_t width = plan.kept_shape[plan.nkept - 1];
      const int64_t tasks = plan.kept / width * ((width + kColumns - 1) / kColumns);
      const int64_t grain = std::max<int64_t>(1, kPiece / (plan.count * std::min(width, kColumns)));
      const bool spread = tasks >= 2 * max_threads();
      const auto work = [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) column_block(t);
      };
      return spread ? parallel_for(tasks, grain, work) : work(0, tasks);
    }
    if (by_blocks()) return blocks();
    const bool row =
        plan.nreduced == 1 && plan.step[0] == 1 && plan.count > 0 && plan.count <= kChunk;
    constexpr int64_t kTogether = 32;  // results that are written at once
    const auto work = [&](int64_t begin, int64_t end) {
      const int64_t width = plan.nkept == 0 ? 1 : plan.kept_shape[plan.nkept - 1];
      const int64_t x_step = plan.nkept == 0 ? 0 : plan.kept_step[plan.nkept - 1];
      const int64_t out_step = plan.nkept == 0 ? 0 : plan.out_step[plan.nkept - 1];
      for (int64_t i = begin; i < end;) {
        int64_t from, to;
        plan.locate(i, from, to);
        const int64_t line = std::min(end, i + width - i % width);
        while (i < line) {
          State states[kTogether];
          int64_t n = std::min(kTogether, line - i);
          const char* const x = plan.x + from * source.size;
          if (row && source.direct) {
            for (int64_t k = 0; k < n; ++k)
              states[k] = r.run(reinterpret_cast<const Elem*>(x) + k * x_step, plan.count, 0);
          } else if (row) {
            n = std::min(n, kChunk / plan.count);
            converted_rows(x, x_step, n, states);
          } else {
            for (int64_t k = 0; k < n; ++k)
              states[k] = plan.count > 0 ? one(x + k * x_step * source.size) : r.start();
          }
          from += n * x_step;
          put(r, plan.out, to, out_step, states, n, plan.count);
          i += n, to += n * out_step;
        }
      }
    };
    const bool spread = plan.kept >= 2 * max_threads() || plan.count <= kPiece;
    spread ? parallel_for(plan.kept,
                          std::max<int64_t>(1, kPiece / 2 / std::max<int64_t>(1, plan.count)), work)
           : work(0, plan.kept);
  }
};

// A whole kernel.
template <class R>
HWY_INLINE void reduce_call(const tn_call& call, const R& r, const Source<typename R::Elem>& source,
                            PutFn<R> put) {
  const tn_loop& loop = *call.loop;
  const bool row = loop.ndim == 1 && loop.reduced == 1 && loop.strides[1][0] == 1;
  if (row && source.direct && loop.shape[0] <= kChunk &&
      loop.shape[0] > 0) {  // a short row needs no plan
    const typename R::State state =
        r.run(data_of<const typename R::Elem>(input(call, arg::sum::x)), loop.shape[0], 0);
    return put(r, data_of<char>(output(call)), 0, 1, &state, 1, loop.shape[0]);
  }
  const ReducePlan plan = plan_reduction(call, R::ordered);
  Reduction<R>{r, plan, source, put}.all();
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
