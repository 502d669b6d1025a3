// The lattice of ctc_loss: the logarithms of the probabilities of all ways to each place, forwards through the steps.
#include <cmath>
#include <vector>

#include "exp-inl.hpp"
#include "ops/ctc.hpp"

#if defined(TENON_CPU_CTC_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_CTC_INL
#undef TENON_CPU_CTC_INL
#else
#define TENON_CPU_CTC_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// The ways of a sample. A row has an element for each of L places: blanks before, between and behind the labels. In front of a row
// are two that nothing reaches, behind it as many as make whole vectors and what lies one and two places further.
template <class T>
struct Lattice {
  using C = Compute<T>;
  static constexpr C kNever = C(-1e30);  // stands for log 0: differences of it are numbers
  static constexpr int64_t kFront = 2;

  const CtcBatch& of;
  const T* x;  // of the sample; steps lie N·C apart
  int64_t steps, size, whole, stride;
  bool keep;  // rows of all steps, not of the last two
  std::vector<int64_t> path;
  std::vector<C> jump, emitted, rows;

  Lattice(const CtcBatch& batch, const T* log_probs, int64_t n, bool keep_all)
      : of(batch),
        x(log_probs + n * of.classes),
        steps(of.inputs[n]),
        size(2 * of.lengths[n] + 1),
        keep(keep_all) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(LaneTag<T>()));
    whole = (size + lanes - 1) / lanes * lanes;
    stride = kFront + whole + 2;
    path.assign(static_cast<size_t>(size), of.blank);
    jump = emitted = std::vector<C>(static_cast<size_t>(stride), kNever);
    rows.assign(static_cast<size_t>((keep ? steps + 1 : 2) * stride), kNever);
    for (int64_t s = 1; s < size; s += 2) {
      const int64_t label = path[static_cast<size_t>(s)] = of.targets[n * of.most + s / 2];
      if (label != of.blank && (s < 2 || label != path[static_cast<size_t>(s - 2)]))
        jump[static_cast<size_t>(kFront + s)] = 0;
    }
    walk();
  }

  // log p of all ways to each place, before step t.
  C* alpha(int64_t t) { return rows.data() + (keep ? t : t % 2) * stride + kFront; }
  C* emission() { return emitted.data() + kFront; }
  const C* jumps() const { return jump.data() + kFront; }
  const T* step(int64_t t) const { return x + t * of.batch * of.classes; }
  C log_probability() {
    const C* const last = alpha(steps);
    const C a = last[size - 1], b = last[size - 2],
            top = std::max(a, b);  // of no labels: b is in front
    return top + std::log(std::exp(a - top) + std::exp(b - top));
  }
  void emit(int64_t t) {
    const T* const from = step(t);
    C* const to = emission();
    for (int64_t s = 0; s < size; ++s) {
      const C value = static_cast<C>(from[path[static_cast<size_t>(s)]]);
      to[s] = value < kNever ? kNever : value;
    }
  }

 private:
  void walk() {
    alpha(0)[0] = 0;
    for (int64_t t = 0; t < steps; ++t) {
      emit(t);
      if (t == 0) {
        std::fill_n(alpha(1), whole, kNever);
        std::copy_n(emission(), std::min<int64_t>(2, size), alpha(1));
      } else {
        advance(alpha(t), alpha(t + 1));
      }
    }
  }
  HWY_INLINE void advance(const C* from, C* to) {
    const LaneTag<T> d;
    const auto never = hn::Set(d, kNever);
    for (int64_t s = 0; s < whole; s += static_cast<int64_t>(hn::Lanes(d))) {
      const auto a = hn::LoadU(d, from + s), b = hn::LoadU(d, from + s - 1),
                 c = hn::Add(hn::LoadU(d, from + s - 2), hn::LoadU(d, jumps() + s));
      const auto top = hn::Max(a, hn::Max(b, c));
      const auto sum =
          hn::Add(exp_below(d, hn::Sub(a, top)),
                  hn::Add(exp_below(d, hn::Sub(b, top)), exp_below(d, hn::Sub(c, top))));
      const auto log = hn::IfThenElse(hn::IsNaN(sum), sum, hn::Log(d, sum));
      const auto way = hn::Add(hn::Add(top, log), hn::LoadU(d, emission() + s));
      hn::StoreU(hn::IfThenElse(hn::Lt(way, never), never, way), d, to + s);
    }
  }
};

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
