// Losses.
#include <algorithm>
#include <optional>
#include <vector>

#include "ops/gradients.hpp"
#include "ops/number.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

void require_reduction(const Frame& frame, std::string_view reduction) {
  frame.require(reduction == "none" || reduction == "mean" || reduction == "sum",
                "reduction must be none, mean or sum, got \"{}\"", reduction);
}

Tensor reduced(const CompositeArgs& in, const Tensor& loss, std::string_view reduction) {
  require_reduction(in.frame(), reduction);
  return reduction == "none" ? loss : reduction == "sum" ? sum(loss) : mean(loss);
}

// ln(1 − p), also of integers and bools
Tensor log_rest(const Tensor& p) { return log1p(p * -1.0); }

// A loss of the difference of two operands that broadcast. The result has rank 0, or their shape if nothing is reduced.
void pair_loss(Frame& frame, tn_dtype dtype, tn_dtype out) {
  using arg = tenon::arg::mse_loss;
  const auto x = operand(frame, arg::x, kNumbers, "a numeric dtype").sizes();
  const auto target = operand(frame, arg::target).sizes();
  const std::string_view reduction = frame.str(arg::reduction);
  require_reduction(frame, reduction);
  if (reduction == "none") return binary(frame, dtype, out);
  broadcast_shapes(frame, x, target);
  frame.cast_all(dtype);
  frame.result(0, out, {});
}
void pair_loss(Frame& frame, tn_dtype dtype) { pair_loss(frame, dtype, dtype); }

tn_dtype real_pair(const Frame& frame) {
  using arg = tenon::arg::mse_loss;
  return fractional(common_real_number(frame, arg::x, arg::target));
}

// Sets the gradients of such a loss: scale·clamp(x − target, ±delta), divided by the number of elements for the mean.
void set_pair_gradients(GradCall& c, std::optional<double> delta, double scale) {
  using arg = tenon::arg::mse_loss;
  const Tensor x = c.in(arg::x), target = c.in(arg::target), g = c.grad();
  if (c.str(arg::reduction) == "mean") {
    Dims pairs;
    broadcast(c.shape(arg::x), c.shape(arg::target), pairs);
    scale /= static_cast<double>(product(pairs));
  }
  Tensor gx;
  if (c.needs(arg::x)) c.set(arg::x, gx = huber_loss_backward(g, x, target, delta, scale));
  if (!c.needs(arg::target)) return;
  c.set(arg::target, gx.defined() ? -gx : huber_loss_backward(g, target, x, delta, scale));
}

// Checks the arguments of nll_loss or its backward op: log_probs is (C) or (N, C, …), and target has the same shape without C.
template <class arg>
void check_nll(Frame& frame) {
  tn_tensor& x = operand(frame, arg::log_probs);
  require_dtype(frame, arg::log_probs, TN_MASK_FLOAT, "a floating dtype");
  tn_tensor& target = index_operand(frame, arg::target);
  frame.require(x.ndim() >= 1, "log_probs must be (C) or (N, C, …), got rank 0");
  const uint32_t channel = x.ndim() == 1 ? 0 : 1;
  Dims expected;
  for (uint32_t d = 0; d < x.ndim(); ++d) {
    if (d != channel) expected.push(x.shape()[d]);
  }
  frame.require(same_shape(target.sizes(), expected),
                "target has shape {}, expected {} for log_probs of shape {}",
                format_shape(target.sizes()), format_shape(expected), format_shape(x.sizes()));
  if (frame.has(arg::weight)) {
    tn_tensor& weight = operand(frame, arg::weight);
    frame.require(weight.ndim() == 1 && weight.shape()[0] == x.shape()[channel],
                  "weight has shape {}, expected ({})", format_shape(weight.sizes()),
                  x.shape()[channel]);
    if (weight.dtype() != x.dtype()) frame.cast(arg::weight, x.dtype());
  }
  require_reduction(frame, frame.str(arg::reduction));
}

// The targets' weights (0 if ignored) and their classes, with ignored ones replaced; both have a channel of 1.
struct Picks {
  Tensor weights, index;
  int64_t channel;
};
Picks pick(const Tensor& target, const Tensor& weight, const Tensor& like, int64_t ignore) {
  const int64_t channel = like.ndim() == 1 ? 0 : 1;
  const Tensor kept = target != ignore, index = where(kept, target, 0).to(DType::I64);
  const Tensor each =
      weight.defined()
          ? reshape(index_select(weight.to(like.dtype()), 0, reshape(index, index.numel())),
                    index.shape())
          : ones(index.shape(), like);
  return {unsqueeze(where(kept, each, 0), channel), unsqueeze(index, channel), channel};
}

