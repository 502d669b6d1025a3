// softmax_cross_entropy and its backward: read the logits once each, in their own dtype. Row results such as the logarithm of the sum are
// f32 or f64. Targets are checked on the device.
#include <cmath>

#include "indices.hpp"
#include "moments.hpp"
#include "row_kernels.hpp"

namespace tenon::gpu {
namespace {

// lse of a row, and w·(lse − x) of its class.
template <class C>
struct Rows : Exps<C> {
  using typename Exps<C>::State;
  Ptr<const int64_t> target;
  Source weight;  // may be missing
  Ptr<C> loss, counted, lse;
  IndexCheck check;
  int64_t n, ignore;
  GPU_DEVICE void finish(int64_t row, const State& s) const {
    const C total =
        this->is_finite(s.top) ? s.top + std::log(s.sum) : std::numeric_limits<C>::quiet_NaN();
    C term = C(0), w = C(0);
    const int64_t t = target[row];
    if (t != ignore && place_of(check, t, row) != kNowhere) {
      w = weight.at != nullptr ? load_any<C>(weight, t) : C(1);
      term = w * (total - load_any<C>(this->x, row * n + t));
    }
    lse[row] = total;
    loss[row] = term;
    counted[row] = w;
  }
};

template <class T>
struct Backward {
  using C = Compute<T>;
  int64_t rows;
  uint32_t n, even;  // even: rows are aligned to vectors
  uint32_t g_step;   // 0: g is one number
  Ptr<const T> x;
  Ptr<const int64_t> target;
  Ptr<const C> g, counted, lse;
  Ptr<T> gx;
};

// g·w·(p − 1 at the class); 0 in rows that do not count.
template <class C>
GPU_DEVICE C slope(C x, C lse, C scale, bool is_class) {
  return scale == C(0) ? C(0) : scale * (is_class ? std::expm1(x - lse) : std::exp(x - lse));
}

template <class T>
GPU_KERNEL backward_rows(Backward<T> b) {
  using C = Compute<T>;
  constexpr uint32_t kN = kRowVector<T>;
  for (int64_t row = block_index().y; row < b.rows; row += block_count().y) {
    const C lse = b.lse[row], counted = b.counted[row];
    const C scale = counted == C(0) ? C(0) : b.g[row * b.g_step] * counted;
    const int64_t t = b.target[row], begin = row * b.n;
    const uint32_t whole = b.even != 0 ? b.n / kN : 0;
    for (auto i = static_cast<uint32_t>(first_thread()); i < whole;
         i += static_cast<uint32_t>(thread_count())) {
      Vec<T, kN> v = load_vec<kN>(b.x + (begin + i * kN));
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k)
        v.at[k] = narrow<T>(slope<C>(widen<T>(v.at[k]), lse, scale, i * kN + k == t));
      store_vec<kN>(b.gx + (begin + i * kN), v);
    }
    for (int64_t i = whole * kN + first_thread(); i < b.n; i += thread_count())
      store<T>(b.gx, begin + i, slope<C>(load<T>(b.x, begin + i), lse, scale, i == t));
  }
}

FoldShape plan_of(const tn_call& call) {
  const tn_view& x = input(call, arg::softmax_cross_entropy::logits);
  return plan_fold({{x.shape[0], x.shape[1]}}, {{x.shape[1], 1}});
}

void run_forward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::softmax_cross_entropy;
  const tn_view& x = input(call, arg::logits);
  if (x.shape[0] == 0) return;
  with_float(x.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    run_fold(call, plan_of(call), {&x},
             Rows<C>{{source(x)},
                     in<int64_t>(input(call, arg::target)),
                     source_or_none(input_or_null(call, arg::weight)),
                     out<C>(output(call, arg::result::loss)),
                     out<C>(output(call, arg::result::counted)),
                     out<C>(output(call, arg::result::lse)),
                     check_of(call, "softmax_cross_entropy", 1, x.shape[1]),
                     x.shape[1],
                     int_arg(call, arg::ignore_index)});
  });
}

// Means and sums are made from this kernel's results.
bool is_of_rows(const tn_call& call, uint32_t) {
  return text_arg(call, arg::softmax_cross_entropy::reduction) == "none";
}

uint64_t scratch_of(const tn_call& call, uint32_t) { return fold_scratch(plan_of(call)); }

bool fits(const tn_call& call, uint32_t) {
  return input(call, arg::softmax_cross_entropy_backward::logits).shape[1] <= INT32_MAX;
}

void run_backward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::softmax_cross_entropy_backward;
  const tn_view &x = input(call, arg::logits), &gx = output(call);
  if (numel(gx) == 0) return;
  with_type(Floats{}, x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const RowShape shape = plan_rows<T>(x.shape[0], x.shape[1], 1, {&x, &gx});
    Grid grid = grid_of(x.shape[1], kRowVector<T>);
    grid.blocks.y = static_cast<uint32_t>(std::min<int64_t>(x.shape[0], 65535));
    launch(call, grid, backward_rows<T>,
           Backward<T>{x.shape[0], shape.n, shape.even, input(call, arg::g).ndim, in<T>(x),
                       in<int64_t>(input(call, arg::target)), in<C>(input(call, arg::g)),
                       in<C>(input(call, arg::counted)), in<C>(input(call, arg::lse)), out<T>(gx)});
  });
}

}  // namespace

void add_loss_cross_entropy_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SOFTMAX_CROSS_ENTROPY,
            .dtypes = Floats::kMask,
            .run = run_forward,
            .supports = is_of_rows,
            .scratch = scratch_of});
  list.add({.schema = TN_SCHEMA_SOFTMAX_CROSS_ENTROPY_BACKWARD,
            .dtypes = Floats::kMask,
            .run = run_backward,
            .supports = fits});
}

}  // namespace tenon::gpu
