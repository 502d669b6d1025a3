// Connectionist temporal classification.
// A loss for labels whose positions in a sequence are unknown (Graves et al. 2006).
#include <algorithm>
#include <limits>
#include <vector>

#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// Stands for log 0. It is finite, so that the gradient of an empty sum is 0.
constexpr double kNever = -1e30;

// Checks the arguments of ctc_loss or its backward op and returns the batch size.
template <class arg>
int64_t check_ctc(Frame& frame) {
  const tn_tensor& x = operand(frame, arg::log_probs, TN_MASK_FLOAT, "a floating dtype");
  frame.require(x.ndim() == 3, "log_probs must be (T, N, C), got rank {}", x.ndim());
  const int64_t batch = x.shape()[1], classes = x.shape()[2], blank = frame.integer(arg::blank);
  frame.require(blank >= 0 && blank < classes, "blank {} out of range for {} classes", blank,
                classes);
  const auto targets = index_operand(frame, arg::targets).sizes();
  frame.require(targets.size() == 2 && targets[0] == batch,
                "targets must be (N, S) with N = {}, got shape {}", batch, format_shape(targets));
  for (const uint32_t i : {arg::input_lengths, arg::target_lengths}) {
    index_operand(frame, i);
    require_shape(frame, i, std::span(&batch, 1));
  }
  return batch;
}

// x (N, L) moved right by `by`, filled with log 0.
Tensor moved_right(const Tensor& x, int64_t by) {
  by = std::min(by, x.shape(1));
  const Tensor never = full({x.shape(0), by}, kNever, x.dtype(), x.device());
  return concat({never, slice(x, 1, 0, x.shape(1) - by)}, 1);
}
// x (N, L) moved left by `by`, filled with 0.
Tensor moved_left(const Tensor& x, int64_t by) {
  by = std::min(by, x.shape(1));
  return concat({slice(x, 1, by, x.shape(1)), zeros({x.shape(0), by}, x)}, 1);
}

// The paths of a batch: each sample has L = 2·S + 1 places, its labels with blanks before, between and after them.
struct Lattice {
  Tensor x, inputs, path, jumps, is_end;
  std::vector<Tensor>
      alpha;     // log p of all paths to a place before step t; fixed once a sample ends
  Tensor total;  // log p(labels)

  template <class arg>
  Lattice(arg, const CompositeArgs& in)
      : x(wide(in.tensor(arg::log_probs))), inputs(unsqueeze(in.tensor(arg::input_lengths), 1)) {
    const Tensor targets = in.tensor(arg::targets),
                 lengths = unsqueeze(in.tensor(arg::target_lengths), 1);
    const int64_t batch = targets.shape(0), most = targets.shape(1), blank = in.integer(arg::blank);
    const auto blanks = [&](int64_t count) {
      return full({batch, count}, blank, DType::I64, x.device());
    };
    const Tensor places = arange(0, 2 * most + 1, 1, DType::I64, x.device());
    const Tensor labels = where(slice(places, 0, 0, most) < lengths, targets,
                                blanks(most));  // padding may hold anything
    path = concat({reshape(stack({blanks(most), labels}, 2), {batch, 2 * most}), blanks(1)}, 1);
    const int64_t back = std::min<int64_t>(2, path.shape(1));
    const Tensor two_back = concat({blanks(back), slice(path, 1, 0, path.shape(1) - back)}, 1);
    jumps = logical_and(path != blank, path != two_back);
    is_end = logical_or(places == 2 * lengths, places == 2 * lengths - 1);
    walk(places);
    total = logsumexp(where(is_end, alpha.back(), never()), 1);
  }

  Tensor never() const { return full({}, kNever, x.dtype(), x.device()); }
  Tensor possible() const { return logical_not(total < kNever / 10); }  // also if it is NaN
  Tensor emitted(int64_t t) const { return clamp(gather(select(x, 0, t), 1, path), kNever); }
  // The paths into each place from the one `back` before it. Two back is allowed only over a blank between different labels.
  Tensor from(const Tensor& state, int64_t back) const {
    return back == 0   ? state
           : back == 1 ? moved_right(state, 1)
                       : where(jumps, moved_right(state, 2), never());
  }

 private:
  void walk(const Tensor& places) {
    const Tensor start = where(expand(places == 0, path.shape()), zeros({}, x), never());
    alpha.push_back(start);
    for (int64_t t = 0; t < x.shape(0); ++t) {
      const Tensor& state = alpha.back();
      Tensor ways = t == 0 ? where(places < 2, zeros({}, x), never())
                           : logsumexp(stack({state, from(state, 1), from(state, 2)}, 0), 0);
      ways = ways + emitted(t);
      alpha.push_back(where(inputs > t, where(ways < kNever, never(), ways), state));
    }
  }
};

}  // namespace