// A vector with one element for each class, shaped to broadcast with x.
Tensor along(int64_t channel, const Tensor& each, const Tensor& x) {
  std::vector<int64_t> shape(x.ndim(), 1);
  shape[channel] = each.numel();
  return reshape(each, shape);
}

// Cross entropy against probabilities: −Σ t·w·ln p, the mean over all targets.
Tensor against_probabilities(const CompositeArgs& in, const Tensor& log_probs, Tensor target,
                             int64_t channel) {
  using arg = tenon::arg::cross_entropy;
  const double smoothing = in.real(arg::smoothing);
  const auto classes = static_cast<double>(log_probs.shape(channel));
  if (smoothing > 0) target = target * (1 - smoothing) + smoothing / classes;
  Tensor terms = log_probs * target;
  if (in.has(arg::weight)) terms = terms * along(channel, in.tensor(arg::weight), log_probs);
  const std::string_view reduction = in.str(arg::reduction);
  if (reduction == "none") return -sum(terms, channel);
  if (reduction == "sum") return -sum(terms);
  return sum(terms) / (-static_cast<double>(log_probs.numel()) / classes);
}

// Label smoothing, Szegedy et al. 2016: the target's class gets 1−s, and every class gets an extra s/C.
Tensor smoothed(const CompositeArgs& in, const Tensor& log_probs, const Tensor& target,
                int64_t channel) {
  using arg = tenon::arg::cross_entropy;
  const Tensor weight = in.tensor(arg::weight);
  const std::string_view reduction = in.str(arg::reduction);
  const double smoothing = in.real(arg::smoothing);
  const auto sharp = nll_loss(log_probs, target, weight, reduction, in.integer(arg::ignore_index));
  Tensor terms = log_probs;
  if (weight.defined()) terms = terms * along(channel, weight, log_probs);
  Tensor even = where(target == in.integer(arg::ignore_index), 0, -sum(terms, channel));
  if (reduction != "none") even = sum(even);
  if (reduction == "mean") even = even / sharp.total_weight;
  return sharp.loss * (1 - smoothing) +
         even * (smoothing / static_cast<double>(log_probs.shape(channel)));
}

// The target has the shape of the logits without the classes, the weight one element for each class.
void require_classes(const Frame& frame, const Tensor& logits, const Tensor& target,
                     const Tensor& weight, int64_t channel) {
  Dims expected;
  for (int64_t d = 0; d < logits.ndim(); ++d)
    if (d != channel) expected.push(logits.shape(d));
  frame.require(std::ranges::equal(target.shape(), expected),
                "target has shape {}, expected {} for logits of shape {}",
                format_shape(target.shape()), format_shape(expected), format_shape(logits.shape()));
  if (!weight.defined()) return;
  frame.require(weight.ndim() == 1 && weight.numel() == logits.shape(channel),
                "weight has shape {}, expected ({})", format_shape(weight.shape()),
                logits.shape(channel));
}

// Cross entropy against classes, row by row of the logits; the mean is weighted.
Tensor of_rows(const CompositeArgs& in, const Tensor& logits, const Tensor& target,
               int64_t channel) {
  using arg = tenon::arg::cross_entropy;
  std::vector<int64_t> last;
  for (int64_t d = 0; d < logits.ndim(); ++d)
    if (d != channel) last.push_back(d);
  last.push_back(channel);
  const Tensor rows = channel + 1 == logits.ndim() ? logits : permute(logits, last);
  const std::string_view reduction = in.str(arg::reduction);
  const Tensor loss =
      softmax_cross_entropy(
          rows.ndim() == 2 ? rows : reshape(rows, {target.numel(), logits.shape(channel)}),
          target.ndim() == 1 ? target : reshape(target, {target.numel()}), in.tensor(arg::weight),
          reduction, in.integer(arg::ignore_index))
          .loss;
  return reduction == "none" && target.ndim() != 1 ? reshape(loss, target.shape()) : loss;
}

}  // namespace

