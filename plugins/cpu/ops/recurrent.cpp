// lstm and its backward. A layer's weight is packed once, into panels of a few hidden units; a step of some units is a product of
// the state and their panels, then one pass over their gates. Threads share the batch where it is large, otherwise each step's units.
// Results do not depend on that.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/recurrent.cpp"
#include <hwy/foreach_target.h>

#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/matmul_gemm_pack-inl.h"
#include "simd/sigmoid-inl.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Rows of the batch that are worth a thread of their own: each reads the whole weight every step.
constexpr int64_t kRowsOfThread = 8;
// Rows whose sums are made at once, and stay in L1 with a panel.
constexpr int64_t kRowsAtOnce = 24;
// Vectors of a panel: tiles of few rows are wider.
constexpr int64_t kVectors = 2, kMostVectors = 3;

struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
// Share i of `parts` equal ones of n.
Span share(int64_t n, int64_t i, int64_t parts) { return {n * i / parts, n * (i + 1) / parts}; }

// Sizes of a layer of T, and how its work is cut.
template <class T>
struct Layer {
  int64_t steps, batch, width;
  bool reverse;
  int64_t panel;         // hidden units of a panel
  int64_t down, across;  // threads that share the batch, or the panels of each step

  Layer(const tn_view& gates, bool backwards)
      : steps(gates.shape[0]),
        batch(gates.shape[1]),
        width(gates.shape[2] / 4),
        reverse(backwards) {
    // A lone row waits for the weight, which is shared so that each thread's part stays in its second cache.
    const int64_t step = std::max<int64_t>(batch, 2) * width * width * 4;
    const auto threads = [](int64_t work) {
      return std::clamp<int64_t>(work / kGemmGrain, 1, max_threads());
    };
    down = std::min(threads(step * steps), std::max<int64_t>(1, batch / kRowsOfThread));
    across = std::min(threads(step), std::max<int64_t>(1, width / (kVectors * lanes())));
    (across > down ? down : across) = 1;
    panel = (batch / down <= 8 ? kMostVectors : kVectors) * lanes();
  }

  static int64_t lanes() { return static_cast<int64_t>(hn::Lanes(LaneTag<T>())); }
  int64_t panels() const { return (width + panel - 1) / panel; }
  // The hidden units of panel p.
  Span units(int64_t p) const { return {p * panel, std::min(width, (p + 1) * panel)}; }
  // The k-th place on the way.
  int64_t place(int64_t k) const { return reverse ? steps - 1 - k : k; }
  // For panels of any width: how many threads there are may change until the kernel runs.
  uint64_t packed_bytes() const {
    return static_cast<uint64_t>(4 * width * (width + kMostVectors * lanes())) * sizeof(T);
  }

  // pack(p) for each panel.
  template <class Pack>
  void for_panels(Pack&& pack) const {
    const int64_t size = std::max<int64_t>(1, 4 * width * panel);
    parallel_for(panels(), std::max<int64_t>(1, kGrainCopy / size),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p) pack(p);
                 });
  }
  // step(k, rows, panels) for k < count: all of a row's states are there before its next step.
  template <class Step>
  void for_steps(int64_t count, Step&& step) const {
    if (down > 1)
      return parallel_for(down, 1, [&](int64_t begin, int64_t end) {
        const Span rows{share(batch, begin, down).begin, share(batch, end - 1, down).end};
        for (int64_t k = 0; k < count; ++k) step(k, rows, Span{0, panels()});
      });
    for (int64_t k = 0; k < count; ++k)
      parallel_for(across, 1, [&](int64_t begin, int64_t end) {
        step(k, Span{0, batch},
             Span{share(panels(), begin, across).begin, share(panels(), end - 1, across).end});
      });
  }
};

// Elements [i, i + n) of rows, where n is a whole vector, or fewer.
template <class T, bool Whole>
struct Part {
  LaneTag<T> d;
  int64_t i;
  size_t n;

  HWY_INLINE hn::Vec<LaneTag<T>> of(const T* row) const {
    if constexpr (Whole)
      return hn::LoadU(d, row + i);
    else
      return load_first(d, row + i, n, 0);
  }
  // Zero where there is no such row.
  HWY_INLINE hn::Vec<LaneTag<T>> of_any(const T* row) const {
    return row == nullptr ? hn::Zero(d) : of(row);
  }
  HWY_INLINE void put(hn::Vec<LaneTag<T>> v, T* row) const {
    if constexpr (Whole)
      hn::StoreU(v, d, row + i);
    else
      store_first(v, d, row + i, n);
  }
};
template <class T, class Body>
HWY_INLINE void for_parts(int64_t count, Body&& body) {
  const LaneTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(Part<T, true>{d, i, static_cast<size_t>(lanes)});
  if (i < count) body(Part<T, false>{d, i, static_cast<size_t>(count - i)});
}

