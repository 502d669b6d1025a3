// SGD, Adam, AdamW, RMSprop and Adagrad. Each updates whole lists of parameters in one call.
#ifndef TENON_OPTIM_OPTIMIZERS_HPP
#define TENON_OPTIM_OPTIMIZERS_HPP

#include "tenon/optim/optimizer.hpp"

namespace tenon::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  static constexpr const char* kOwner = "SGD";
  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("momentum", o.momentum), fn("dampening", o.dampening);
    fn("weight_decay", o.weight_decay), fn("nesterov", o.nesterov);
  }
  void check() const {
    if (nesterov && (momentum == 0 || dampening != 0))
      nn::detail::refuse(kOwner, "nesterov needs a momentum and no dampening");
  }
};

class SGD : public OptimizerOf<SGD, SGDOptions> {
 public:
  explicit SGD(std::vector<Tensor> params, SGDOptions options = {})
      : OptimizerOf(std::move(params), options) {}
  static std::array<const char*, 1> state_names() { return {"momentum_buffer"}; }
  static bool needs_state(const SGDOptions& o, size_t) { return o.momentum != 0; }
  static Tensor first_state(const SGDOptions&, size_t, const Tensor& param) {
    return zeros_like(param);
  }
  void run(const SGDOptions& o, detail::Bucket& b) {
    sgd_step(b.params, b.grads, b.state[0], o.lr, o.momentum, o.dampening, o.weight_decay,
             o.nesterov, b.step == 1);
  }
};

struct AdamOptions {
  double lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;

  static constexpr const char* kOwner = "Adam";
  static constexpr bool kDecoupled = false;
  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("betas", o.betas), fn("eps", o.eps);
    fn("weight_decay", o.weight_decay), fn("amsgrad", o.amsgrad);
  }
  void check() const {}
};

// Weight decay is decoupled from the gradient (Loshchilov & Hutter 2019).
struct AdamWOptions {
  double lr = 1e-3;
  Betas betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;

  static constexpr const char* kOwner = "AdamW";
  static constexpr bool kDecoupled = true;
  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    AdamOptions::each(o, fn);
  }
  void check() const {}
};

namespace detail {
template <class Options>
class AdamBase : public OptimizerOf<AdamBase<Options>, Options> {
 public:
  using OptimizerOf<AdamBase<Options>, Options>::OptimizerOf;
  static std::array<const char*, 3> state_names() {
    return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  }
  static bool needs_state(const Options& o, size_t s) { return s < 2 || o.amsgrad; }
  static Tensor first_state(const Options&, size_t, const Tensor& param) {
    return zeros_like(param);
  }
  void run(const Options& o, Bucket& b) {
    adam_step(b.params, b.grads, b.state[0], b.state[1], b.state[2], b.step, o.lr, o.betas[0],
              o.betas[1], o.eps, o.weight_decay, Options::kDecoupled);
  }
  void run_counted(const Options& o, Bucket& b, Clock& clock) {
    adam_step_counted(b.params, b.grads, b.state[0], b.state[1], b.state[2], clock.step, clock.rate,
                      o.betas[0], o.betas[1], o.eps, o.weight_decay, Options::kDecoupled);
  }
};
}  // namespace detail

class Adam : public detail::AdamBase<AdamOptions> {
 public:
  explicit Adam(std::vector<Tensor> params, AdamOptions options = {})
      : AdamBase(std::move(params), options) {}
};

class AdamW : public detail::AdamBase<AdamWOptions> {
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

  static constexpr const char* kOwner = "RMSprop";
  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("alpha", o.alpha), fn("eps", o.eps);
    fn("weight_decay", o.weight_decay), fn("momentum", o.momentum), fn("centered", o.centered);
  }
  void check() const {}
};

class RMSprop : public OptimizerOf<RMSprop, RMSpropOptions> {
 public:
  explicit RMSprop(std::vector<Tensor> params, RMSpropOptions options = {})
      : OptimizerOf(std::move(params), options) {}
  static std::array<const char*, 3> state_names() {
    return {"square_avg", "grad_avg", "momentum_buffer"};
  }
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
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;

  static constexpr const char* kOwner = "Adagrad";
  template <class Self, class Fn>
  static void each(Self& o, Fn&& fn) {
    fn("lr", o.lr), fn("lr_decay", o.lr_decay), fn("weight_decay", o.weight_decay);
    fn("initial_accumulator_value", o.initial_accumulator_value), fn("eps", o.eps);
  }
  void check() const {}
};

class Adagrad : public OptimizerOf<Adagrad, AdagradOptions> {
 public:
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions options = {})
      : OptimizerOf(std::move(params), options) {}
  static std::array<const char*, 1> state_names() { return {"sum"}; }
  static bool needs_state(const AdagradOptions&, size_t) { return true; }
  static Tensor first_state(const AdagradOptions& o, size_t, const Tensor& param) {
    return full_like(param, o.initial_accumulator_value);
  }
  void run(const AdagradOptions& o, detail::Bucket& b) {
    adagrad_step(b.params, b.grads, b.state[0], b.step, o.lr, o.lr_decay, o.eps, o.weight_decay);
  }
};

}  // namespace tenon::optim
#endif