TN_OP(nll_loss) = {
    .schema =
        "(Tensor log_probs, Tensor target, Tensor? weight=none, str reduction=\"mean\", int "
        "ignore_index=-100) -> Tensor loss, Tensor total_weight",
    .gives = "Minus the log probability of the target class.",
    .example = "tenon.nll_loss(t([[-1., -2.]]), t([1])).loss",
    .autocast = "f32",
    .rule = &rule::nll_loss,
    .gradient = &gradient::nll_loss,
    .decompose = &decomposition::nll_loss,
};

TN_RULE(
    nll_loss, nll_loss,
    {.dtypes = "floating; the target is an integer",
     .shapes =
         "log_probs (N, C, …), target (N, …); the loss is rank 0, or the target's with reduction "
         "\"none\""}) {
  check_nll<arg>(frame);
  const tn_dtype dtype = frame.tensor(arg::log_probs).dtype();
  frame.result(arg::result::loss, dtype,
               frame.str(arg::reduction) == "none" ? frame.tensor(arg::target).sizes()
                                                   : std::span<const int64_t>{});
  frame.result(arg::result::total_weight, dtype, std::span<const int64_t>{});
}

// −w[t]·x[t]: −w[t]·g at the target, divided by the total weight for the mean
TN_GRADIENT(nll_loss, {.always = in_(arg::log_probs) | in_(arg::target) | in_(arg::weight) |
                                 out_(arg::result::total_weight)}) {
  if (!c.grad(arg::result::loss).defined() || !c.needs(arg::log_probs)) return;
  c.set(arg::log_probs,
        nll_loss_backward(c.grad(arg::result::loss), c.in(arg::log_probs), c.in(arg::target),
                          c.in(arg::weight), c.out(arg::result::total_weight),
                          c.str(arg::reduction), c.integer(arg::ignore_index)));
}

// −w[t]·x[t]; the mean is weighted
TN_DECOMPOSE(nll_loss) {
  const Tensor x = in.tensor(arg::log_probs);
  const Picks picks =
      pick(in.tensor(arg::target), in.tensor(arg::weight), x, in.integer(arg::ignore_index));
  const Tensor terms = -(gather(x, picks.channel, picks.index) * picks.weights);
  out[arg::result::total_weight] = sum(picks.weights);
  const std::string_view reduction = in.str(arg::reduction);
  if (reduction == "none")
    out[arg::result::loss] = squeeze(terms, picks.channel);
  else
    out[arg::result::loss] =
        reduction == "sum" ? sum(terms) : sum(terms) / out[arg::result::total_weight];
}

TN_OP(nll_loss_backward) = {
    .schema =
        "(Tensor g, Tensor log_probs, Tensor target, Tensor? weight, Tensor total_weight, str "
        "reduction=\"mean\", int ignore_index=-100) -> Tensor",
    .gives = "The gradient of nll_loss.",
    .example = "tenon.nll_loss_backward(t(1.), t([[-1., -2.]]), t([1]), None, t(1.))",
    .linear = "g",
    .rule = &rule::nll_loss_backward,
    .gradient = &gradient::nll_loss_backward,
    .decompose = &decomposition::nll_loss_backward,
};

TN_RULE(nll_loss_backward, nll_loss_backward,
        {.dtypes = "floating; the result has log_probs'", .shapes = "log_probs'"}) {
  check_nll<arg>(frame);
  const tn_dtype dtype = frame.tensor(arg::log_probs).dtype();
  const auto expected = frame.str(arg::reduction) == "none" ? frame.tensor(arg::target).sizes()
                                                            : std::span<const int64_t>{};
  operand(frame, arg::g);
  require_shape(frame, arg::g, expected);
  frame.require(operand(frame, arg::total_weight).numel == 1, "total_weight must hold one element");
  frame.cast(arg::g, dtype);
  frame.cast(arg::total_weight, dtype);
  frame.result(0, dtype, frame.tensor(arg::log_probs).sizes());
}

// linear in g: its adjoint is the loss
TN_GRADIENT(nll_loss_backward, {.always = in_(arg::target) | in_(arg::weight)}) {
  if (c.needs(arg::g))
    c.set(arg::g, nll_loss(c.grad(), c.in(arg::target), c.in(arg::weight), c.str(arg::reduction),
                           c.integer(arg::ignore_index))
                      .loss);
}