// c[r, u] = start[r, u] + Σ a[r, p]·b[p, u] over p < k, where b is a packed panel; rows of c and start lie `apart`, those of a
// side by side.
template <class T>
void multiply(const Layer<T>& l, int64_t rows, int64_t units, int64_t k, const T* a, const T* b,
              const T* start, T* c, int64_t apart) {
  const int64_t lanes = l.lanes(), vectors = (units + lanes - 1) / lanes;
  Tile<T> t{k,    a, k, 1, b, l.panel, c, apart, start, apart, 1, units - (vectors - 1) * lanes,
            false};
  if (kMasks || units == vectors * lanes)
    run_panel(t, static_cast<int>(vectors), rows);
  else
    run_ragged(t, static_cast<int>(vectors), rows, units, vectors * lanes);
}

// ---- forward: the panels of a unit's four gates, of weightᵀ, lie one behind the other

template <class T>
struct Forward {
  using arg = tenon::arg::lstm;
  Layer<T> l;
  const T *x, *h0, *c0;
  T *y, *c, *gates, *packed;

  explicit Forward(const tn_call& call)
      : l(input(call, arg::x), call.args[arg::reverse].as.i != 0),
        x(data_of<const T>(input(call, arg::x))),
        h0(data_of<const T>(input(call, arg::h0))),
        c0(data_of<const T>(input(call, arg::c0))),
        y(data_of<T>(output(call, arg::result::y))),
        c(data_of<T>(output(call, arg::result::c))),
        gates(data_of<T>(output(call, arg::result::gates))),
        packed(static_cast<T*>(call.scratch)) {}

  T* panel(int64_t p, int64_t gate) const { return packed + (4 * p + gate) * l.width * l.panel; }
  void pack(const T* weight) const {
    l.for_panels([&](int64_t p) {
      const Span units = l.units(p);
      for (int64_t q = 0; q < 4; ++q)
        pack_panel(weight + (q * l.width + units.begin) * l.width, 1, l.width, l.width,
                   units.size(), l.panel, panel(p, q));
    });
  }
  void step(int64_t k, Span rows, Span panels) const {
    const int64_t size = l.batch * l.width, now = l.place(k) * size,
                  before = k == 0 ? 0 : l.place(k - 1) * size;
    const T *h = k == 0 ? h0 : y + before, *state = k == 0 ? c0 : c + before;
    alignas(64) T sums[kRowsAtOnce * 4 * kMostVectors * HWY_MAX_BYTES / sizeof(T)];
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const Span units = l.units(p);
      for (int64_t first = rows.begin; first < rows.end; first += kRowsAtOnce) {
        const int64_t m = std::min(kRowsAtOnce, rows.end - first);
        for (int64_t q = 0; q < 4; ++q)
          multiply<T>(l, m, units.size(), l.width, h + first * l.width, panel(p, q), nullptr,
                      sums + q * l.panel, 4 * l.panel);
        for (int64_t r = 0; r < m; ++r) {
          const int64_t at = (first + r) * l.width + units.begin,
                        row = 4 * (now + (first + r) * l.width) + units.begin;
          bend(units.size(), sums + 4 * r * l.panel, x + row, state + at, gates + row, c + now + at,
               y + now + at);
        }
      }
    }
  }
  // One row: sums of x and the products become gates, and these the new states.
  HWY_INLINE void bend(int64_t units, const T* sums, const T* from_x, const T* before, T* to,
                       T* after, T* out) const {
    const int64_t w = l.width;
    for_parts<T>(
        units, [&](auto part) HWY_ATTR __attribute__((always_inline)) {
          const LaneTag<T> d;
          const auto sum = [&](int64_t q) HWY_ATTR {
            return hn::Add(part.of(sums + q * l.panel), part.of(from_x + q * w));
          };
          const auto i = any_sigmoid(d, sum(0)), f = any_sigmoid(d, sum(1)),
                     g = any_tanh(d, sum(2)), o = any_sigmoid(d, sum(3));
          const auto c = hn::MulAdd(f, part.of(before), hn::Mul(i, g));
          part.put(i, to), part.put(f, to + w), part.put(g, to + 2 * w), part.put(o, to + 3 * w);
          part.put(c, after);
          part.put(hn::Mul(o, any_tanh(d, c)), out);
        });
  }
};

template <class T>
uint64_t forward_scratch(const tn_call& call) {
  return Forward<T>(call).l.packed_bytes();
}
template <class T>
void forward(const tn_call& call) {
  const Forward<T> f(call);
  f.pack(data_of<const T>(input(call, tenon::arg::lstm::weight)));
  f.l.for_steps(f.l.steps, [&](int64_t k, Span rows, Span panels) { f.step(k, rows, panels); });
}

// ---- backward: panels of weight, all gates in one

template <class T>
struct Backward {
  using arg = tenon::arg::lstm_backward;
  Layer<T> l;
  const T *gy, *gc, *ggates, *c0, *c, *gates;
  T *gx, *gh, *gstate;  // gh, gstate: of the states h and c after the step at hand
  T* packed;

