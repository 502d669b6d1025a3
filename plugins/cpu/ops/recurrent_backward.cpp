// lstm_backward. The panels are of weight, all gates in one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/recurrent_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels.hpp"
#include "ops/recurrent_layer-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T, class F>
struct Backward {
  using arg = tenon::arg::lstm_backward;
  using C = Compute<T>;
  Layer<T, F> l;
  const T *gy, *gc, *ggates, *c0, *c, *gates;
  T *gx, *gh0, *gc0;
  C* packed;
  C *gh, *gstate;  // of the states h and c after the step at hand
  F* kept_gx;      // of two steps as products take them, where that is not as gx holds them

  explicit Backward(const tn_call& call)
      : l(input(call, arg::gates), call.args[arg::reverse].as.i != 0),
        gy(data_of<const T>(input(call, arg::gy))),
        gc(data_or_null(call, arg::gc)),
        ggates(data_or_null(call, arg::ggates)),
        c0(data_of<const T>(input(call, arg::c0))),
        c(data_of<const T>(input(call, arg::c))),
        gates(data_of<const T>(input(call, arg::gates))),
        gx(data_of<T>(output(call, arg::result::gx))),
        gh0(data_of<T>(output(call, arg::result::gh0))),
        gc0(data_of<T>(output(call, arg::result::gc0))) {
    Room room(call.scratch);
    packed = room.take<C>(l.packed_size());
    if constexpr (kRounds) {
      gh = room.take<C>(l.state_size());
      gstate = room.take<C>(l.state_size());
    } else {
      gh = gh0, gstate = gc0;
    }
    kept_gx = room.take<F>(kKeepsGx ? 8 * l.state_size() : 0);
  }
  static uint64_t scratch(const tn_call& call) {
    const Layer<T, F> l(input(call, arg::gates), false);
    return Room::bytes_of<C>(l.packed_size()) +
           2 * Room::bytes_of<C>(kRounds ? l.state_size() : 0) +
           Room::bytes_of<F>(kKeepsGx ? 8 * l.state_size() : 0);
  }
  static constexpr bool kRounds = !std::is_same_v<T, C>, kKeepsGx = !std::is_same_v<T, F>;
  static const T* data_or_null(const tn_call& call, uint32_t i) {
    const tn_view* view = input_or_null(call, i);
    return view == nullptr ? nullptr : data_of<const T>(*view);
  }

  C* panel(int64_t p) const { return packed + p * l.packed_rows(4 * l.width) * l.panel; }
  void start(const T* weight) const {
    l.for_panels([&](int64_t p) {
      const Span units = l.units(p);
      pack_columns<F>(weight + units.begin, l.width, 4 * l.width, units.size(), l.panel, panel(p));
    });
    std::fill_n(gh, l.state_size(), C(0));
    std::fill_n(gstate, l.state_size(), C(0));
  }
  // (batch, 4·width) of step k, for a product.
  F* gx_of(int64_t k) const {
    if constexpr (kKeepsGx)
      return kept_gx + k % 2 * 4 * l.state_size();
    else
      return gx + 4 * l.place(k) * l.state_size();
  }
  // Step k after step k + 1; -1 leaves gh0.
  void step(int64_t k, Span rows, Span panels) const {
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const Span units = l.units(p);
      const int64_t at = rows.begin * l.width;
      if (k >= 0) fetch_units(k, rows, units);
      if (k + 1 < l.steps)
        multiply<T, F>(l, rows.size(), units.size(), 4 * l.width, gx_of(k + 1) + 4 * at, panel(p),
                       gh + at + units.begin, l.width);
      for (int64_t r = rows.begin; k >= 0 && r < rows.end; ++r) bend(k, r, units);
    }
  }
  void fetch_units(int64_t k, Span rows, Span units) const {
    const int64_t w = l.width, m = rows.size(), n = units.size(), size = l.state_size(),
                  at = rows.begin * w, now = l.place(k) * size + at;
    fetch(gy + now + units.begin, w, m, n);
    if (k > 0) fetch(c + l.place(k - 1) * size + at + units.begin, w, m, n);
    for (int64_t q = 0; q < 4; ++q) fetch(gates + 4 * now + q * w + units.begin, 4 * w, m, n);
  }
  // Some units of a row.
  HWY_INLINE void bend(int64_t k, int64_t r, Span units) const {
    const int64_t w = l.width, size = l.state_size(), at = r * w + units.begin,
                  now = l.place(k) * size + at,
                  gate = 4 * (l.place(k) * size + r * w) + units.begin;
    const T *const row = gates + gate, *const more_c = gc == nullptr ? gc : gc + now,
                   *const more = ggates == nullptr ? ggates : ggates + gate;
    const T* const before = (k == 0 ? c0 : c + l.place(k - 1) * size) + at;
    for_parts<T>(
        units.size(), [&](auto part) HWY_ATTR __attribute__((always_inline)) {
          const LaneTag<T> d;
          const auto one = hn::Set(d, 1);
          const auto i = part.of(row), f = part.of(row + w), g = part.of(row + 2 * w),
                     o = part.of(row + 3 * w);
          const auto bent = any_tanh(d, part.of(c + now));
          const auto h = hn::Add(part.of(gh + at), part.of(gy + now));
          const auto arrived = hn::Add(part.of(gstate + at), part.of_any(more_c));
          const auto s = hn::MulAdd(hn::Mul(h, o), hn::NegMulAdd(bent, bent, one), arrived);
          const auto put = [&](int64_t q, auto gradient, auto slope) HWY_ATTR {
            if (more != nullptr) gradient = hn::Add(gradient, part.of(more + q * w));
            const auto found = hn::Mul(gradient, slope);
            part.put(found, gx + gate + q * w);
            if constexpr (kKeepsGx) part.put(found, gx_of(k) + 4 * r * w + units.begin + q * w);
          };
          put(0, hn::Mul(s, g), hn::NegMulAdd(i, i, i));
          put(1, hn::Mul(s, part.of(before)), hn::NegMulAdd(f, f, f));
          put(2, hn::Mul(s, i), hn::NegMulAdd(g, g, one));
          put(3, hn::Mul(h, bent), hn::NegMulAdd(o, o, o));
          part.put(hn::Mul(s, f), gstate + at);
        });
  }
  void finish() const {
    if constexpr (kRounds) {
      convert_row(gh, l.state_size(), gh0);
      convert_row(gstate, l.state_size(), gc0);
    }
  }
};

template <class T, class F>
void run(const tn_call& call) {
  const Backward<T, F> b(call);
  b.start(data_of<const T>(input(call, tenon::arg::lstm_backward::weight)));
  b.l.for_steps(b.l.steps + 1, [&](int64_t i, Span rows, Span panels) {
    b.step(b.l.steps - 1 - i, rows, panels);
  });
  b.finish();
}
struct Kernel {
  using arg = tenon::arg::lstm_backward;
  template <class T, class F>
  static KernelSpec of() {
    return {.schema = TN_SCHEMA_LSTM_BACKWARD,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<run<T, F>>,
            .scratch_size = scratch_of<Backward<T, F>::scratch>};
  }
};
void add_kernels(KernelList& list) { add_layer_kernels<Kernel>(list); }

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_recurrent_backward_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