// −w[t]·g at the target, 0 elsewhere
TN_DECOMPOSE(nll_loss_backward) {
  const Tensor x = in.tensor(arg::log_probs);
  const Picks picks =
      pick(in.tensor(arg::target), in.tensor(arg::weight), x, in.integer(arg::ignore_index));
  Tensor g = in.tensor(arg::g).to(x.dtype());
  const std::string_view reduction = in.str(arg::reduction);
  if (reduction == "mean") g = g / in.tensor(arg::total_weight);
  if (reduction == "none") g = unsqueeze(g, picks.channel);
  out[0] = scatter(zeros(x.shape(), x), picks.channel, picks.index, -(picks.weights * g));
}

TN_OP(softmax_cross_entropy) = {
    .schema =
        "(Tensor logits, Tensor target, Tensor? weight=none, str reduction=\"mean\", int "
        "ignore_index=-100) -> Tensor loss, Tensor counted, Tensor lse",
    .gives =
        "Minus the log probability of each row's class under softmax, times its weight, or their "
        "mean or sum; also the weights that count and the logarithm of each row's sum of "
        "exponentials.",
    .example = "tenon.softmax_cross_entropy(t([[0., 0.]]), t([1])).loss",
    .rule = &rule::softmax_cross_entropy,
    .gradient = &gradient::softmax_cross_entropy,
    .decompose = &decomposition::softmax_cross_entropy,
};

TN_RULE(softmax_cross_entropy, softmax_cross_entropy,
        {.dtypes = "real and bool; f32 for halves, integers and bool; the target is an integer",
         .shapes = "logits (N, C), target (N) and weight (C) give counted and lse (N); the loss is "
                   "one number, with reduction \"none\" one for each row"}) {
  const tn_tensor& x = float_operand(frame, arg::logits);
  const tn_tensor& target = index_operand(frame, arg::target);
  frame.require(x.ndim() == 2, "logits must be (N, C), got rank {}", x.ndim());
  require_shape(frame, arg::target, x.sizes().first(1));
  const tn_dtype dtype = statistic(fractional(x.dtype()));
  parameter(frame, arg::weight, x.sizes().last(1), dtype);
  const std::string_view reduction = frame.str(arg::reduction);
  require_reduction(frame, reduction);
  frame.result(arg::result::loss, dtype,
               reduction == "none" ? target.sizes() : std::span<const int64_t>{});
  frame.result(arg::result::counted, dtype, target.sizes());
  frame.result(arg::result::lse, dtype, target.sizes());
}

// with p = e^(x−lse): the loss gives w·(p − 1 at the class), divided by Σw for the mean; lse gives p
TN_GRADIENT(softmax_cross_entropy,
            {.always = in_(arg::logits) | in_(arg::target) | out_(arg::result::counted) |
                       out_(arg::result::lse)}) {
  if (!c.needs(arg::logits)) return;
  const Tensor x = c.in(arg::logits), lse = c.out(arg::result::lse);
  Tensor gx;
  if (Tensor g = c.grad(arg::result::loss); g.defined()) {
    const Tensor counted = c.out(arg::result::counted);
    if (c.str(arg::reduction) == "mean") g = g / sum(counted);
    gx = softmax_cross_entropy_backward(g, x, c.in(arg::target), counted, lse);
  }
  if (const Tensor g = c.grad(arg::result::lse); g.defined()) {
    const Tensor through = (unsqueeze(g, 1) * exp(wide(x) - unsqueeze(lse, 1))).to(x.dtype());
    gx = gx.defined() ? gx + through : through;
  }
  if (gx.defined()) c.set(arg::logits, gx);
}

// Means and sums come from the rows' losses, for which there may be a kernel.
TN_DECOMPOSE(softmax_cross_entropy) {
  const std::string_view reduction = in.str(arg::reduction);
  if (reduction != "none") {
    const auto each =
        softmax_cross_entropy(in.tensor(arg::logits), in.tensor(arg::target),
                              in.tensor(arg::weight), "none", in.integer(arg::ignore_index));
    const Tensor total = sum(each.loss);
    out[arg::result::loss] = reduction == "sum" ? total : total / sum(each.counted);
    out[arg::result::counted] = each.counted;
    out[arg::result::lse] = each.lse;
    return;
  }
  const Tensor x = wide(in.tensor(arg::logits));
  const Picks picks =
      pick(in.tensor(arg::target), in.tensor(arg::weight), x, in.integer(arg::ignore_index));
  const Tensor lse = logsumexp(x, 1, true);
  out[arg::result::loss] = squeeze((lse - gather(x, 1, picks.index)) * picks.weights, 1);
  out[arg::result::counted] = squeeze(picks.weights, 1);
  out[arg::result::lse] = squeeze(lse, 1);
}

