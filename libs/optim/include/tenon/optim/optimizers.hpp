// SGD, Adam, AdamW, RMSprop and Adagrad: whole lists of parameters in one call.
#ifndef TENON_OPTIM_OPTIMIZERS_HPP
#define TENON_OPTIM_OPTIMIZERS_HPP

#include "tenon/optim/optimizer.hpp"

namespace tenon::optim {

struct SGDOptions {
  double lr = 1e-2;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("momentum", o.momentum), fn("dampening", o.dampening),
        fn("weight_decay", o.weight_decay);
    fn("nesterov", o.nesterov);
  }
};

class SGD : public OptimizerOf<SGD, SGDOptions> {
 public:
  explicit SGD(std::vector<Tensor> params, SGDOptions options = {})
      : OptimizerOf(std::move(params), options) {}
  static std::array<const char*, 1> state_names() { return {"momentum"}; }
  static bool needs_state(const SGDOptions& o, size_t) { return o.momentum != 0; }
  static Tensor first_state(const SGDOptions&, size_t, const Tensor& param) {
    return zeros_like(param);
  }
  void run(const SGDOptions& o, detail::Bucket& b) {
    sgd_step(b.params, b.grads, b.state[0], o.lr, o.momentum, o.dampening, o.weight_decay,
             o.nesterov, b.step == 1);
  }
};

// Decoupled: the weight decay of AdamW (Loshchilov & Hutter 2019).
template <bool Decoupled>
struct AdamOptionsOf {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = Decoupled ? 1e-2 : 0;
  bool amsgrad = false;

  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("beta1", o.beta1), fn("beta2", o.beta2), fn("eps", o.eps),
        fn("weight_decay", o.weight_decay);
    fn("amsgrad", o.amsgrad);
  }
};

using AdamOptions = AdamOptionsOf<false>;
using AdamWOptions = AdamOptionsOf<true>;

namespace detail {
template <bool Decoupled>
class AdamBase : public OptimizerOf<AdamBase<Decoupled>, AdamOptionsOf<Decoupled>> {
 public:
  using Options = AdamOptionsOf<Decoupled>;
  using OptimizerOf<AdamBase<Decoupled>, Options>::OptimizerOf;
  static std::array<const char*, 3> state_names() {
    return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  }
  static bool needs_state(const Options& o, size_t s) { return s < 2 || o.amsgrad; }
  static Tensor first_state(const Options&, size_t, const Tensor& param) {
    return zeros_like(param);
  }
  void run(const Options& o, Bucket& b) {
    adam_step(b.params, b.grads, b.state[0], b.state[1], b.state[2], b.step, o.lr, o.beta1, o.beta2,
              o.eps, o.weight_decay, Decoupled);
  }
};
}  // namespace detail

class Adam : public detail::AdamBase<false> {
 public:
  explicit Adam(std::vector<Tensor> params, AdamOptions options = {})
      : AdamBase(std::move(params), options) {}
};

class AdamW : public detail::AdamBase<true> {
 public:
  explicit AdamW(std::vector<Tensor> params, AdamWOptions options = {})
      : AdamBase(std::move(params), options) {}
};

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;

  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("alpha", o.alpha), fn("eps", o.eps), fn("weight_decay", o.weight_decay),
        fn("momentum", o.momentum);
    fn("centered", o.centered);
  }
};

class RMSprop : public OptimizerOf<RMSprop, RMSpropOptions> {
 public:
  explicit RMSprop(std::vector<Tensor> params, RMSpropOptions options = {})
      : OptimizerOf(std::move(params), options) {}
  static std::array<const char*, 3> state_names() { return {"square_avg", "grad_avg", "momentum"}; }
  static bool needs_state(const RMSpropOptions& o, size_t s) {
    return s == 0 || (s == 1 ? o.centered : o.momentum != 0);
  }
  static Tensor first_state(const RMSpropOptions&, size_t, const Tensor& param) {
    return zeros_like(param);
  }
  void run(const RMSpropOptions& o, detail::Bucket& b) {
    rmsprop_step(b.params, b.grads, b.state[0], b.state[1], b.state[2], o.lr, o.alpha, o.eps,
                 o.weight_decay, o.momentum);
  }
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double eps = 1e-10;
  double weight_decay = 0;
  double initial_sum = 0;

  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("lr_decay", o.lr_decay), fn("eps", o.eps),
        fn("weight_decay", o.weight_decay);
    fn("initial_sum", o.initial_sum);
  }
};

class Adagrad : public OptimizerOf<Adagrad, AdagradOptions> {
 public:
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions options = {})
      : OptimizerOf(std::move(params), options) {}
  static std::array<const char*, 1> state_names() { return {"sum"}; }
  static bool needs_state(const AdagradOptions&, size_t) { return true; }
  static Tensor first_state(const AdagradOptions& o, size_t, const Tensor& param) {
    return full_like(param, o.initial_sum);
  }
  void run(const AdagradOptions& o, detail::Bucket& b) {
    adagrad_step(b.params, b.grads, b.state[0], b.step, o.lr, o.lr_decay, o.eps, o.weight_decay);
  }
};

}  // namespace tenon::optim
#endif
