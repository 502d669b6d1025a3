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
#include "ops/workspace.hpp"
#include "simd/sigmoid-inl.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Rows of the batch that are worth a thread of their own: each reads the whole weight every step.
constexpr int64_t kRowsOfThread = 8;

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
    const int64_t step = batch * width * width * 4;
    const auto threads = [](int64_t work) {
      return std::clamp<int64_t>(work / kGemmGrain, 1, max_threads());
    };
    down = std::min(threads(step * steps), std::max<int64_t>(1, batch / kRowsOfThread));
    across = std::min(threads(step), std::max<int64_t>(1, width / (2 * lanes())));
    (across > down ? down : across) = 1;
    panel = (batch / down <= 8 ? 3 : 2) * lanes();  // as wide as gemm takes them for so many rows
  }

  static int64_t lanes() { return static_cast<int64_t>(hn::Lanes(LaneTag<T>())); }
  int64_t panels() const { return (width + panel - 1) / panel; }
  // The hidden units of panel p.
  Span units(int64_t p) const { return {p * panel, std::min(width, (p + 1) * panel)}; }
  // The k-th place on the way.
  int64_t place(int64_t k) const { return reverse ? steps - 1 - k : k; }
  // For panels of any width: how many threads there are may change until the kernel runs.
  size_t packed_bytes() const { return Room::bytes_of<T>(4 * width * (width + 3 * lanes())); }

  // pack(p) for each panel.
  template <class Pack>
  void for_panels(Pack&& pack) const {
    const int64_t size = std::max<int64_t>(1, 4 * width * panel);
    parallel_for(panels(), std::max<int64_t>(1, kGrainCopy / size),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p) pack(p);
                 });
  }
  // step(k, rows, panels) for k = 0, 1, …: all of a row's states are there before its next step.
  template <class Step>
  void for_steps(Step&& step) const {
    if (down > 1)
      return parallel_for(down, 1, [&](int64_t begin, int64_t end) {
        const Span rows{share(batch, begin, down).begin, share(batch, end - 1, down).end};
        for (int64_t k = 0; k < steps; ++k) step(k, rows, Span{0, panels()});
      });
    for (int64_t k = 0; k < steps; ++k)
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
HWY_INLINE void for_parts(Span units, Body&& body) {
  const LaneTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = units.begin;
  for (; i + lanes <= units.end; i += lanes) body(Part<T, true>{d, i, static_cast<size_t>(lanes)});
  if (i < units.end) body(Part<T, false>{d, i, static_cast<size_t>(units.end - i)});
}

// Columns `units` of c's rows: a's, k values long, times a packed panel.
template <class T>
void multiply(const Layer<T>& l, Span rows, Span units, int64_t k, const T* a, const T* packed,
              T* c, int64_t c_row) {
  gemm({rows.size(), units.size(), k, a + rows.begin * k, k, 1, packed, l.panel, 1,
        c + rows.begin * c_row + units.begin, c_row},
       {0, rows.size(), 0, units.size()});
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
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const Span units = l.units(p);
      for (int64_t q = 0; q < 4; ++q)
        multiply(l, rows, units, l.width, h, panel(p, q), gates + 4 * now + q * l.width,
                 4 * l.width);
      for (int64_t r = rows.begin; r < rows.end; ++r)
        bend(units, x + 4 * (now + r * l.width), gates + 4 * (now + r * l.width),
             state + r * l.width, c + now + r * l.width, y + now + r * l.width);
    }
  }
  // One row: the sums of x and the product become gates, and these the new states.
  HWY_INLINE void bend(Span units, const T* from_x, T* row, const T* before, T* after,
                       T* out) const {
    const int64_t w = l.width;
    for_parts<T>(
        units, [&](auto part) HWY_ATTR __attribute__((always_inline)) {
          const LaneTag<T> d;
          const auto sum = [&](int64_t q) HWY_ATTR {
            return hn::Add(part.of(from_x + q * w), part.of(row + q * w));
          };
          const auto i = any_sigmoid(d, sum(0)), f = any_sigmoid(d, sum(1)),
                     g = any_tanh(d, sum(2)), o = any_sigmoid(d, sum(3));
          const auto c = hn::MulAdd(f, part.of(before), hn::Mul(i, g));
          part.put(i, row), part.put(f, row + w), part.put(g, row + 2 * w),
              part.put(o, row + 3 * w);
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
  f.l.for_steps([&](int64_t k, Span rows, Span panels) { f.step(k, rows, panels); });
}

// ---- backward: panels of weight, all gates in one

template <class T>
struct Backward {
  using arg = tenon::arg::lstm_backward;
  Layer<T> l;
  const T *gy, *gc, *ggates, *c0, *c, *gates;
  T *gx, *gh, *gstate;  // gh: of the state h after the step at hand, but for gy
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
  // Of h before the step at `place`.
  void state_gradient(int64_t place, Span rows, int64_t p) const {
    multiply(l, rows, l.units(p), 4 * l.width, gx + 4 * place * l.batch * l.width, panel(p), gh,
             l.width);
  }
  // From the last step to the first.
  void step(int64_t back, Span rows, Span panels) const {
    const int64_t k = l.steps - 1 - back, size = l.batch * l.width, now = l.place(k) * size;
    const T* before = k == 0 ? c0 : c + l.place(k - 1) * size;
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      if (back != 0) state_gradient(l.place(k + 1), rows, p);
      for (int64_t r = rows.begin; r < rows.end; ++r)
        bend(l.units(p), now + r * l.width, before + r * l.width, r * l.width);
    }
  }
  // The row of a step that begins at element `now` of a sequence of states, and at `r` of a state.
  HWY_INLINE void bend(Span units, int64_t now, const T* before, int64_t r) const {
    const int64_t w = l.width;
    const T* const row = gates + 4 * now;
    const auto given = [now](const T* x, int64_t times) {
      return x == nullptr ? x : x + times * now;
    };
    const T *const more_c = given(gc, 1), *const more = given(ggates, 4);
    for_parts<T>(
        units, [&](auto part) HWY_ATTR __attribute__((always_inline)) {
          const LaneTag<T> d;
          const auto one = hn::Set(d, 1);
          const auto i = part.of(row), f = part.of(row + w), g = part.of(row + 2 * w),
                     o = part.of(row + 3 * w);
          const auto bent = any_tanh(d, part.of(c + now));
          const auto h = hn::Add(part.of(gh + r), part.of(gy + now));
          const auto arrived = hn::Add(part.of(gstate + r), part.of_any(more_c));
          const auto s = hn::MulAdd(hn::Mul(h, o), hn::NegMulAdd(bent, bent, one), arrived);
          const auto put = [&](int64_t q, auto gradient, auto slope) HWY_ATTR {
            if (more != nullptr) gradient = hn::Add(gradient, part.of(more + q * w));
            part.put(hn::Mul(gradient, slope), gx + 4 * now + q * w);
          };
          put(0, hn::Mul(s, g), hn::NegMulAdd(i, i, i));
          put(1, hn::Mul(s, part.of(before)), hn::NegMulAdd(f, f, f));
          put(2, hn::Mul(s, i), hn::NegMulAdd(g, g, one));
          put(3, hn::Mul(h, bent), hn::NegMulAdd(o, o, o));
          part.put(hn::Mul(s, f), gstate + r);
        });
  }
  // gh0, when gx of the first step is there.
  void finish() const {
    if (l.steps == 0) return;
    const int64_t parts = std::max(l.down, l.across);
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Span rows = share(l.batch, l.down > 1 ? i : 0, l.down),
                   panels = share(l.panels(), l.across > 1 ? i : 0, l.across);
        for (int64_t p = panels.begin; p < panels.end; ++p) state_gradient(l.place(0), rows, p);
      }
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
  std::fill_n(b.gh, b.l.batch * b.l.width, T(0));
  std::fill_n(b.gstate, b.l.batch * b.l.width, T(0));
  b.l.for_steps([&](int64_t k, Span rows, Span panels) { b.step(k, rows, panels); });
  b.finish();
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