TN_OP(softmax_cross_entropy_backward) = {
    .schema = "(Tensor g, Tensor logits, Tensor target, Tensor counted, Tensor lse) -> Tensor",
    .gives = "The gradient of the loss of softmax_cross_entropy.",
    .example =
        "tenon.softmax_cross_entropy_backward(t([1.]), t([[0., 0.]]), t([1]), t([1.]), "
        "t([0.6931]))",
    .rule = &rule::softmax_cross_entropy_backward,
    .through = true,
    .decompose = &decomposition::softmax_cross_entropy_backward,
};

TN_RULE(softmax_cross_entropy_backward, softmax_cross_entropy_backward,
        {.dtypes = "floating; the result has logits'",
         .shapes = "g (N) or one number, logits (N, C), target, counted and lse (N) give (N, C)"}) {
  const tn_tensor& x = operand(frame, arg::logits, TN_MASK_FLOAT, "a floating dtype");
  frame.require(x.ndim() == 2, "logits must be (N, C), got rank {}", x.ndim());
  index_operand(frame, arg::target);
  require_shape(frame, arg::target, x.sizes().first(1));
  const auto rows = x.sizes().first(1);
  const bool one = operand(frame, arg::g).ndim() == 0;
  parameter(frame, arg::g, one ? std::span<const int64_t>{} : rows, statistic(x.dtype()));
  for (const uint32_t i : {arg::counted, arg::lse}) parameter(frame, i, rows, statistic(x.dtype()));
  frame.result(0, x.dtype(), x.sizes());
}

// g·w·e^(x−lse), less g·w at the class; ignored rows have 0, whatever x is
TN_DECOMPOSE(softmax_cross_entropy_backward) {
  const Tensor logits = in.tensor(arg::logits), x = wide(logits), counted = in.tensor(arg::counted);
  const Tensor counts = unsqueeze(counted != 0, 1);
  const Tensor scale = unsqueeze(in.tensor(arg::g) * counted, 1);
  const Tensor terms = exp(x - unsqueeze(in.tensor(arg::lse), 1)) * scale;
  const Tensor target = where(counts, unsqueeze(in.tensor(arg::target), 1), 0);
  const Tensor less = scatter(zeros(x.shape(), x), 1, target.to(DType::I64), scale);
  out[0] = where(counts, terms - less, 0).to(logits.dtype());
}

TN_OP(cross_entropy) = {
    .schema =
        "(Tensor logits, Tensor target, Tensor? weight=none, str reduction=\"mean\", int "
        "ignore_index=-100, float smoothing=0.0) -> Tensor",
    .gives = "nll_loss of log_softmax(logits), with label smoothing.",
    .example = "tenon.cross_entropy(t([[0., 0.]]), t([1]))",
    .dtypes =
        "real and bool; f32 for halves, integers and bool; an integer target, or one like logits",
    .shapes =
        "logits (C,), (N, C) or (N, C, …); target without C, or probabilities in the shape of "
        "logits. One number, or with reduction \"none\" the shape of logits without C",
    .through = true,
    .decompose = &decomposition::cross_entropy,
};

TN_DECOMPOSE(cross_entropy) {
  const Tensor logits = in.tensor(arg::logits), target = in.tensor(arg::target);
  const double smoothing = in.real(arg::smoothing);
  const Frame& frame = in.frame();
  frame.require(logits.ndim() >= 1, "logits must be (C) or (N, C, …), got rank 0");
  frame.require(smoothing >= 0 && smoothing <= 1, "smoothing must be between 0 and 1, got {}",
                smoothing);
  require_reduction(frame, in.str(arg::reduction));
  const int64_t channel = logits.ndim() == 1 ? 0 : 1;
  if (is_floating(target.dtype())) {
    frame.require(std::ranges::equal(logits.shape(), target.shape()),
                  "probabilities have shape {}, logits {}", format_shape(target.shape()),
                  format_shape(logits.shape()));
    out[0] = against_probabilities(in, log_softmax(wide(logits), channel), target, channel);
  } else {
    require_classes(frame, logits, target, in.tensor(arg::weight), channel);
    out[0] = smoothing > 0 ? smoothed(in, log_softmax(wide(logits), channel), target, channel)
                           : of_rows(in, logits, target, channel);
  }
}

