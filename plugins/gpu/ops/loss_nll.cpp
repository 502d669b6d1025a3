// nll_loss and its backward over log_probs (N, C, S), summed in double. Targets are checked on the device.
#include "fold.hpp"
#include "indices.hpp"

namespace tenon::gpu {
namespace {

enum Reduction : uint32_t { kNone, kMean, kTotal };

// The elements that belong to a target.
struct Classes {
  int64_t c, s;
  int64_t ignore;
  Ptr<const int64_t> target;
  IndexCheck check;
};

template <class C>
struct Losses {
  struct State {
    double loss, total;
  };
  Classes classes;
  Source x, weight;  // weight may be missing
  Target each;       // for reduction "none"
  Target loss, total;
  bool mean;
  GPU_FN State start() const { return {0, 0}; }
  GPU_FN void merge(State& into, const State& other) const {
    into.loss += other.loss;
    into.total += other.total;
  }
  GPU_DEVICE void take(State& s, const Places& p, int64_t) const {
    for (uint32_t k = 0; k < p.n; ++k) {
      const int64_t i = p.position + k * p.step, t = classes.target[i];
      C term = C(0), w = C(0);
      if (t != classes.ignore && place_of(classes.check, t, i) != kNowhere) {
        w = weight.at != nullptr ? load_any<C>(weight, t) : C(1);
        const int64_t sample = i / classes.s, rest = i - sample * classes.s;
        term = -w * load_any<C>(x, (sample * classes.c + t) * classes.s + rest);
      }
      if (each.at != nullptr) store_any<C>(each, i, term);
      s.loss += term;
      s.total += w;
    }
  }
  GPU_DEVICE void finish(int64_t, const State& s) const {
    if (loss.at != nullptr) store_any<C>(loss, 0, static_cast<C>(mean ? s.loss / s.total : s.loss));
    store_any<C>(total, 0, static_cast<C>(s.total));
  }
};

template <class C>
GPU_KERNEL nll_backward(int64_t count, Classes classes, Reduction reduction, Source g,
                        Source weight, Source total, Target gx) {
  for (int64_t i = first_thread(); i < count; i += thread_count()) {
    const int64_t row = i / classes.s, rest = i - row * classes.s;
    const int64_t sample = row / classes.c, which = row - sample * classes.c;
    const int64_t at = sample * classes.s + rest, t = classes.target[at];
    C value = C(0);
    if (which == 0 && t != classes.ignore) place_of(classes.check, t, at);
    if (t == which && t != classes.ignore) {
      const C w = weight.at != nullptr ? load_any<C>(weight, t) : C(1);
      const C scale = reduction == kMean ? C(1) / load_any<C>(total, 0) : C(1);
      value = -w * scale * load_any<C>(g, reduction == kNone ? at : 0);
    }
    store_any<C>(gx, i, value);
  }
}

Reduction reduction_of(std::string_view text) {
  return text == "none" ? kNone : text == "mean" ? kMean : kTotal;
}

Classes classes_of(const tn_call& call, const tn_view& x, const tn_view& target, int64_t ignore,
                   const char* op) {
  const uint32_t channel = x.ndim == 1 ? 0 : 1;
  Classes classes{x.shape[channel], 1, ignore, in<int64_t>(target),
                  check_of(call, op, channel, x.shape[channel])};
  for (uint32_t d = 2; d < x.ndim; ++d) classes.s *= x.shape[d];
  return classes;
}

FoldShape plan_of(const tn_call& call) {
  return plan_fold({}, {{numel(input(call, arg::nll_loss::target)), 1}});
}

void run_loss(const tn_call& call, uint32_t) {
  using arg = tenon::arg::nll_loss;
  const tn_view& x = input(call, arg::log_probs);
  const Reduction reduction = reduction_of(text_arg(call, arg::reduction));
  const Classes classes =
      classes_of(call, x, input(call, arg::target), int_arg(call, arg::ignore_index), "nll_loss");
  const bool each = reduction == kNone;
  with_float(x.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const tn_view& loss = output(call);
    run_fold(
        call, plan_of(call), {},
        Losses<C>{classes, source(x), source_or_none(input_or_null(call, arg::weight)),
                  target_or_none(each ? &loss : nullptr), target_or_none(each ? nullptr : &loss),
                  target(output(call, arg::result::total_weight)), reduction == kMean});
  });
}

uint64_t scratch_of(const tn_call& call, uint32_t) { return fold_scratch(plan_of(call)); }

void run_backward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::nll_loss_backward;
  const tn_view& gx = output(call);
  const int64_t count = numel(gx);
  const Classes classes = classes_of(call, gx, input(call, arg::target),
                                     int_arg(call, arg::ignore_index), "nll_loss_backward");
  with_float(gx.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    launch(call, grid_of(count), nll_backward<C>, count, classes,
           reduction_of(text_arg(call, arg::reduction)), source(input(call, arg::g)),
           source_or_none(input_or_null(call, arg::weight)), source(input(call, arg::total_weight)),
           target(gx));
  });
}

}  // namespace

void add_loss_nll_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_NLL_LOSS,
            .dtypes = Floats::kMask,
            .run = run_loss,
            .scratch = scratch_of});
  list.add({.schema = TN_SCHEMA_NLL_LOSS_BACKWARD, .dtypes = Floats::kMask, .run = run_backward});
}

}  // namespace tenon::gpu
