// lstm. The panels of a unit's four gates, of weightᵀ, lie one behind the other.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/recurrent.cpp"
#include <hwy/foreach_target.h>

#include "kernels.hpp"
#include "ops/recurrent_layer-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Rows whose sums are made at once, and stay in L1 with a panel.
constexpr int64_t kRowsAtOnce = 24;

template <class T, class F>
struct Forward {
  using arg = tenon::arg::lstm;
  using C = Compute<T>;
  Layer<T, F> l;
  const T *x, *h0, *c0;
  T *y, *c, *gates;
  C* packed;
  F* kept_h;  // two states h as products take them, where that is not as y holds them
  C* kept_c;  // a state c, where c rounds it

  explicit Forward(const tn_call& call)
      : l(input(call, arg::x), call.args[arg::reverse].as.i != 0),
        x(data_of<const T>(input(call, arg::x))),
        h0(data_of<const T>(input(call, arg::h0))),
        c0(data_of<const T>(input(call, arg::c0))),
        y(data_of<T>(output(call, arg::result::y))),
        c(data_of<T>(output(call, arg::result::c))),
        gates(data_of<T>(output(call, arg::result::gates))) {
    Room room(call.scratch);
    packed = room.take<C>(l.packed_size());
    kept_h = room.take<F>(kKeepsH ? 2 * l.state_size() : 0);
    kept_c = room.take<C>(kKeepsC ? l.state_size() : 0);
  }
  static uint64_t scratch(const tn_call& call) {
    const Layer<T, F> l(input(call, arg::x), false);
    return Room::bytes_of<C>(l.packed_size()) +
           Room::bytes_of<F>(kKeepsH ? 2 * l.state_size() : 0) +
           Room::bytes_of<C>(kKeepsC ? l.state_size() : 0);
  }
  static constexpr bool kKeepsH = !std::is_same_v<T, F>, kKeepsC = !std::is_same_v<T, C>;

  C* panel(int64_t p, int64_t gate) const {
    return packed + (4 * p + gate) * l.packed_rows(l.width) * l.panel;
  }
  void start(const T* weight) const {
    l.for_panels([&](int64_t p) {
      const Span units = l.units(p);
      for (int64_t q = 0; q < 4; ++q)
        pack_rows<F>(weight + (q * l.width + units.begin) * l.width, l.width, units.size(), l.panel,
                     panel(p, q));
    });
    if constexpr (kKeepsH) convert_row(h0, l.state_size(), kept_h);
    if constexpr (kKeepsC) convert_row(c0, l.state_size(), kept_c);
  }
  // The states before step k, each a matrix (batch, width).
  const F* h_before(int64_t k) const {
    if constexpr (kKeepsH)
      return kept_h + k % 2 * l.state_size();
    else
      return k == 0 ? h0 : y + l.place(k - 1) * l.state_size();
  }
  const C* c_before(int64_t k) const {
    if constexpr (kKeepsC)
      return kept_c;
    else
      return k == 0 ? c0 : c + l.place(k - 1) * l.state_size();
  }
  void step(int64_t k, Span rows, Span panels) const {
    const F* const h = h_before(k);
    alignas(64) C sums[kRowsAtOnce * 4 * kMostVectors * HWY_MAX_BYTES / sizeof(C)];
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const Span units = l.units(p);
      for (int64_t first = rows.begin; first < rows.end; first += kRowsAtOnce) {
        const int64_t m = std::min(kRowsAtOnce, rows.end - first);
        for (int64_t q = 0; q < 4; ++q) {
          fetch(x + 4 * (l.place(k) * l.state_size() + first * l.width) + q * l.width + units.begin,
                4 * l.width, m, units.size());
          multiply<T, F>(l, m, units.size(), l.width, h + first * l.width, panel(p, q),
                         sums + q * l.panel, 4 * l.panel);
        }
        for (int64_t r = 0; r < m; ++r) bend(k, first + r, units, sums + 4 * r * l.panel);
      }
    }
  }
  // Some units of a row: sums of x and the products become gates, and these the new states.
  HWY_INLINE void bend(int64_t k, int64_t row, Span units, const C* sums) const {
    const int64_t w = l.width, at = row * w + units.begin, now = l.place(k) * l.state_size(),
                  of_gates = 4 * (now + row * w) + units.begin;
    const T* const from_x = x + of_gates;
    T *const to = gates + of_gates, *const to_y = y + now + at, *const to_c = c + now + at;
    const C* const before = c_before(k) + at;
    for_parts<T>(
        units.size(), [&](auto part) HWY_ATTR __attribute__((always_inline)) {
          const LaneTag<T> d;
          const auto sum = [&](int64_t q) HWY_ATTR {
            return hn::Add(part.of(sums + q * l.panel), part.of(from_x + q * w));
          };
          const auto i = any_sigmoid(d, sum(0)), f = any_sigmoid(d, sum(1)),
                     g = any_tanh(d, sum(2)), o = any_sigmoid(d, sum(3));
          const auto state = hn::MulAdd(f, part.of(before), hn::Mul(i, g));
          const auto h = hn::Mul(o, any_tanh(d, state));
          part.put(i, to), part.put(f, to + w), part.put(g, to + 2 * w), part.put(o, to + 3 * w);
          part.put(state, to_c);
          part.put(h, to_y);
          if constexpr (kKeepsH) part.put(h, kept_h + (k + 1) % 2 * l.state_size() + at);
          if constexpr (kKeepsC) part.put(state, kept_c + at);
        });
  }
};

template <class T, class F>
void run(const tn_call& call) {
  const Forward<T, F> f(call);
  f.start(data_of<const T>(input(call, tenon::arg::lstm::weight)));
  f.l.for_steps(f.l.steps, [&](int64_t k, Span rows, Span panels) { f.step(k, rows, panels); });
}
struct Kernel {
  using arg = tenon::arg::lstm;
  template <class T, class F>
  static KernelSpec of() {
    return {.schema = TN_SCHEMA_LSTM,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<run<T, F>>,
            .scratch_size = scratch_of<Forward<T, F>::scratch>};
  }
};
void add_kernels(KernelList& list) { add_layer_kernels<Kernel>(list); }

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_recurrent_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
