// L-BFGS: quasi-Newton steps from the last gradients (Nocedal & Wright 2006, algorithms 7.4 and 7.5).
#ifndef TENON_OPTIM_LBFGS_HPP
#define TENON_OPTIM_LBFGS_HPP

#include <deque>
#include <functional>

#include "tenon/optim/detail/strong_wolfe.hpp"
#include "tenon/optim/optimizer.hpp"

namespace tenon::optim {

struct LBFGSOptions {
  double lr = 1;
  int64_t max_iter = 20;  // of a step
  std::optional<int64_t> max_eval =
      {};  // calls of the closure in a step; 5/4 max_iter where absent
  double tolerance_grad = 1e-7;
  double tolerance_change = 1e-9;
  int64_t history_size = 100;
  std::string line_search_fn = {};  // "strong_wolfe", or none: each iteration goes lr far
};

// Takes a closure that computes the loss and its gradients anew, which it calls several times in a step:
//
//   optimizer.step([&] {
//     optimizer.zero_grad();
//     const Tensor loss = mse_loss(net(x), y);
//     loss.backward();
//     return loss;
//   });
//
// All parameters are one group, real, and of one dtype and device.
class LBFGS : public Optimizer {
 public:
  using Closure = std::function<Tensor()>;

  explicit LBFGS(std::vector<Tensor> params, LBFGSOptions options = {})
      : params_(std::move(params)), options_(std::move(options)) {
    nn::detail::check_least(kOwner, "lr", options_.lr, 0);
    if (!options_.line_search_fn.empty())
      nn::detail::check_one_of(kOwner, "line_search_fn", options_.line_search_fn, {"strong_wolfe"});
    if (params_.empty()) nn::detail::refuse(kOwner, "there are no parameters");
    for (const Tensor& param : params_)
      if (!param.defined() || !param.is_leaf() || !is_floating(param.dtype()) ||
          param.dtype() != params_[0].dtype() || param.device() != params_[0].device())
        nn::detail::refuse(kOwner, "parameters must be real leaf tensors of one dtype and device");
  }

  // The loss before the step.
  Tensor step(const Closure& closure);
  void step() override {
    throw Error(TN_FAILED_PRECONDITION,
                "[LBFGS] step(closure) needs a function that computes the loss and its gradients, "
                "and returns the loss");
  }
  void zero_grad() override {
    for (Tensor& param : params_) param.zero_grad();
  }
  std::vector<Tensor> parameters() const override { return params_; }
  size_t group_count() const override { return 1; }
  double lr(size_t group = 0) const override { return check_group(group), options_.lr; }
  void set_lr(double lr) override { options_.lr = lr; }
  void set_lr(size_t group, double lr) override { check_group(group), options_.lr = lr; }

  StateDict state_dict() const override;
  void load_state_dict(const StateDict& dict) override;
  void visit(StepVisitor&) override {
    throw Error(
        TN_UNIMPLEMENTED,
        "[LBFGS] how often a step calls its closure depends on values: it cannot be recorded");
  }

 private:
  static constexpr const char* kOwner = "LBFGS";
  // A change of the place and what the gradient changed by.
  struct Change {
    Tensor gradient, place;
    double ro;
  };
  struct Memory {
    int64_t func_evals = 0, n_iter = 0;
    std::deque<Change> changes;
    double h_diag = 1, t = 0;
    Tensor d, prev_flat_grad;
  };

  static void check_group(size_t group) {
    if (group > 0)
      throw Error(TN_OUT_OF_RANGE, "[optim] there is no group " + std::to_string(group) + " of 1");
  }
  // "state.0.ro.3"
  static std::string key(const char* name, size_t i) {
    std::string text = "state.0.";
    return text.append(name).append(".").append(std::to_string(i));
  }
  static double dot(const Tensor& a, const Tensor& b) { return (a * b).sum().item<double>(); }
  static double largest(const Tensor& x) { return x.abs().max().item<double>(); }

  Tensor flat_gradient() const {
    std::vector<Tensor> parts;
    for (const Tensor& param : params_) {
      const Tensor grad = param.grad();
      parts.push_back((grad.defined() ? grad : zeros_like(param)).flatten());
    }
    return concat(parts, 0);
  }
  // Calls the closure and counts it.
  double evaluate(const Closure& closure, Tensor& loss) {
    EnableGrad guard;
    loss = closure();
    ++memory_.func_evals;
    if (!loss.defined() || loss.numel() != 1)
      nn::detail::refuse(kOwner, "the closure must return the loss, one number");
    return loss.item<double>();
  }
  void move(const std::vector<Tensor>& from, double length, const Tensor& direction) {
    int64_t at = 0;
    for (size_t i = 0; i < params_.size(); ++i) {
      const int64_t count = params_[i].numel();
      const Tensor part = direction.narrow(0, at, count).reshape(params_[i].shape());
      params_[i].copy_(from[i] + part * length);
      at += count;
    }
  }
  Tensor direction(const Tensor& gradient);
  void remember(const Tensor& gradient);