TN_OP(mse_loss) = {
    .schema = "(Tensor x, Tensor target, str reduction=\"mean\") -> Tensor",
    .gives = "(x - target)².",
    .example = "tenon.mse_loss(t([1., 3.]), t([1., 1.]))",
    .autocast = "f32",
    .rule = &rule::mse_loss,
    .gradient = &gradient::mse_loss,
    .decompose = &decomposition::mse_loss,
};

TN_RULE(
    mse_loss, mse_loss,
    {.dtypes = "numeric, promoted; integers give f32",
     .shapes =
         "x and target broadcast together. One number, or with reduction \"none\" that shape"}) {
  pair_loss(frame, fractional(common_number(frame, arg::x, arg::target)));
}

// d(d²) = 2·d
TN_GRADIENT(mse_loss, {.always = in_(arg::x) | in_(arg::target)}) { set_pair_gradients(c, {}, 2); }

TN_DECOMPOSE(mse_loss) {
  const Tensor d = fraction(in.tensor(arg::x)) - fraction(in.tensor(arg::target));
  out[0] = reduced(in, square(d), in.str(arg::reduction));
}

TN_OP(l1_loss) = {
    .schema = "(Tensor x, Tensor target, str reduction=\"mean\") -> Tensor",
    .gives = "|x - target|.",
    .example = "tenon.l1_loss(t([1., 3.]), t([1., 1.]))",
    .autocast = "f32",
    .rule = &rule::l1_loss,
    .through = true,
    .decompose = &decomposition::l1_loss,
};

TN_RULE(
    l1_loss, l1_loss,
    {.dtypes = "numeric, promoted; integers give f32, complex numbers real ones",
     .shapes =
         "x and target broadcast together. One number, or with reduction \"none\" that shape"}) {
  const tn_dtype dtype = fractional(common_number(frame, arg::x, arg::target));
  pair_loss(frame, dtype, real_part(dtype));
}

TN_DECOMPOSE(l1_loss) {
  const Tensor d = fraction(in.tensor(arg::x)) - fraction(in.tensor(arg::target));
  out[0] = reduced(in, abs(d), in.str(arg::reduction));
}

TN_OP(smooth_l1_loss) = {
    .schema = "(Tensor x, Tensor target, str reduction=\"mean\", float beta=1.0) -> Tensor",
    .gives = "Quadratic below beta, linear above.",
    .example = "tenon.smooth_l1_loss(t([1., 3.]), t([1., 1.]))",
    .autocast = "f32",
    .rule = &rule::smooth_l1_loss,
    .gradient = &gradient::smooth_l1_loss,
    .decompose = &decomposition::smooth_l1_loss,
};

TN_RULE(
    smooth_l1_loss, smooth_l1_loss,
    {.dtypes = "real, promoted; integers give f32",
     .shapes =
         "x and target broadcast together. One number, or with reduction \"none\" that shape"}) {
  const double beta = frame.real(arg::beta);
  frame.require(beta >= 0, "beta must not be negative, got {}", beta);
  pair_loss(frame, real_pair(frame));
}

// d/β up to |d| = β, beyond it the sign of d
TN_GRADIENT(smooth_l1_loss, {.always = in_(arg::x) | in_(arg::target)}) {
  const double beta = c.real(arg::beta);
  if (beta > 0) return set_pair_gradients(c, beta, 1 / beta);
  Tensor g = c.grad() * sign(c.in(arg::x)-c.in(arg::target));
  if (c.str(arg::reduction) == "mean") g = g / static_cast<double>(g.numel());
  if (c.needs(arg::x)) c.set(arg::x, g);
  if (c.needs(arg::target)) c.set(arg::target, -g);
}

// ½d²/β up to |d| = β, beyond it |d| − ½β; Girshick 2015
TN_DECOMPOSE(smooth_l1_loss) {
  const Tensor d = fraction(in.tensor(arg::x)) - fraction(in.tensor(arg::target)), size = abs(d);
  const double beta = in.real(arg::beta);
  const Tensor loss =
      beta == 0 ? size : where(size < beta, square(d) * (0.5 / beta), size - 0.5 * beta);
  out[0] = reduced(in, loss, in.str(arg::reduction));
}