  explicit Backward(const tn_call& call)
      : l(input(call, arg::gates), call.args[arg::reverse].as.i != 0),
        gy(data_of<const T>(input(call, arg::gy))),
        gc(data_or_null(call, arg::gc)),
        ggates(data_or_null(call, arg::ggates)),
        c0(data_of<const T>(input(call, arg::c0))),
        c(data_of<const T>(input(call, arg::c))),
        gates(data_of<const T>(input(call, arg::gates))),
        gx(data_of<T>(output(call, arg::result::gx))),
        gh(data_of<T>(output(call, arg::result::gh0))),
        gstate(data_of<T>(output(call, arg::result::gc0))),
        packed(static_cast<T*>(call.scratch)) {}
  static const T* data_or_null(const tn_call& call, uint32_t i) {
    const tn_view* view = input_or_null(call, i);
    return view == nullptr ? nullptr : data_of<const T>(*view);
  }

  T* panel(int64_t p) const { return packed + 4 * p * l.width * l.panel; }
  void pack(const T* weight) const {
    l.for_panels([&](int64_t p) {
      const Span units = l.units(p);
      pack_panel(weight + units.begin, l.width, 1, 4 * l.width, units.size(), l.panel, panel(p));
    });
  }
  // Of the state h that step k left, or began with where it is -1: what comes from the step after, and from outside.
  void state_gradient(int64_t k, Span rows, int64_t p) const {
    const Span units = l.units(p);
    const int64_t size = l.batch * l.width, at = rows.begin * l.width + units.begin;
    const bool last = k == l.steps - 1;
    multiply<T>(l, rows.size(), units.size(), last ? 0 : 4 * l.width,
                last ? gx : gx + 4 * (l.place(k + 1) * size + rows.begin * l.width), panel(p),
                k < 0 ? nullptr : gy + l.place(k) * size + at, gh + at, l.width);
  }
  // Step k after step k + 1; -1 leaves gh0.
  void step(int64_t k, Span rows, Span panels) const {
    const int64_t size = l.batch * l.width, now = l.place(k) * size;
    const T* before = k <= 0 ? c0 : c + l.place(k - 1) * size;
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      state_gradient(k, rows, p);
      const Span units = l.units(p);
      for (int64_t r = rows.begin; k >= 0 && r < rows.end; ++r) {
        const int64_t at = r * l.width;
        bend(units.size(), 4 * (now + at) + units.begin, now + at + units.begin,
             before + at + units.begin, at + units.begin);
      }
    }
  }
  // Some units of a row, which are at `gate` in gates, at `now` in sequences of states and at `at` in a state.
  HWY_INLINE void bend(int64_t units, int64_t gate, int64_t now, const T* before,
                       int64_t at) const {
    const int64_t w = l.width;
    const T *const row = gates + gate, *const more_c = gc == nullptr ? gc : gc + now,
                   *const more = ggates == nullptr ? ggates : ggates + gate;
    for_parts<T>(
        units, [&](auto part) HWY_ATTR __attribute__((always_inline)) {
          const LaneTag<T> d;
          const auto one = hn::Set(d, 1);
          const auto i = part.of(row), f = part.of(row + w), g = part.of(row + 2 * w),
                     o = part.of(row + 3 * w);
          const auto bent = any_tanh(d, part.of(c + now));
          const auto h = part.of(gh + at);
          const auto arrived = hn::Add(part.of(gstate + at), part.of_any(more_c));
          const auto s = hn::MulAdd(hn::Mul(h, o), hn::NegMulAdd(bent, bent, one), arrived);
          const auto put = [&](int64_t q, auto gradient, auto slope) HWY_ATTR {
            if (more != nullptr) gradient = hn::Add(gradient, part.of(more + q * w));
            part.put(hn::Mul(gradient, slope), gx + gate + q * w);
          };
          put(0, hn::Mul(s, g), hn::NegMulAdd(i, i, i));
          put(1, hn::Mul(s, part.of(before)), hn::NegMulAdd(f, f, f));
          put(2, hn::Mul(s, i), hn::NegMulAdd(g, g, one));
          put(3, hn::Mul(h, bent), hn::NegMulAdd(o, o, o));
          part.put(hn::Mul(s, f), gstate + at);
        });
  }
};

template <class T>
uint64_t backward_scratch(const tn_call& call) {
  return Backward<T>(call).l.packed_bytes();
}
template <class T>
void backward(const tn_call& call) {
  const Backward<T> b(call);
  b.pack(data_of<const T>(input(call, tenon::arg::lstm_backward::weight)));
  std::fill_n(b.gstate, b.l.batch * b.l.width, T(0));
  b.l.for_steps(b.l.steps + 1, [&](int64_t i, Span rows, Span panels) {
    b.step(b.l.steps - 1 - i, rows, panels);
  });
}

template <class T>
void add_of(KernelList& list) {
  list.add({.schema = TN_SCHEMA_LSTM,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<forward<T>>,
            .scratch_size = scratch_of<forward_scratch<T>>});
  list.add({.schema = TN_SCHEMA_LSTM_BACKWARD,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<backward<T>>,
            .scratch_size = scratch_of<backward_scratch<T>>});
}
void add_kernels(KernelList& list) {
  add_of<float>(list);
  add_of<double>(list);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_recurrent_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