TN_OP(ctc_loss) = {
    .schema =
        "(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int "
        "blank=0, bool normalized=false) -> Tensor",
    .gives =
        "Minus the logarithm of the probability of each sample's labels over all their alignments "
        "with its steps; infinity if there is none (Graves et al. 2006). normalized says that "
        "log_probs come from log_softmax: the gradient is then that of its operand. An infinite "
        "loss has a gradient of 0.",
    .example = "tenon.ctc_loss(t([[[-1., -1.]], [[-1., -1.]]]), t([[1]]), t([2]), t([1]))",
    .autocast = "f32",
    .rule = &rule::ctc_loss,
    .gradient = &gradient::ctc_loss,
    .decompose = &decomposition::ctc_loss,
};

TN_RULE(
    ctc_loss, ctc_loss,
    {.dtypes = "floating; f32 for halves; labels and lengths are integers",
     .shapes =
         "log_probs (T, N, C), targets (N, S), input_lengths and target_lengths (N) give (N)"}) {
  const int64_t batch = check_ctc<arg>(frame);
  frame.result(0, statistic(frame.tensor(arg::log_probs).dtype()), std::span(&batch, 1));
}

// minus the probability, given the labels, that a class is emitted at a step; plus e^log_probs if the rows are normalised
TN_GRADIENT(ctc_loss, {.always = in_(arg::log_probs) | in_(arg::targets) | in_(arg::input_lengths) |
                                 in_(arg::target_lengths)}) {
  c.set(arg::log_probs, ctc_loss_backward(c.grad(), c.in(arg::log_probs), c.in(arg::targets),
                                          c.in(arg::input_lengths), c.in(arg::target_lengths),
                                          c.integer(arg::blank), c.flag(arg::normalized)));
}

TN_DECOMPOSE(ctc_loss) {
  const Lattice lattice(arg{}, in);
  out[0] = where(lattice.possible(), -lattice.total, std::numeric_limits<double>::infinity());
}

TN_OP(ctc_loss_backward) = {
    .schema =
        "(Tensor g, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
        "target_lengths, int blank, bool normalized) -> Tensor",
    .gives = "The gradient of ctc_loss, which runs the recursion forwards again.",
    .example =
        "tenon.ctc_loss_backward(t([1.]), t([[[-1., -1.]]]), t([[1]]), t([1]), t([1]), 0, False)",
    .rule = &rule::ctc_loss_backward,
    .through = true,
    .decompose = &decomposition::ctc_loss_backward,
};

TN_RULE(ctc_loss_backward, ctc_loss_backward,
        {.dtypes = "floating; the result has log_probs'",
         .shapes = "g (N) and the operands of `ctc_loss` give (T, N, C)"}) {
  const int64_t batch = check_ctc<arg>(frame);
  const tn_tensor& x = frame.tensor(arg::log_probs);
  parameter(frame, arg::g, std::span(&batch, 1), statistic(x.dtype()));
  frame.result(0, x.dtype(), x.sizes());
}

// The chain rule back through the recursion: each place passes its share of p(labels) on to the places before it, in the proportion in
// which they contributed.
TN_DECOMPOSE(ctc_loss_backward) {
  const Lattice lattice(arg{}, in);
  const Tensor& x = lattice.x;
  const Tensor none = zeros({}, x),
               g = unsqueeze(where(lattice.possible(), in.tensor(arg::g), none), 1);
  const Tensor ends = lattice.alpha.back() - unsqueeze(lattice.total, 1);
  Tensor share = g * exp(where(lattice.is_end, ends, lattice.never()));
  std::vector<Tensor> rows(static_cast<size_t>(x.shape(0)));
  for (size_t t = rows.size(); t-- > 0;) {
    const auto step = static_cast<int64_t>(t);
    const Tensor active = lattice.inputs > step, here = where(active, share, none),
                 at = select(x, 0, step);
    rows[t] = -scatter_add(zeros(at.shape(), x), 1, lattice.path, here);
    if (in.flag(arg::normalized)) rows[t] = rows[t] + where(active, exp(at) * g, none);
    if (t == 0) break;
    const Tensor into = lattice.emitted(step) - lattice.alpha[t + 1];
    Tensor before;
    for (int64_t back = 0; back < 3; ++back) {
      // At most 0 wherever a path leads through; elsewhere it could be anything.
      const Tensor way = clamp(lattice.from(lattice.alpha[t], back) + into, {}, 1.0);
      const Tensor part = moved_left(here * exp(way), back);
      before = back == 0 ? part : before + part;
    }
    share = where(active, before, share);
  }
  out[0] =
      (rows.empty() ? zeros(x.shape(), x) : stack(rows, 0)).to(in.tensor(arg::log_probs).dtype());
}