  std::vector<Tensor> params_;
  LBFGSOptions options_;
  Memory memory_;
};

// Keeps the last change, unless it says nothing of the curvature.
inline void LBFGS::remember(const Tensor& gradient) {
  const Tensor change = gradient - memory_.prev_flat_grad, place = memory_.d * memory_.t;
  const double curvature = dot(change, place);
  if (curvature <= 1e-10) return;
  if (static_cast<int64_t>(memory_.changes.size()) >= options_.history_size)
    memory_.changes.pop_front();
  memory_.changes.push_back({change, place, 1 / curvature});
  memory_.h_diag = curvature / dot(change, change);
}

// The two loops over the kept changes; the first time the gradient alone.
inline Tensor LBFGS::direction(const Tensor& gradient) {
  if (memory_.n_iter == 1) {
    memory_.changes.clear();
    memory_.h_diag = 1;
    return -gradient;
  }
  remember(gradient);
  const auto& kept = memory_.changes;
  std::vector<double> shares(kept.size());
  Tensor q = -gradient;
  for (size_t i = kept.size(); i-- > 0;) {
    shares[i] = dot(kept[i].place, q) * kept[i].ro;
    q = q - kept[i].gradient * shares[i];
  }
  q = q * memory_.h_diag;
  for (size_t i = 0; i < kept.size(); ++i)
    q = q + kept[i].place * (shares[i] - dot(kept[i].gradient, q) * kept[i].ro);
  return q;
}

inline Tensor LBFGS::step(const Closure& closure) {
  NoGrad guard;
  Tensor first, ignored;
  double loss = evaluate(closure, first);
  Tensor gradient = flat_gradient();
  const int64_t most = options_.max_eval.value_or(options_.max_iter * 5 / 4),
                before = memory_.func_evals;
  const auto used = [&] { return memory_.func_evals - before + 1; };
  if (largest(gradient) <= options_.tolerance_grad) return first;
  for (int64_t i = 1; i <= options_.max_iter; ++i) {
    ++memory_.n_iter;
    const Tensor d = direction(gradient);
    const double slope = dot(gradient, d), previous = loss;
    memory_.prev_flat_grad = gradient;
    double t = options_.lr;
    if (memory_.n_iter == 1) t *= std::min(1.0, 1 / gradient.abs().sum().item<double>());
    memory_.d = d, memory_.t = t;
    if (slope > -options_.tolerance_change) break;
    std::vector<Tensor> places;
    for (const Tensor& param : params_) places.push_back(param.detach().clone());
    const auto look = [&](double length) {
      move(places, length, d);
      const double value = evaluate(closure, ignored);
      Tensor found = flat_gradient();
      const double rise = dot(found, d);
      return detail::LinePoint{length, value, rise, std::move(found)};
    };
    if (!options_.line_search_fn.empty()) {
      const int64_t tries = most - used();
      const detail::LinePoint point =
          detail::StrongWolfe(look, {0, loss, slope, gradient}, largest(d), tries).find(t);
      t = point.t, loss = point.value, gradient = point.gradient;
      move(places, t, d);
    } else if (i < options_.max_iter) {
      const detail::LinePoint point = look(t);
      loss = point.value, gradient = point.gradient;
    } else {
      move(places, t, d);
    }
    memory_.t = t;
    if (used() >= most || largest(gradient) <= options_.tolerance_grad ||
        largest(d * t) <= options_.tolerance_change ||
        std::abs(loss - previous) < options_.tolerance_change)
      break;
  }
  return first;
}

inline StateDict LBFGS::state_dict() const {
  StateDict dict;
  dict["group.0.lr"] = tensor(options_.lr);
  if (memory_.n_iter == 0) return dict;
  const std::string prefix = "state.0.";
  dict[prefix + "func_evals"] = tensor(memory_.func_evals);
  dict[prefix + "n_iter"] = tensor(memory_.n_iter);
  dict[prefix + "H_diag"] = tensor(memory_.h_diag);
  dict[prefix + "t"] = tensor(memory_.t);
  dict[prefix + "d"] = memory_.d;
  dict[prefix + "prev_flat_grad"] = memory_.prev_flat_grad;
  for (size_t i = 0; i < memory_.changes.size(); ++i) {
    dict[key("old_dirs", i)] = memory_.changes[i].gradient;
    dict[key("old_stps", i)] = memory_.changes[i].place;
    dict[key("ro", i)] = tensor(memory_.changes[i].ro);
  }
  return dict;
}

inline void LBFGS::load_state_dict(const StateDict& dict) {
  size_t used = 0;
  int64_t count = 0;
  for (const Tensor& param : params_) count += param.numel();
  const auto find = [&](const std::string& name) {
    const auto found = dict.find(name);
    if (found == dict.end())
      throw Error(TN_INVALID_ARGUMENT, "[optim] the state has no \"" + name + '"');
    ++used;
    return found->second;
  };
  const auto vector = [&](const std::string& name) {
    const Tensor found = find(name);
    if (found.ndim() != 1 || found.numel() != count)
      throw Error(TN_INVALID_ARGUMENT,
                  "[optim] \"" + name + "\" is not one row of " + std::to_string(count));
    return found.to(params_[0].dtype()).to(params_[0].device());
  };
  const double lr = find("group.0.lr").item<double>();
  Memory memory;
  const std::string prefix = "state.0.";
  if (dict.contains(prefix + "n_iter")) {
    memory.func_evals = find(prefix + "func_evals").item<int64_t>();
    memory.n_iter = find(prefix + "n_iter").item<int64_t>();
    memory.h_diag = find(prefix + "H_diag").item<double>();
    memory.t = find(prefix + "t").item<double>();
    memory.d = vector(prefix + "d");
    memory.prev_flat_grad = vector(prefix + "prev_flat_grad");
    for (size_t i = 0; dict.contains(key("ro", i)); ++i)
      memory.changes.push_back({vector(key("old_dirs", i)), vector(key("old_stps", i)),
                                find(key("ro", i)).item<double>()});
  }
  if (used != dict.size())
    throw Error(TN_INVALID_ARGUMENT, "[optim] the state has " + std::to_string(dict.size() - used) +
                                         " entries that this optimizer does not know");
  options_.lr = lr;
  memory_ = std::move(memory);
}

}  // namespace tenon::optim
#endif