TN_OP(huber_loss) = {
    .schema = "(Tensor x, Tensor target, str reduction=\"mean\", float delta=1.0) -> Tensor",
    .gives = "Half of the square up to delta, linear with slope delta above.",
    .example = "tenon.huber_loss(t([1., 3.]), t([1., 1.]))",
    .autocast = "f32",
    .rule = &rule::huber_loss,
    .gradient = &gradient::huber_loss,
    .decompose = &decomposition::huber_loss,
};

TN_RULE(
    huber_loss, huber_loss,
    {.dtypes = "real, promoted; integers give f32",
     .shapes =
         "x and target broadcast together. One number, or with reduction \"none\" that shape"}) {
  const double delta = frame.real(arg::delta);
  frame.require(delta > 0, "delta must be positive, got {}", delta);
  pair_loss(frame, real_pair(frame));
}

// d within ±δ
TN_GRADIENT(huber_loss, {.always = in_(arg::x) | in_(arg::target)}) {
  set_pair_gradients(c, c.real(arg::delta), 1);
}

// ½d² up to |d| = δ, beyond it δ·(|d| − ½δ); Huber 1964
TN_DECOMPOSE(huber_loss) {
  const Tensor d = fraction(in.tensor(arg::x)) - fraction(in.tensor(arg::target)), size = abs(d);
  const double delta = in.real(arg::delta);
  const Tensor loss = where(size <= delta, square(d) * 0.5, (size - 0.5 * delta) * delta);
  out[0] = reduced(in, loss, in.str(arg::reduction));
}

TN_OP(huber_loss_backward) = {
    .schema = "(Tensor g, Tensor x, Tensor target, float? delta=none, float scale=1.0) -> Tensor",
    .gives =
        "scale·g·(x - target), with the difference limited to ±delta if that is given. The "
        "gradients of mse_loss, smooth_l1_loss and huber_loss use it.",
    .example = "tenon.huber_loss_backward(t(1.), t([1., 3.]), t([1., 1.]))",
    .rule = &rule::huber_loss_backward,
    .through = true,
    .decompose = &decomposition::huber_loss_backward,
};

TN_RULE(huber_loss_backward, huber_loss_backward,
        {.dtypes = "numeric, promoted; integers give f32; real if delta is given",
         .shapes = "broadcast",
         .elementwise = true}) {
  for (const uint32_t i : {arg::g, arg::x, arg::target})
    operand(frame, i, kNumbers, "a numeric dtype");
  const tn_dtype dtype = common_dtype(frame, std::array{arg::g, arg::x, arg::target});
  if (dtype == TN_DTYPE_BOOL) refuse(frame, dtype, "a numeric dtype");
  if (is_complex(dtype) && frame.has(arg::delta)) refuse(frame, dtype, "a real dtype");
  binary(frame, fractional(dtype));
}

TN_DECOMPOSE(huber_loss_backward) {
  Tensor d = conj_of(fraction(in.tensor(arg::x)) - fraction(in.tensor(arg::target)));
  const double scale = in.real(arg::scale);
  if (in.has(arg::delta)) d = clamp(d, -in.real(arg::delta), in.real(arg::delta));
  d = in.tensor(arg::g) * d;
  out[0] = scale == 1 ? d : d * scale;
}

TN_OP(bce_loss) = {
    .schema = "(Tensor x, Tensor target, Tensor? weight=none, str reduction=\"mean\") -> Tensor",
    .gives = "Binary cross entropy of probabilities.",
    .example = "tenon.bce_loss(t([0.5]), t([1.]))",
    .autocast = "f32",
    .rule = &rule::bce_loss,
    .gradient = &gradient::bce_loss,
    .decompose = &decomposition::bce_loss,
};

TN_RULE(
    bce_loss, bce_loss,
    {.dtypes = "real and bool; integers and bool give f32",
     .shapes =
         "x and target broadcast together. One number, or with reduction \"none\" that shape"}) {
  Dims terms;
  for (const uint32_t i : {arg::x, arg::target, arg::weight})
    if (frame.has(i))
      terms =
          broadcast_shapes(frame, Dims(terms),
                           operand(frame, i, TN_MASK_REAL | TN_MASK_BOOL, "a real dtype").sizes());
  const std::string_view reduction = frame.str(arg::reduction);
  require_reduction(frame, reduction);
  const tn_dtype dtype =
      fractional(common_dtype(frame, std::array{arg::x, arg::target, arg::weight}));
  frame.cast_all(dtype);
  frame.result(0, dtype,
               reduction == "none" ? std::span<const int64_t>(terms) : std::span<const int64_t>{});
}

// (x − t)/(x·(1 − x)), with a denominator of at least 1e-12, so that a probability of 0 or 1 that is wrong still has a slope; for the
// target ln((1 − x)/x), where nothing is clamped
TN_GRADIENT(bce_loss, {.always = in_(arg::x) | in_(arg::target) | in_(arg::weight)}) {
  const Tensor x = c.in(arg::x), target = c.in(arg::target), weight = c.in(arg::weight);
  Tensor g = c.grad();
  if (c.str(arg::reduction) == "mean") {
    Dims terms;
    broadcast(c.shape(arg::x), c.shape(arg::target), terms);
    if (weight.defined()) broadcast(Dims(terms), c.shape(arg::weight), terms);
    g = g / static_cast<double>(product(terms));
  }
  if (c.needs(arg::weight)) c.set(arg::weight, g * bce_loss(x, target, {}, "none"));
  if (weight.defined()) g = g * weight;
  if (c.needs(arg::x)) c.set(arg::x, g * ((x - target) / clamp(x * (1 - x), 1e-12)));
  if (c.needs(arg::target)) c.set(arg::target, g * (log_rest(x) - log(x)));
}

// −t·ln x − (1−t)·ln(1−x), logarithms clamped to at least −100
TN_DECOMPOSE(bce_loss) {
  const Tensor x = in.tensor(arg::x), target = in.tensor(arg::target);
  Tensor loss = -(target * clamp(log(x), -100.0) + (1 - target) * clamp(log_rest(x), -100.0));
  if (in.has(arg::weight)) loss = loss * in.tensor(arg::weight);
  out[0] = reduced(in, loss, in.str(arg::reduction));
}

TN_OP(bce_with_logits_loss) = {
    .schema =
        "(Tensor x, Tensor target, Tensor? weight=none, Tensor? pos_weight=none, str "
        "reduction=\"mean\") -> Tensor",
    .gives = "Binary cross entropy of logits, without overflow.",
    .example = "tenon.bce_with_logits_loss(t([0.]), t([1.]))",
    .autocast = "f32",
    .dtypes = "real; integers give f32",
    .shapes = "x and target broadcast together. One number, or with reduction \"none\" that shape",
    .through = true,
    .decompose = &decomposition::bce_with_logits_loss,
};

// (1−t)·x + (1 + (w−1)·t)·ln(1+e^−x), a form that cannot overflow
TN_DECOMPOSE(bce_with_logits_loss) {
  const Tensor x = in.tensor(arg::x), target = in.tensor(arg::target);
  const Tensor tail = softplus(-x, 1.0, 40.0);
  Tensor loss =
      (1 - target) * x +
      (in.has(arg::pos_weight) ? ((in.tensor(arg::pos_weight) - 1) * target + 1) * tail : tail);
  if (in.has(arg::weight)) loss = loss * in.tensor(arg::weight);
  out[0] = reduced(in, loss, in.str(arg::reduction));
}

TN_OP(kl_div_loss) = {
    .schema = "(Tensor x, Tensor target, str reduction=\"mean\", bool log_target=false) -> Tensor",
    .gives = "Kullback-Leibler divergence of target from exp(x).",
    .example = "tenon.kl_div_loss(tenon.log(t([[0.5, 0.5]])), t([[0.5, 0.5]]), 'sum')",
    .autocast = "f32",
    .dtypes = "real and bool; integers and bool give f32",
    .shapes = "x and target broadcast together. One number, or with reduction \"none\" that shape",
    .through = true,
    .decompose = &decomposition::kl_div_loss,
};

// t·(ln t − x), 0 if t = 0; x is a logarithm, and so is t on request
TN_DECOMPOSE(kl_div_loss) {
  const Tensor x = in.tensor(arg::x), target = in.tensor(arg::target);
  const Tensor loss = in.flag(arg::log_target) ? exp(target) * (target - x)
                                               : target * (log(where(target > 0, target, 1)) - x);
  out[0] = reduced(in, loss, in.str(arg::reduction));
}
